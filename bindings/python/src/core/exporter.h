/* SPDX-License-Identifier: Apache-2.0 */
/* The base class of objects whose __dlpack__ is Python code that knows its consumer. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_
#define DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_

#include "state.h"

/* Adds the type Exporter to the module; -1 with an exception. */
int core_add_exporter_type(PyObject* module);
/* Checks that `type` is a class whose objects core_exporter_new can make: a class below `base`, the
 * type Exporter, without attributes of its own; -1 with TypeError. */
int core_check_exporter(PyObject* type, PyObject* base);
/* An object of the class in Python, as its constructor makes it without options. */
PyObject* core_exporter_new(const CoreShortcuts* shortcuts, PyObject* array, PyObject* tensor);

#endif /* DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_ */
