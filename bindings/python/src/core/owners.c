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

/* Imports a tensor whose work is ordered before the legacy default stream. */
static DLManagedTensorVersioned* usual_import(CoreState* state, PyObject* object,
                                              DLBridgeStream* pending) {
  DLManagedTensorVersioned* tensor;
  if (dlbridge_py_import(&state->py, object, NULL, &tensor) < 0) {
    return NULL;
  }
  if (dlbridge_py_pending_on_(tensor->dl_tensor.device, DLBRIDGE_ARRAY_API_STREAM_NONE, pending) <
      0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  return tensor;
}

/* Imports a tensor through a table: its work is on the current stream of the producer. */
static DLManagedTensorVersioned* table_import(CoreState* state, const DLPackExchangeAPI* table,
                                              PyObject* object, DLBridgeStream* pending) {
  static const DLBridgePyImportOptions unordered = {sizeof(DLBridgePyImportOptions),
                                                    DLBRIDGE_PY_STREAM, NULL, -1, NULL};
  DLManagedTensorVersioned* tensor;
  if (dlbridge_py_import(&state->py, object, &unordered, &tensor) < 0) {
    return NULL;
  }
  if ((int64_t)tensor->dl_tensor.device.device_type != kDLCPU &&
      (!dlbridge_py_has_streams_(tensor->dl_tensor.device) ||
       dlbridge_py_work_stream_(table, tensor->dl_tensor.device, pending) < 0)) {
    dlbridge_py_release(tensor);
    return usual_import(state, object, pending);
  }
  return tensor;
}

PyObject* core_to_type(CoreState* state, PyObject* object, PyTypeObject* type, uint32_t options) {
  DLBridgeStream pending = dlbridge_stream_init();
  DLManagedTensorVersioned* tensor;
  DLBridgePyType entry;
  if (Py_IS_TYPE(object, state->tensor_type)) {
    tensor = core_share((TensorObject*)object);
    return tensor != NULL ? dlbridge_py_to_type_after(&state->py, type, tensor,
                                                      ((TensorObject*)object)->stream, options)
                          : NULL;
  }
  if (dlbridge_py_type_(&state->py, Py_TYPE(object), &entry) < 0) {
    return NULL;
  }
  tensor = entry.table != NULL ? table_import(state, entry.table, object, &pending)
                               : usual_import(state, object, &pending);
  dlbridge_py_type_done_(&entry);
  return tensor != NULL ? dlbridge_py_to_type_on_(&state->py, type, tensor, &pending, options)
                        : NULL;
}

DLManagedTensorVersioned* core_copy(TensorObject* self, DLDevice device) {
  DLBridgeStream pending;
  DLManagedTensorVersioned* tensor = core_share(self);
  if (tensor == NULL) {
    return NULL;
  }
  if (dlbridge_py_check_target_(&device) < 0 ||
      dlbridge_py_pending_on_(tensor->dl_tensor.device, self->stream, &pending) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  return dlbridge_py_copied_(&tensor, &device, &pending) < 0 ? NULL : tensor;
}

DLManagedTensorVersioned* core_packed(TensorObject* self) {
  DLBridgeError error;
  DLBridgeStatus status;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned *copy = NULL, *source = core_share(self);
  if (source == NULL) {
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS status =
      dlbridge_copy(&source->dl_tensor, source->flags, &spec, &copy, &error);
  Py_END_ALLOW_THREADS if (status != DLBRIDGE_OK) { dlbridge_py_raise(&error); }
  dlbridge_py_release(source);
  return copy;
}

int core_order_for_table(const TensorObject* self, DLDevice device) {
  return dlbridge_py_order_request_(device, device, self->stream, DLBRIDGE_ARRAY_API_STREAM_NONE);
}
