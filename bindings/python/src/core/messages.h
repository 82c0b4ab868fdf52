/* SPDX-License-Identifier: Apache-2.0 */
/* The library's errors for programs in Python. Include it before cpython_api.h, whose functions
 * then raise them by core_raise. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_MESSAGES_H_
#define DLBRIDGE_BINDINGS_PYTHON_MESSAGES_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef DLBRIDGE_CPYTHON_ERRORS_H_
#error "include messages.h before cpython_api.h"
#endif
#define dlbridge_py_raise dlbridge_py_raise_as_in_c_
#define dlbridge_py_raise_to_caller_ dlbridge_py_raise_to_any_caller_
#include "dlbridge/cpython/errors.h"
#undef dlbridge_py_raise
#define dlbridge_py_raise core_raise
#undef dlbridge_py_raise_to_caller_
#define dlbridge_py_raise_to_caller_ core_raise

/* Raises `error`; returns -1. Its remedy names keywords of this package instead of functions and
 * options of C. */
int core_raise(const DLBridgeError* error);

#endif /* DLBRIDGE_BINDINGS_PYTHON_MESSAGES_H_ */
