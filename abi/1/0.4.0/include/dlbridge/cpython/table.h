/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Import by the exchange table of a type. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_TABLE_H_
#define DLBRIDGE_CPYTHON_TABLE_H_

#include "dlbridge/cpython/accept.h"
#include "dlbridge/cpython/guards.h"
#include "dlbridge/cpython/streams.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Orders the producer's work before the consumer's. Returns 1 if done, 0 if the table cannot and
 * __dlpack__ must be called, -1 on error. */
static inline int dlbridge_py_order_(const DLPackExchangeAPI* table, const DLTensor* tensor,
                                     const DLBridgePyImportOptions* options) {
  int64_t type = (int64_t)tensor->device.device_type;
  DLBridgeStream producer, consumer;
  DLBridgeError error;
  if (type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost ||
      dlbridge_py_stream_(options) == -1) {
    return 1;
  }
  if (!dlbridge_py_has_streams_(tensor->device) ||
      dlbridge_py_work_stream_(table, tensor->device, &producer) < 0) {
    return 0;
  }
  if (dlbridge_stream_from_array_api(tensor->device, dlbridge_py_stream_(options), &consumer, &error) !=
          DLBRIDGE_OK ||
      dlbridge_stream_handoff(&producer, &consumer, 0, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  return 1;
}

/* A function of the table of `type` failed: keeps its exception, or sets one; returns -1. */
static inline int dlbridge_py_table_failed_(PyTypeObject* type) {
  if (!PyErr_Occurred()) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected a tensor from the exchange table of %R, which failed without "
                        "setting an exception",
                        (PyObject*)type);
  }
  return -1;
}

/* Returns 1 if `*out` is set, 0 if __dlpack__ must be called, -1 on error. */
static inline int dlbridge_py_by_table_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                        const DLBridgePyImportOptions* options,
                                        DLManagedTensorVersioned** out) {
  int status = 1;
  DLManagedTensorVersioned* tensor = NULL;
  if (type->table->managed_tensor_from_py_object_no_sync(object, &tensor) != 0 || tensor == NULL) {
    return dlbridge_py_table_failed_(Py_TYPE(object));
  }
  if (options->device != NULL && tensor->version.major == 1 &&
      !dlbridge_py_same_device_(tensor->dl_tensor.device, *options->device)) {
    dlbridge_py_release(tensor); /* the producer moves it, and knows its streams */
    return 0;
  }
  if (tensor->version.major == 1) {
    status = dlbridge_py_guard_dtype_(py, object, type->guard, &tensor->dl_tensor.dtype);
    if (status == 1) {
      status = dlbridge_py_order_(type->table, &tensor->dl_tensor, options);
    }
  }
  if (status == 1 && dlbridge_py_accept_(tensor, DLBRIDGE_KIND_VERSIONED, options, out) < 0) {
    status = -1;
  }
  if (status != 1) {
    dlbridge_py_release(tensor);
  }
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_TABLE_H_ */
