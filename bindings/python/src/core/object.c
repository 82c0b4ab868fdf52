/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor object from its creation to its end. */
#include "object.h"

PyObject* core_tensor_new(CoreState* state, DLManagedTensorVersioned* tensor, int64_t stream) {
  TensorObject* self = NULL;
  if (state->tensor_type != NULL) {
    self = PyObject_New(TensorObject, state->tensor_type);
  } else {
    PyErr_SetString(PyExc_RuntimeError, "dlbridge is being cleared");
  }
  if (self == NULL) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  self->tensor = tensor;
  self->stream = stream;
  self->buffers = 0;
  self->weak_references = NULL;
  return (PyObject*)self;
}

void core_tensor_deallocate(PyObject* object) {
  TensorObject* self = (TensorObject*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references != NULL) {
    PyObject_ClearWeakRefs(object);
  }
  dlbridge_py_release(self->tensor);
  PyObject_Free(object);
  Py_DECREF((PyObject*)type);
}

int core_is_tensor(PyObject* object) {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == (void*)core_tensor_deallocate;
}

int core_device(PyObject* object, DLDevice* out) {
  const DLManagedTensorVersioned* tensor;
  CORE_LOCK(object);
  tensor = core_live(object);
  if (tensor != NULL) {
    *out = tensor->dl_tensor.device;
  }
  CORE_UNLOCK();
  return tensor != NULL ? 0 : -1;
}

const DLManagedTensorVersioned* core_live(PyObject* object) {
  const DLManagedTensorVersioned* tensor = ((TensorObject*)object)->tensor;
  if (tensor == NULL) {
    dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a tensor, found one that release_after has released");
  }
  return tensor;
}
