/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Typed makers for programs that have Level Zero's ze_api.h: what the structs of dlbridge.h hold as
 * Typed makers for programs that have Level Zero's ze_api.h: what the structs of dlbridge.h hold as
 * \since 0.3.0
 */
#ifndef DLBRIDGE_LEVEL_ZERO_API_H_
#define DLBRIDGE_LEVEL_ZERO_API_H_

#include <level_zero/ze_api.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** USM at `address`, of `context` (NULL: not said). \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_level_zero(const void* address,
                                                        ze_context_handle_t context) {
  DLBridgeBuffer result = DLBRIDGE_BUFFER_INIT;
  result.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  result.kind = DLBRIDGE_BUFFER_ADDRESS;
  result.handle = (uint64_t)(uintptr_t)address;
  result.context = (uint64_t)(uintptr_t)context;
  return result;
}

/** The address of a buffer, as in what `release` of dlbridge_wrap receives. \since 0.3.0 */
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

/** The queue `queue` of `context`; it is of the native device that the context table has for `device`.
 * \since 0.3.0 */
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

/** An entry to register: `context` on `native` of `driver`, as the kDLOneAPI device with id `id`. All
 * are borrowed and must outlive the entry. \since 0.3.0 */
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

/** The immediate list that is the default queue of an entry; NULL where there is none, or one of
 * another kind. \since 0.3.0 */
static inline ze_command_list_handle_t dlbridge_level_zero_list(const DLBridgeContextEntry* entry) {
  return entry->queue_kind == DLBRIDGE_STREAM_IMMEDIATE_LIST
             ? (ze_command_list_handle_t)(uintptr_t)entry->queue
             : NULL;
}

/** The context that knew the memory of a DLBridgePointerInfo; NULL where none did. \since 0.3.0 */
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
