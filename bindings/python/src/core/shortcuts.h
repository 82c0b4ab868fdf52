/* SPDX-License-Identifier: Apache-2.0 */
/* The common cases of adapt and to, without Python code: arrays and consumers that need no
 * decision. Everything else, and every rejection, is left to dlbridge._adapt and dlbridge._to. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_SHORTCUTS_H_
#define DLBRIDGE_BINDINGS_PYTHON_SHORTCUTS_H_

#include "state.h"

/* Functions of the module. */
PyObject* core_adapt(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* core_to(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
PyObject* core_share_adapted(PyObject* module, PyObject* args);
PyObject* core_share_immutable(PyObject* module, PyObject* function);
PyObject* core_shortcuts(PyObject* module, PyObject* args);

#endif /* DLBRIDGE_BINDINGS_PYTHON_SHORTCUTS_H_ */
