/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * An exchange table for an extension type. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_OFFER_H_
#define DLBRIDGE_CPYTHON_OFFER_H_

#include "dlbridge/cpython/answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Allocator for the table: host memory. Needs no GIL. \since 0.3.0 */
static inline int dlbridge_py_table_allocate(DLTensor* prototype, DLManagedTensorVersioned** out,
                                             void* error_context,
                                             void (*set_error)(void* error_context, const char* kind,
                                                               const char* message)) {
  DLBridgeError error;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = prototype->ndim;
  spec.shape = prototype->shape;
  spec.device = prototype->device;
  spec.dtype = prototype->dtype;
  if (dlbridge_allocate(&spec, out, &error) == DLBRIDGE_OK) {
    return 0;
  }
  if (set_error != NULL) {
    set_error(error_context,
              error.status == DLBRIDGE_ERROR_OUT_OF_MEMORY ? "MemoryError" : "BufferError",
              error.message);
  }
  return -1;
}

/** Stream function for the table, for types whose work is done when a call returns. \since 0.3.0 */
static inline int dlbridge_py_table_no_stream(DLDeviceType device_type, int32_t device_id,
                                              void** out_current_stream) {
  (void)device_type;
  (void)device_id;
  *out_current_stream = NULL;
  return 0;
}

/** Fills `table` for a type. `from_object` exports an owner (dlbridge_share of the object's tensor).
 * `to_object` makes an object of any tensor, which then owns it (dlbridge_import makes the tensor
 * dlbridge-owned). `lend` (may be NULL) fills a borrowed tensor. All are called with the GIL and return
 * 0, or -1 with an exception set. A table must never move or be freed: make it static. Its version is
 * the library's DLPack version. \since 0.3.0 */
static inline void dlbridge_py_table_init(DLPackExchangeAPI* table,
                                          DLPackManagedTensorFromPyObjectNoSync from_object,
                                          DLPackManagedTensorToPyObjectNoSync to_object,
                                          DLPackDLTensorFromPyObjectNoSync lend) {
  table->header.version = dlbridge_dlpack_version();
  table->header.prev_api = NULL;
  table->managed_tensor_allocator = dlbridge_py_table_allocate;
  table->managed_tensor_from_py_object_no_sync = from_object;
  table->managed_tensor_to_py_object_no_sync = to_object;
  table->dltensor_from_py_object_no_sync = lend;
  table->current_work_stream = dlbridge_py_table_no_stream;
}

/** For the export of a usual table: a further owner of `tensor`, or BufferError if it is read-only,
 * since the consumer may forget READ_ONLY. \since 0.4.0 */
static inline int dlbridge_py_share_writable(DLManagedTensorVersioned* tensor,
                                             DLManagedTensorVersioned** out) {
  DLBridgeError error;
  if ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    return dlbridge_py_reject_read_only();
  }
  return dlbridge_share(tensor, out, &error) == DLBRIDGE_OK ? 0 : dlbridge_py_raise(&error);
}

/** For the function of a table that lends tensors: copies the struct to `*out`, or BufferError if the
 * tensor is read-only. \since 0.4.0 */
static inline int dlbridge_py_lend_writable(const DLManagedTensorVersioned* tensor, DLTensor* out) {
  if ((tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    return dlbridge_py_reject_read_only();
  }
  *out = tensor->dl_tensor;
  return 0;
}

static inline int dlbridge_py_offer_as_(PyObject* type, const char* attribute,
                                        DLPackExchangeAPI* table) {
  int status = -1;
  PyObject* capsule = PyCapsule_New(table, "dlpack_exchange_api", NULL);
  if (capsule != NULL) {
    status = PyObject_SetAttrString(type, attribute, capsule);
    Py_DECREF(capsule);
  }
  return status;
}

/** Sets `type.__dlpack_c_exchange_api__` to `table`, which must never be freed. Any consumer may use it,
 * also one that forgets READ_ONLY: its functions must fail with BufferError for a read-only tensor, as
 * dlbridge_py_share_writable and dlbridge_py_lend_writable do.
 * \since 0.3.0 */
static inline int dlbridge_py_offer(PyObject* type, DLPackExchangeAPI* table) {
  return dlbridge_py_offer_as_(type, "__dlpack_c_exchange_api__", table);
}

/** Sets `type.__dlbridge_c_exchange_api__` to `table`, which must never be freed. It has the form of the
 * usual table, which the type must offer too, and is for consumers that keep READ_ONLY:
 * dlbridge_py_import, and others that look for this attribute first and thereby promise it. Its export
 * marks a read-only tensor READ_ONLY. Its function that lends tensors fails with BufferError for a
 * read-only one, since a DLTensor has no flags; the consumer then uses the export. \since 0.4.0 */
static inline int dlbridge_py_offer_keeping(PyObject* type, DLPackExchangeAPI* table) {
  return dlbridge_py_offer_as_(type, "__dlbridge_c_exchange_api__", table);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_OFFER_H_ */
