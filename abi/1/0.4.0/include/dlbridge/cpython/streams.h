/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * The order between the work on a tensor and its next user. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_STREAMS_H_
#define DLBRIDGE_CPYTHON_STREAMS_H_

#include "dlbridge/cpython/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the array API has numbers for the streams of a device, and tables name its current stream. */
static inline int dlbridge_py_has_streams_(DLDevice device) {
  const int64_t type = (int64_t)device.device_type;
  return type == kDLCUDA || type == kDLROCM || type == kDLCUDAManaged;
}

/* The current stream of a table's framework. Returns -1 without an exception where the table does not
 * name it. `device` has streams. */
static inline int dlbridge_py_work_stream_(const DLPackExchangeAPI* table, DLDevice device,
                                           DLBridgeStream* out) {
  void* handle = NULL;
  if (table->current_work_stream(device.device_type, device.device_id, &handle) != 0) {
    PyErr_Clear();
    return -1;
  }
  memset(out, 0, sizeof *out);
  out->backend = (int64_t)device.device_type == kDLROCM ? DLBRIDGE_BACKEND_HIP : DLBRIDGE_BACKEND_CUDA;
  out->kind = DLBRIDGE_STREAM_QUEUE;
  out->device = device;
  out->handle = (uint64_t)(uintptr_t)handle;
  if (handle == NULL && out->backend == DLBRIDGE_BACKEND_CUDA) {
    out->handle = 1; /* the legacy default stream */
  }
  return 0;
}

/* The stream of the array API before which work on memory of `device` is ordered; not set where there is
 * no such work. */
static inline int dlbridge_py_pending_on_(DLDevice device, int64_t stream, DLBridgeStream* out) {
  DLBridgeError error;
  *out = dlbridge_stream_init();
  if (!dlbridge_py_has_streams_(device)) {
    return 0;
  }
  if (dlbridge_stream_from_array_api(device, stream, out, &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  if (out->kind != DLBRIDGE_STREAM_QUEUE) {
    *out = dlbridge_stream_init();
  }
  return 0;
}

/* Orders pending work before the later work of a framework, on the current stream of its table; the host
 * waits where the table does not name that stream. */
static inline int dlbridge_py_order_for_(const DLPackExchangeAPI* table, DLDevice device,
                                         const DLBridgeStream* pending) {
  DLBridgeStream current;
  DLBridgeError error;
  DLBridgeStatus status;
  if (pending->kind != DLBRIDGE_STREAM_QUEUE) {
    return 0;
  }
  if (dlbridge_py_work_stream_(table, device, &current) < 0) {
    Py_BEGIN_ALLOW_THREADS
    status = dlbridge_stream_synchronize(pending, &error);
    Py_END_ALLOW_THREADS
  } else if (current.handle == pending->handle) {
    return 0;
  } else {
    status = dlbridge_stream_handoff(pending, &current, 0, &error);
  }
  return status == DLBRIDGE_OK ? 0 : dlbridge_py_raise(&error);
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_STREAMS_H_ */
