/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor object, as plain data: its type is in tensor.h. */
#ifndef DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_
#define DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_

#include "state.h"

/* A tensor in Python; `tensor` is owned and never NULL. */
typedef struct {
  PyObject_HEAD DLManagedTensorVersioned* tensor;
  int64_t stream; /* work on the tensor is ordered before this stream of the array API */
  PyObject* weak_references;
} TensorObject;

/* Takes the tensor, even if it fails. */
PyObject* core_tensor_new(CoreState* state, DLManagedTensorVersioned* tensor, int64_t stream);
void core_tensor_deallocate(PyObject* object);
/* Also true for a tensor of another import of the module. */
int core_is_tensor(PyObject* object);

#endif /* DLBRIDGE_BINDINGS_PYTHON_OBJECT_H_ */
