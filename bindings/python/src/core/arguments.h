/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of Python arguments. A rejected argument raises what was expected and found. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_ARGUMENTS_H_
#define DLBRIDGE_BINDINGS_PYTHON_ARGUMENTS_H_

#include "state.h"

/* The entry of `names` that equals `given`, a keyword's name; otherwise `given`. Borrowed. */
PyObject* core_known_name(const CoreNames* names, PyObject* given);
/* Each returns 0, or -1 with an exception set. */
int core_unknown_keyword(const char* function, PyObject* given);
int core_given_twice(const char* function, PyObject* name);
int core_positional(const char* function, Py_ssize_t found, Py_ssize_t least, Py_ssize_t most);
/* Raises ValueError if the integer does not fit into 64 bits. */
int core_read_integer(PyObject* value, const char* what, int64_t* out);
int core_read_device(PyObject* value, DLDevice* out);
int core_read_dtype(PyObject* value, DLDataType* out);
int core_read_version(PyObject* value, DLPackVersion* out, int* given);
/* Adds DLBRIDGE_PY_COPY_* to the options. */
int core_read_copy(PyObject* value, uint32_t* options);
int core_read_stream(PyObject* value, int64_t* out);
/* A tuple (backend, kind, device, handle, context), such as an abi.Stream. */
int core_read_native_stream(PyObject* value, DLBridgeStream* out);
int core_read_unsigned(PyObject* value, const char* what, uint64_t* out);
/* A sequence of integers; free `*out` with PyMem_Free. */
int core_read_extents(PyObject* value, const char* what, int64_t** out, int32_t* count);

#endif /* DLBRIDGE_BINDINGS_PYTHON_ARGUMENTS_H_ */
