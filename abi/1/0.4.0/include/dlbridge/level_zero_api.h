/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Converts between the types of Level Zero's ze_api.h and the integers in the structs of dlbridge.h. All
 * functions are inline: nothing but dlbridge is linked. C99 and C++11.
 * \since 0.3.0
 */
#ifndef DLBRIDGE_LEVEL_ZERO_API_H_
#define DLBRIDGE_LEVEL_ZERO_API_H_

#include <level_zero/ze_api.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Unified shared memory at `address`, allocated in `context` (NULL: not given). \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_level_zero(const void* address,
                                                        ze_context_handle_t context) {
  DLBridgeBuffer result = DLBRIDGE_BUFFER_INIT;
  result.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  result.kind = DLBRIDGE_BUFFER_ADDRESS;
  result.handle = (uint64_t)(uintptr_t)address;
  result.context = (uint64_t)(uintptr_t)context;
  return result;
}

/** The address of a buffer, such as the one that the release callback of dlbridge_wrap receives.
 * \since 0.3.0 */
static inline void* dlbridge_level_zero_address(DLBridgeBuffer buffer) {
  return (void*)(uintptr_t)buffer.handle;
}

/** The immediate list `list` of `context`. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_level_zero(ze_command_list_handle_t list,
                                                        ze_context_handle_t context,
                                                        DLDevice device) {
  DLBridgeStream result = DLBRIDGE_STREAM_INIT;
  result.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  result.kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
  result.device = device;
  result.handle = (uint64_t)(uintptr_t)list;
  result.context = (uint64_t)(uintptr_t)context;
  return result;
}

/** The queue `queue` of `context`. Its native device is the one in the context table's entry of
 * `device`. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_level_zero_queue(ze_command_queue_handle_t queue,
                                                              ze_context_handle_t context,
                                                              DLDevice device) {
  DLBridgeStream result = DLBRIDGE_STREAM_INIT;
  result.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  result.kind = DLBRIDGE_STREAM_QUEUE;
  result.device = device;
  result.handle = (uint64_t)(uintptr_t)queue;
  result.context = (uint64_t)(uintptr_t)context;
  return result;
}

/** A context table entry: `context` on device `native` of `driver`, as kDLOneAPI device `id`. The
 * handles are borrowed and must outlive the entry. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_level_zero(int32_t id,
                                                                     ze_driver_handle_t driver,
                                                                     ze_device_handle_t native,
                                                                     ze_context_handle_t context) {
  DLBridgeContextEntry result = DLBRIDGE_CONTEXT_ENTRY_INIT;
  result.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  result.device.device_type = kDLOneAPI;
  result.device.device_id = id;
  result.platform = (uint64_t)(uintptr_t)driver;
  result.native_device = (uint64_t)(uintptr_t)native;
  result.context = (uint64_t)(uintptr_t)context;
  return result;
}

/** Makes the immediate list `list` (NULL: none) the default queue of an entry. \since 0.3.0 */
static inline void dlbridge_context_entry_set_list(DLBridgeContextEntry* entry,
                                                   ze_command_list_handle_t list) {
  entry->queue = (uint64_t)(uintptr_t)list;
  entry->queue_kind = list != NULL ? DLBRIDGE_STREAM_IMMEDIATE_LIST : 0;
}

/** The driver of an entry. \since 0.3.0 */
static inline ze_driver_handle_t dlbridge_level_zero_driver(const DLBridgeContextEntry* entry) {
  return (ze_driver_handle_t)(uintptr_t)entry->platform;
}

/** The device of an entry. \since 0.3.0 */
static inline ze_device_handle_t dlbridge_level_zero_device(const DLBridgeContextEntry* entry) {
  return (ze_device_handle_t)(uintptr_t)entry->native_device;
}

/** The context of an entry. \since 0.3.0 */
static inline ze_context_handle_t dlbridge_level_zero_context(const DLBridgeContextEntry* entry) {
  return (ze_context_handle_t)(uintptr_t)entry->context;
}

/** The default queue of an entry if it is an immediate list, else NULL. \since 0.3.0 */
static inline ze_command_list_handle_t dlbridge_level_zero_list(const DLBridgeContextEntry* entry) {
  return entry->queue_kind == DLBRIDGE_STREAM_IMMEDIATE_LIST
             ? (ze_command_list_handle_t)(uintptr_t)entry->queue
             : NULL;
}

/** The context in which the memory of a DLBridgePointerInfo was found; NULL if none. \since 0.3.0 */
static inline ze_context_handle_t dlbridge_level_zero_pointer_context(
    const DLBridgePointerInfo* info) {
  return info->backend == DLBRIDGE_BACKEND_LEVEL_ZERO
             ? (ze_context_handle_t)(uintptr_t)info->context
             : NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_LEVEL_ZERO_API_H_ */
