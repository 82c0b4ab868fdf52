/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts between the types of OpenCL's CL/cl.h and the integers in the structs of dlbridge.h. All
 * functions are inline: nothing but dlbridge is linked. C99 and C++11.
 */
#ifndef DLBRIDGE_OPENCL_API_H_
#define DLBRIDGE_OPENCL_API_H_

#include <CL/cl.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A buffer object, for a tensor labelled kDLOpenCL. Its context must be `context`; NULL: not checked.
 * \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_cl_mem(cl_mem mem, cl_context context) {
  DLBridgeBuffer buffer = DLBRIDGE_BUFFER_INIT;
  buffer.backend = DLBRIDGE_BACKEND_OPENCL;
  buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
  buffer.handle = (uint64_t)(uintptr_t)mem;
  buffer.context = (uint64_t)(uintptr_t)context;
  return buffer;
}

/** A USM pointer that an OpenCL driver allocated (cl_intel_unified_shared_memory) in `context`
 * (NULL: not known), for a tensor labelled kDLOneAPI. \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_cl_usm(const void* pointer, cl_context context) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(pointer);
  buffer.backend = DLBRIDGE_BACKEND_OPENCL;
  buffer.context = (uint64_t)(uintptr_t)context;
  return buffer;
}

/** A queue of the native device that is labelled `device`. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_opencl(cl_command_queue queue, DLDevice device) {
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  stream.backend = DLBRIDGE_BACKEND_OPENCL;
  stream.kind = DLBRIDGE_STREAM_QUEUE;
  stream.device = device;
  stream.handle = (uint64_t)(uintptr_t)queue;
  stream.context = 0;
  return stream;
}

/** A context table entry: `device` is the label (kDLOpenCL, or kDLOneAPI with the id that SYCL gives the
 * device), `queue` the default queue or NULL. All handles are borrowed: to make the table own
 * references, retain the handles and set `release`. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_opencl(DLDevice device,
                                                                 cl_platform_id platform,
                                                                 cl_device_id native_device,
                                                                 cl_context context,
                                                                 cl_command_queue queue) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = device;
  entry.platform = (uint64_t)(uintptr_t)platform;
  entry.native_device = (uint64_t)(uintptr_t)native_device;
  entry.context = (uint64_t)(uintptr_t)context;
  entry.queue = (uint64_t)(uintptr_t)queue;
  entry.queue_kind = queue != NULL ? (int32_t)DLBRIDGE_STREAM_QUEUE : 0;
  return entry;
}

/** The platform of an entry. \since 0.3.0 */
static inline cl_platform_id dlbridge_opencl_platform(const DLBridgeContextEntry* entry) {
  return (cl_platform_id)(uintptr_t)entry->platform;
}

/** The device of an entry. \since 0.3.0 */
static inline cl_device_id dlbridge_opencl_device(const DLBridgeContextEntry* entry) {
  return (cl_device_id)(uintptr_t)entry->native_device;
}

/** The context of an entry. \since 0.3.0 */
static inline cl_context dlbridge_opencl_context(const DLBridgeContextEntry* entry) {
  return (cl_context)(uintptr_t)entry->context;
}

/** The default queue of an entry, or NULL. \since 0.3.0 */
static inline cl_command_queue dlbridge_opencl_queue(const DLBridgeContextEntry* entry) {
  return (cl_command_queue)(uintptr_t)entry->queue;
}

/** The cl_mem of a tensor labelled kDLOpenCL. \since 0.3.0 */
static inline cl_mem dlbridge_opencl_mem(const DLTensor* tensor) { return (cl_mem)tensor->data; }

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_OPENCL_API_H_ */
