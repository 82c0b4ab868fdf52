/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Makes an object of another type through the exchange table of that type. Part of
 * dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_TO_TYPE_H_
#define DLBRIDGE_CPYTHON_TO_TYPE_H_

#include "dlbridge/cpython/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A proxy of the tensor for a table, whose function may fail before or after it calls the deleter (both
 * occur). The tensor is released once, by the deleter or by the caller. */
typedef struct DLBridgePyHanded_ {
  DLManagedTensorVersioned shell;
  void* tensor;  /* DLManagedTensorVersioned*; NULL after its release */
  int64_t users; /* reference count: the call, and the table until it calls the deleter */
} DLBridgePyHanded_;

static inline void dlbridge_py_handed_drop_(DLBridgePyHanded_* handed) {
  if (dlbridge_py_add_(&handed->users, -1) == 0) {
    free(handed);
  }
}

static inline void dlbridge_py_handed_release_(DLBridgePyHanded_* handed) {
  dlbridge_release_versioned(
      (DLManagedTensorVersioned*)dlbridge_py_swap_(&handed->tensor, NULL));
}

static inline void dlbridge_py_handed_deleter_(DLManagedTensorVersioned* self) {
  DLBridgePyHanded_* handed = (DLBridgePyHanded_*)self->manager_ctx;
  dlbridge_py_handed_release_(handed);
  dlbridge_py_handed_drop_(handed);
}

/* Returns NULL with MemoryError on failure. */
static inline DLBridgePyHanded_* dlbridge_py_hand_(DLManagedTensorVersioned* tensor) {
  DLBridgePyHanded_* handed = (DLBridgePyHanded_*)malloc(sizeof *handed);
  if (handed == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  handed->shell = *tensor;
  handed->shell.manager_ctx = handed;
  handed->shell.deleter = dlbridge_py_handed_deleter_;
  handed->tensor = tensor;
  handed->users = 2;
  return handed;
}

/* Releases the tensor of a failed call whose table never called the deleter. */
static inline void dlbridge_py_take_back_(DLBridgePyHanded_* handed) {
  DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  DLManagedTensorVersioned* tensor =
      (DLManagedTensorVersioned*)dlbridge_py_swap_(&handed->tensor, NULL);
  if (tensor != NULL) {
    dlbridge_release_versioned(tensor);
    dlbridge_py_handed_drop_(handed);
  }
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
}

/* Rejects a read-only tensor for a type that is not known to keep READ_ONLY: most types cannot be
 * read-only, and exchange tables do not report which can. */
static inline int dlbridge_py_check_keeps_(const DLBridgePyType* entry,
                                           const DLManagedTensorVersioned* tensor, uint32_t options) {
  if ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0 || entry->guard == DLBRIDGE_PY_GUARD_KEEPS ||
      (options & DLBRIDGE_CONVERT_DROP_READ_ONLY) != 0) {
    return 0;
  }
  return dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_POLICY, DLBRIDGE_RULE_NONE,
                             "expected a tensor that may be written to, as %R would let its users, "
                             "found a read-only one: use dlbridge.to(x, target, readonly='copy'), or "
                             "drop READ_ONLY by drop_read_only=True or DLBRIDGE_CONVERT_DROP_READ_ONLY",
                             (PyObject*)entry->type);
}

/* As dlbridge_py_to_type_after, for work on `pending`. */
static inline PyObject* dlbridge_py_to_type_on_(DLBridgePy* py, PyTypeObject* type,
                                                DLManagedTensorVersioned* tensor,
                                                const DLBridgeStream* pending, uint32_t options) {
  DLBridgePyType entry;
  void* object = NULL;
  DLBridgePyHanded_* handed = NULL;
  if (dlbridge_py_type_(py, type, &entry) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  if (entry.table == NULL) {
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a type with an exchange table, found %R",
                        (PyObject*)type);
  } else if (dlbridge_py_check_keeps_(&entry, tensor, options) == 0 &&
             dlbridge_py_order_for_(entry.table, tensor->dl_tensor.device, pending) == 0) {
    handed = dlbridge_py_hand_(tensor);
  }
  if (handed == NULL) {
    dlbridge_py_release(tensor);
  } else {
    if ((options & DLBRIDGE_CONVERT_DROP_READ_ONLY) != 0) {
      handed->shell.flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_READ_ONLY;
    }
    if (entry.table->managed_tensor_to_py_object_no_sync(&handed->shell, &object) != 0 ||
        object == NULL) {
      object = NULL;
      dlbridge_py_table_failed_(type);
      dlbridge_py_take_back_(handed);
    }
    dlbridge_py_handed_drop_(handed);
  }
  dlbridge_py_type_done_(&entry);
  return (PyObject*)object;
}

/** Makes an object of `type` from a tensor, through the exchange table of `type`. The call consumes the
 * tensor and releases it on failure. Without a usable table: NULL with TypeError. `stream` is the stream
 * of the Python array API before which the work on the tensor is ordered, such as the one that it was
 * imported with, or DLBRIDGE_ARRAY_API_STREAM_NONE: the legacy default stream. That work is ordered
 * before the current stream of the framework of `type`, which its table names. `options` is 0 or
 * DLBRIDGE_CONVERT_DROP_READ_ONLY. Without it, a read-only tensor goes only to types that are known to
 * keep READ_ONLY (those with __dlbridge_c_exchange_api__); NULL with BufferError for others.
 * \since 0.4.0 */
static inline PyObject* dlbridge_py_to_type_after(DLBridgePy* py, PyTypeObject* type,
                                                  DLManagedTensorVersioned* tensor, int64_t stream,
                                                  uint32_t options) {
  DLBridgeStream pending;
  if (dlbridge_py_pending_on_(tensor->dl_tensor.device, stream, &pending) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  return dlbridge_py_to_type_on_(py, type, tensor, &pending, options);
}

/** As dlbridge_py_to_type_after, for a tensor that was imported without `stream`. \since 0.4.0 */
static inline PyObject* dlbridge_py_to_type_with(DLBridgePy* py, PyTypeObject* type,
                                                 DLManagedTensorVersioned* tensor, uint32_t options) {
  return dlbridge_py_to_type_after(py, type, tensor, DLBRIDGE_ARRAY_API_STREAM_NONE, options);
}

/** As dlbridge_py_to_type_with, without options. \since 0.3.0 */
static inline PyObject* dlbridge_py_to_type(DLBridgePy* py, PyTypeObject* type,
                                            DLManagedTensorVersioned* tensor) {
  return dlbridge_py_to_type_with(py, type, tensor, 0);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_TO_TYPE_H_ */
