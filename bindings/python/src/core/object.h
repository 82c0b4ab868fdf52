/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor object, as plain data: its type is in tensor.h. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_
#define DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_

#include "state.h"

/* A tensor in Python; `tensor` is owned, and NULL after release_after. Python code that runs in
 * between may release it: read it by core_live, and again after a call that may run Python code. */
typedef struct {
  PyObject_HEAD DLManagedTensorVersioned* tensor;
  int64_t stream;     /* work on the tensor is ordered before this stream of the array API */
  Py_ssize_t buffers; /* exported by the buffer protocol */
  PyObject* weak_references;
} TensorObject;

/* Takes the tensor, even if it fails. */
PyObject* core_tensor_new(CoreState* state, DLManagedTensorVersioned* tensor, int64_t stream);
void core_tensor_deallocate(PyObject* object);
/* Also true for a tensor of another import of the module. */
int core_is_tensor(PyObject* object);
/* The tensor; NULL with ValueError after release_after. */
const DLManagedTensorVersioned* core_live(PyObject* object);

#endif /* DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_ */
