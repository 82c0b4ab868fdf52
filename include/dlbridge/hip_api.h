/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * HIP's own types to and from those of dlbridge.h, for programs that have AMD's headers. All of it
 * is inline: nothing of HIP is linked on its account. C99 and C++11.
 *
 * Define __HIP_PLATFORM_AMD__ as 1 where the compiler is not hipcc.
 */
#ifndef DLBRIDGE_HIP_API_H_
#define DLBRIDGE_HIP_API_H_

#include <hip/hip_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Device `ordinal` as DLPack labels it. \since 0.3.0 */
static inline DLDevice dlbridge_device_hip(int ordinal) {
  DLDevice device;
  device.device_type = kDLROCM;
  device.device_id = (int32_t)ordinal;
  return device;
}

/** Device, pinned or managed memory of HIP. \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_hip(hipDeviceptr_t pointer) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(pointer);
  buffer.backend = DLBRIDGE_BACKEND_HIP;
  return buffer;
}

/** The pointer of such a buffer; NULL for buffers that are none of HIP's. \since 0.3.0 */
static inline hipDeviceptr_t dlbridge_hip_pointer(const DLBridgeBuffer* buffer) {
  return buffer->backend == DLBRIDGE_BACKEND_HIP && buffer->kind == DLBRIDGE_BUFFER_ADDRESS
             ? (hipDeviceptr_t)(uintptr_t)buffer->handle
             : NULL;
}

/** A stream of device `ordinal`; NULL is that device's default stream. hipStreamPerThread and
 * hipStreamLegacy are refused by what takes streams. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_hip(hipStream_t stream, int ordinal) {
  DLBridgeStream result = DLBRIDGE_STREAM_INIT;
  result.backend = DLBRIDGE_BACKEND_HIP;
  result.kind = DLBRIDGE_STREAM_QUEUE;
  result.device = dlbridge_device_hip(ordinal);
  result.handle = (uint64_t)(uintptr_t)stream;
  result.context = 0;
  return result;
}

/** The hipStream_t of such a stream; NULL, the default stream, for all others. \since 0.3.0 */
static inline hipStream_t dlbridge_hip_stream(const DLBridgeStream* stream) {
  return stream->backend == DLBRIDGE_BACKEND_HIP && stream->kind == DLBRIDGE_STREAM_QUEUE
             ? (hipStream_t)(uintptr_t)stream->handle
             : NULL;
}

/** An entry for dlbridge_device_register: device `ordinal`, which stands for its own context in HIP,
 * with a default stream; NULL: none. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_hip(int ordinal, hipStream_t stream) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_HIP;
  entry.device = dlbridge_device_hip(ordinal);
  entry.native_device = (uint64_t)ordinal;
  entry.queue = (uint64_t)(uintptr_t)stream;
  entry.queue_kind = stream != NULL ? DLBRIDGE_STREAM_QUEUE : 0;
  return entry;
}

/** The ordinal of an entry; -1 for entries that are none of HIP's. \since 0.3.0 */
static inline int dlbridge_hip_device(const DLBridgeContextEntry* entry) {
  return entry->backend == DLBRIDGE_BACKEND_HIP ? (int)entry->native_device : -1;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_HIP_API_H_ */
