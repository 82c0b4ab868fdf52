/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Converts between the types of AMD's HIP headers and the integers in the structs of dlbridge.h. All
 * functions are inline: nothing but dlbridge is linked. C99 and C++11.
 *
 * Define __HIP_PLATFORM_AMD__ as 1 if the compiler is not hipcc.
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

/** The DLPack device of ordinal `ordinal`. \since 0.3.0 */
static inline DLDevice dlbridge_device_hip(int ordinal) {
  DLDevice device;
  device.device_type = kDLROCM;
  device.device_id = (int32_t)ordinal;
  return device;
}

/** HIP device, pinned or managed memory. \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_hip(hipDeviceptr_t pointer) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(pointer);
  buffer.backend = DLBRIDGE_BACKEND_HIP;
  return buffer;
}

/** The pointer of a HIP buffer; NULL for buffers of other backends. \since 0.3.0 */
static inline hipDeviceptr_t dlbridge_hip_pointer(const DLBridgeBuffer* buffer) {
  return buffer->backend == DLBRIDGE_BACKEND_HIP && buffer->kind == DLBRIDGE_BUFFER_ADDRESS
             ? (hipDeviceptr_t)(uintptr_t)buffer->handle
             : NULL;
}

/** A stream of device `ordinal`. NULL is that device's default stream, hipStreamPerThread its stream
 * of the calling thread. Runtimes before 6.4 reject hipStreamLegacy. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_hip(hipStream_t stream, int ordinal) {
  DLBridgeStream result = DLBRIDGE_STREAM_INIT;
  result.backend = DLBRIDGE_BACKEND_HIP;
  result.kind = DLBRIDGE_STREAM_QUEUE;
  result.device = dlbridge_device_hip(ordinal);
  result.handle = (uint64_t)(uintptr_t)stream;
  result.context = 0;
  return result;
}

/** The hipStream_t of a HIP stream; NULL, which is HIP's default stream, for all others. \since 0.3.0 */
static inline hipStream_t dlbridge_hip_stream(const DLBridgeStream* stream) {
  return stream->backend == DLBRIDGE_BACKEND_HIP && stream->kind == DLBRIDGE_STREAM_QUEUE
             ? (hipStream_t)(uintptr_t)stream->handle
             : NULL;
}

/** A context table entry of device `ordinal` with a default stream (NULL: none). HIP has no context
 * handles, so the entry's context is 0. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_hip(int ordinal, hipStream_t stream) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_HIP;
  entry.device = dlbridge_device_hip(ordinal);
  entry.native_device = (uint64_t)ordinal;
  entry.queue = (uint64_t)(uintptr_t)stream;
  entry.queue_kind = stream != NULL ? DLBRIDGE_STREAM_QUEUE : 0;
  return entry;
}

/** The device ordinal of a HIP entry; -1 for entries of other backends. \since 0.3.0 */
static inline int dlbridge_hip_device(const DLBridgeContextEntry* entry) {
  return entry->backend == DLBRIDGE_BACKEND_HIP ? (int)entry->native_device : -1;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_HIP_API_H_ */
