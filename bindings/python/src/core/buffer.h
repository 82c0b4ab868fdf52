/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer protocol of the tensor object. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_BUFFER_H_
#define DLBRIDGE_BINDINGS_PYTHON_BUFFER_H_

#include "state.h"

int core_get_buffer(PyObject* self, Py_buffer* view, int flags);
void core_release_buffer(PyObject* self, Py_buffer* view);

#endif /* DLBRIDGE_BINDINGS_PYTHON_BUFFER_H_ */
