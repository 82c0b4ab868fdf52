/* SPDX-License-Identifier: Apache-2.0 */
/* Further owners of a tensor's data. */
#include "owners.h"

const DLBridgePyImportOptions core_import_options = {sizeof(DLBridgePyImportOptions),
                                                     DLBRIDGE_PY_OWNED, NULL, 0, NULL};

static void release_wrapped(void* context, const DLBridgeBuffer* buffer,
                            const struct DLBridgeStream* stream) {
  (void)buffer;
  if (stream != NULL) {
    dlbridge_stream_synchronize(stream, NULL);
  }
  dlbridge_release_versioned((DLManagedTensorVersioned*)context);
}

/* A dlbridge-owned struct must not lose a flag, so a second struct wraps the first. */
DLManagedTensorVersioned* core_without_copied(DLManagedTensorVersioned* tensor) {
  DLBridgeError error;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  const DLTensor* fields = &tensor->dl_tensor;
  DLManagedTensorVersioned* out = NULL;
  if ((tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0) {
    return tensor;
  }
  spec.options = DLBRIDGE_WRAP_SKIP_VALIDATION;
  spec.shape = fields->shape;
  spec.strides = fields->strides;
  spec.buffer.handle = (uint64_t)(uintptr_t)fields->data;
  spec.byte_offset = fields->byte_offset;
  spec.device = fields->device;
  spec.ndim = fields->ndim;
  spec.dtype = fields->dtype;
  spec.tensor_flags = tensor->flags & ~(uint64_t)DLPACK_FLAG_BITMASK_IS_COPIED;
  spec.release = release_wrapped;
  spec.release_context = tensor;
  if (dlbridge_wrap(&spec, &out, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
    dlbridge_py_release(tensor);
  }
  return out;
}

static DLManagedTensorVersioned* share(TensorObject* self) {
  DLBridgeError error;
  DLManagedTensorVersioned* shared = NULL;
  if (core_live((PyObject*)self) != NULL &&
      dlbridge_share(self->tensor, &shared, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
  }
  return shared;
}

DLManagedTensorVersioned* core_share(TensorObject* self) {
  DLManagedTensorVersioned* shared;
  CORE_LOCK(self);
  shared = share(self);
  CORE_UNLOCK();
  return shared != NULL && (shared->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0
             ? core_without_copied(shared)
             : shared;
}

DLManagedTensorVersioned* core_import(CoreState* state, PyObject* object) {
  DLManagedTensorVersioned* tensor;
  return dlbridge_py_import(&state->py, object, &core_import_options, &tensor) < 0 ? NULL : tensor;
}

DLManagedTensorVersioned* core_tensor_of(CoreState* state, PyObject* object) {
  DLManagedTensorVersioned* tensor;
  if (Py_IS_TYPE(object, state->tensor_type)) {
    return core_share((TensorObject*)object);
  }
  return dlbridge_py_import(&state->py, object, NULL, &tensor) < 0 ? NULL : tensor;
}

DLManagedTensorVersioned* core_copy(TensorObject* self, DLDevice device) {
  DLManagedTensorVersioned* tensor = core_share(self);
  if (tensor == NULL || dlbridge_py_copied_(&tensor, &device) < 0) {
    return NULL;
  }
  return tensor;
}
