/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Converts between the types of NVIDIA's cuda.h and the integers in the structs of dlbridge.h. All
 * functions are inline: nothing but dlbridge is linked. C99 and C++11.
 * \since 0.3.0
 */
#ifndef DLBRIDGE_CUDA_API_H_
#define DLBRIDGE_CUDA_API_H_

#include <cuda.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The device with ordinal `device`. \since 0.3.0 */
static inline DLDevice dlbridge_device_cuda(int device) {
  DLDevice result;
  result.device_type = kDLCUDA;
  result.device_id = device;
  return result;
}

/** Memory at `address`: device memory, managed memory, or pinned memory by its host address.
 * \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_cuda(CUdeviceptr address) {
  DLBridgeBuffer result = DLBRIDGE_BUFFER_INIT;
  result.backend = DLBRIDGE_BACKEND_CUDA;
  result.kind = DLBRIDGE_BUFFER_ADDRESS;
  result.handle = (uint64_t)address;
  result.context = 0;
  return result;
}

/** The address of a buffer, such as the one that the release callback of dlbridge_wrap receives.
 * \since 0.3.0 */
static inline CUdeviceptr dlbridge_cuda_address(DLBridgeBuffer buffer) {
  return (CUdeviceptr)buffer.handle;
}

/** `stream` on the device with ordinal `device`. As in cuda.h, NULL means CU_STREAM_PER_THREAD if
 * CUDA_API_PER_THREAD_DEFAULT_STREAM is defined, else CU_STREAM_LEGACY. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_cuda(CUstream stream, int device) {
  DLBridgeStream result = DLBRIDGE_STREAM_INIT;
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  const uintptr_t null_stream = 2;
#else
  const uintptr_t null_stream = 1;
#endif
  result.backend = DLBRIDGE_BACKEND_CUDA;
  result.kind = DLBRIDGE_STREAM_QUEUE;
  result.device = dlbridge_device_cuda(device);
  result.handle = (uint64_t)(stream != NULL ? (uintptr_t)stream : null_stream);
  result.context = 0;
  return result;
}

/** The CUstream of a DLBridgeStream. \since 0.3.0 */
static inline CUstream dlbridge_cuda_stream(const DLBridgeStream* stream) {
  return (CUstream)(uintptr_t)stream->handle;
}

/** A context table entry of the device with ordinal `device`: `context` (NULL: the primary context) and
 * default `queue` (NULL: none). Both are borrowed and must outlive the entry. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_cuda(int device, CUcontext context,
                                                               CUstream queue) {
  DLBridgeContextEntry result = DLBRIDGE_CONTEXT_ENTRY_INIT;
  result.backend = DLBRIDGE_BACKEND_CUDA;
  result.device = dlbridge_device_cuda(device);
  result.native_device = (uint64_t)device;
  result.context = (uint64_t)(uintptr_t)context;
  result.queue = (uint64_t)(uintptr_t)queue;
  result.queue_kind = queue != NULL ? DLBRIDGE_STREAM_QUEUE : 0;
  return result;
}

/** The context of an entry; NULL means the primary context. \since 0.3.0 */
static inline CUcontext dlbridge_cuda_context(const DLBridgeContextEntry* entry) {
  return (CUcontext)(uintptr_t)entry->context;
}

/** The default queue of an entry, or NULL. \since 0.3.0 */
static inline CUstream dlbridge_cuda_queue(const DLBridgeContextEntry* entry) {
  return (CUstream)(uintptr_t)entry->queue;
}

/** The device ordinal of an entry. \since 0.3.0 */
static inline int dlbridge_cuda_ordinal(const DLBridgeContextEntry* entry) {
  return (int)entry->native_device;
}

/** The context that the memory was allocated in; NULL for memory from pools and cuMemMap.
 * \since 0.3.0 */
static inline CUcontext dlbridge_cuda_memory_context(const DLBridgePointerInfo* info) {
  return (CUcontext)(uintptr_t)info->context;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CUDA_API_H_ */
