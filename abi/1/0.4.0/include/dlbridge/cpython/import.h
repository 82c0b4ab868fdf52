/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * dlbridge_py_import: by capsule, exchange table or __dlpack__. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_IMPORT_H_
#define DLBRIDGE_CPYTHON_IMPORT_H_

#include "dlbridge/cpython/ask.h"
#include "dlbridge/cpython/immutable.h"
#include "dlbridge/cpython/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the exception of a failed export by one with the remedy, if the guard knows one. Returns
 * -1. */
DLBRIDGE_PY_APART_ int dlbridge_py_explain_export_(PyObject* object, int guard) {
  if (guard == DLBRIDGE_PY_GUARD_TORCH) {
    dlbridge_py_explain_torch_(object);
  } else if (guard == DLBRIDGE_PY_GUARD_NONE) {
    dlbridge_py_explain_numpy_(object);
  } else if (guard == DLBRIDGE_PY_GUARD_PADDLE) {
    dlbridge_py_explain_paddle_(object);
  }
  return -1;
}

/* By the table of a type with a table or a guard. Returns 0 if __dlpack__ must be called. */
DLBRIDGE_PY_APART_ int dlbridge_py_by_known_(DLBridgePy* py, const DLBridgePyType* type,
                                             PyObject* object, const DLBridgePyImportOptions* options,
                                             DLManagedTensorVersioned** out) {
  if (type->guard > DLBRIDGE_PY_GUARD_TORCH && dlbridge_py_guard_first_(object, type->guard) < 0) {
    return -1;
  }
  if (type->table != NULL && (options->device == NULL || type->guard == DLBRIDGE_PY_GUARD_KEEPS)) {
    return dlbridge_py_by_table_(py, type, object, options, out);
  }
  return dlbridge_py_guard_dtype_(py, object, type->guard, NULL) < 0 ? -1 : 0;
}

/* By the table or __dlpack__ of a type that was looked up. */
static inline int dlbridge_py_by_type_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                       const DLBridgePyImportOptions* options,
                                       DLManagedTensorVersioned** out) {
  const DLBridgePyImportOptions* asked = options;
  DLBridgePyImportOptions for_torch;
  int status = 0;
  if (type->table != NULL || type->guard != DLBRIDGE_PY_GUARD_NONE) {
    status = dlbridge_py_by_known_(py, type, object, options, out);
  }
  if (status == 0 && type->guard == DLBRIDGE_PY_GUARD_TORCH) {
    for_torch = *options;
    for_torch.options |= (uint32_t)DLBRIDGE_PY_SAY_STREAM_;
    asked = &for_torch;
  }
  if (status == 0) {
    status = dlbridge_py_by_method_(py, object, asked, out);
  }
  return status < 0 ? dlbridge_py_explain_export_(object, type->guard)
                    : dlbridge_py_protect_(py, Py_TYPE(object), options, out);
}

static inline int dlbridge_py_by_any_(DLBridgePy* py, PyObject* object,
                                      const DLBridgePyImportOptions* options,
                                      DLManagedTensorVersioned** out) {
  DLBridgePyType type;
  int status;
  if (PyCapsule_CheckExact(object)) {
    return dlbridge_py_by_capsule_(object, options, out);
  }
  if (dlbridge_py_type_(py, Py_TYPE(object), &type) < 0) {
    return -1;
  }
  status = dlbridge_py_by_type_(py, &type, object, options, out);
  dlbridge_py_type_done_(&type);
  return status;
}

/* dlbridge allocates no memory of other devices: 0 if the target of a copy is the host, else -1 with an
 * exception. */
static inline int dlbridge_py_check_target_(const DLDevice* device) {
  if (device == NULL || (int64_t)device->device_type == kDLCPU) {
    return 0;
  }
  return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                             "expected a copy on the CPU, since the array's own __dlpack__ makes none "
                             "elsewhere, found device (%d, %d): copy it by a framework of that device, "
                             "as by torch.as_tensor(x, device='cuda')",
                             (int)device->device_type, (int)device->device_id);
}

/* Copies to `device` (NULL: the host) and releases the source, also on failure. The copy comes after the
 * work that `pending` has now, if that is set. */
static inline int dlbridge_py_copied_(DLManagedTensorVersioned** tensor, const DLDevice* device,
                                      const DLBridgeStream* pending) {
  DLBridgeError error;
  DLBridgeStatus status;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned *source = *tensor, *copy = NULL;
  const int64_t type = (int64_t)source->dl_tensor.device.device_type;
  spec.options = DLBRIDGE_COPY_ALLOW_STAGING;
  spec.stream = *pending;
  spec.tensor_flags = source->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  if (device != NULL) {
    spec.device = *device;
  }
  Py_BEGIN_ALLOW_THREADS
  status = dlbridge_copy(&source->dl_tensor, source->flags, &spec, &copy, &error);
  if (status == DLBRIDGE_ERROR_UNAVAILABLE && dlbridge_host_accessible((int32_t)type, NULL)) {
    spec.stream = dlbridge_stream_init(); /* without a driver there is no work to wait for */
    status = dlbridge_copy(&source->dl_tensor, source->flags, &spec, &copy, &error);
  }
  Py_END_ALLOW_THREADS
  *tensor = copy;
  if (status != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
  }
  dlbridge_py_release(source);
  return status == DLBRIDGE_OK ? 0 : -1;
}

/* Copies a tensor that was imported with these options. */
static inline int dlbridge_py_copied_for_(const DLBridgePyImportOptions* options,
                                          DLManagedTensorVersioned** tensor) {
  DLBridgeStream pending;
  if (dlbridge_py_check_target_(options->device) < 0 ||
      dlbridge_py_pending_on_((*tensor)->dl_tensor.device, dlbridge_py_stream_(options), &pending) < 0) {
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  return dlbridge_py_copied_(tensor, options->device, &pending);
}

/* Copies the tensor if it is not on the wanted device, or if the caller wants a copy and has none. */
static inline int dlbridge_py_fit_(const DLBridgePyImportOptions* options,
                                   DLManagedTensorVersioned** tensor) {
  const DLTensor* fields = &(*tensor)->dl_tensor;
  const int elsewhere = options->device != NULL &&
                        ((int64_t)fields->device.device_type != (int64_t)options->device->device_type ||
                         fields->device.device_id != options->device->device_id);
  const int never = (options->options & DLBRIDGE_PY_COPY_NEVER) != 0;
  const int copied = ((*tensor)->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  const int writable = ((*tensor)->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
  const int on_host = (int64_t)fields->device.device_type == kDLCPU;
  if (elsewhere && never) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected a tensor on device (%d, %d), found one on (%d, %d), which "
                        "copy=False forbids to copy",
                        (int)options->device->device_type, (int)options->device->device_id,
                        (int)fields->device.device_type, (int)fields->device.device_id);
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  if (never && copied) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_NONE,
                        "expected the producer's own memory because of copy=False, found a copy that "
                        "the producer made");
    dlbridge_py_release(*tensor);
    *tensor = NULL;
    return -1;
  }
  /* Some producers copy and keep the source's READ_ONLY: such a copy is not writable. */
  if ((options->options & DLBRIDGE_PY_COPY_ALWAYS) != 0 && (!copied || (on_host && !writable))) {
    return dlbridge_py_copied_for_(options, tensor);
  }
  return elsewhere ? dlbridge_py_copied_for_(options, tensor) : 0;
}

/** Makes a tensor of any object that supports DLPack: through its type's exchange table, else through
 * __dlpack__ with keywords, else without; or of a capsule of either name. Since 0.4.0 also of an object
 * without DLPack that has a buffer of numbers or bools (bytes, array.array, memoryview), which stays
 * exported while the tensor lives. `options` may be NULL. `*out`
 * belongs to the caller; it is versioned, of major 1, and validated. If the producer exports a versioned
 * tensor and DLBRIDGE_PY_OWNED is not set, it is the producer's own tensor and nothing is allocated;
 * else it is dlbridge-owned. A rejected capsule still owns its tensor. If only `device` or a COPY option
 * cannot be met, the capsule was already taken and the tensor is released. \since 0.3.0 */
static inline int dlbridge_py_import(DLBridgePy* py, PyObject* object,
                                     const DLBridgePyImportOptions* options,
                                     DLManagedTensorVersioned** out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  DLManagedTensorVersioned* tensor = NULL;
  if (options == NULL) {
    options = &usual;
  } else if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  dlbridge_py_collect(py);
  if (dlbridge_py_by_any_(py, object, options, &tensor) < 0) {
    return -1;
  }
  if ((options->device != NULL || dlbridge_py_says_copy_(options)) &&
      dlbridge_py_fit_(options, &tensor) < 0) {
    return -1;
  }
  *out = tensor;
  return 0;
}

/** Takes the tensor out of a capsule. On success the capsule is renamed and `*out` belongs to the
 * caller, as from dlbridge_py_import. On failure the capsule still owns its tensor. `device`, STREAM and
 * the COPY options do not apply: ValueError if one is set.
 * \since 0.3.0 */
static inline int dlbridge_py_import_capsule(PyObject* capsule,
                                             const DLBridgePyImportOptions* options,
                                             DLManagedTensorVersioned** out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  options = options != NULL ? options : &usual;
  if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  if (options->device != NULL || dlbridge_py_says_copy_(options) ||
      (options->options & DLBRIDGE_PY_STREAM) != 0) {
    return dlbridge_py_reject_argument_(
        "options: expected no device, copy or stream for a capsule, whose tensor exists already");
  }
  if (!PyCapsule_CheckExact(capsule)) {
    return dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "expected a DLPack capsule, found an instance of %R",
                               (PyObject*)Py_TYPE(capsule));
  }
  return dlbridge_py_by_capsule_(capsule, options, out);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_IMPORT_H_ */
