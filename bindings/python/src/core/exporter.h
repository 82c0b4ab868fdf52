/* SPDX-License-Identifier: Apache-2.0 */
/* The base class of objects whose __dlpack__ is Python code that knows its consumer. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_
#define DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_

#include "state.h"

/* Adds the type Exporter to the module; -1 with an exception. */
int core_add_exporter_type(PyObject* module);

#endif /* DLBRIDGE_BINDINGS_PYTHON_EXPORTER_H_ */
