// SPDX-License-Identifier: Apache-2.0
// The callbacks of the library: each calls an exported Go function or does its work here.
// The context of a callback is its handle in Go, never a pointer into Go's memory.
#include "bridge.h"

#include "_cgo_export.h"

void* godl_hook_allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                         const DLBridgeStream* stream) {
  return (void*)dlbridgeGoAllocate((uintptr_t)context, device, bytes, alignment,
                                   godl_stream_of(stream));
}

void godl_hook_deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                          uint64_t alignment, const DLBridgeStream* stream) {
  dlbridgeGoDeallocate((uintptr_t)context, device, (uintptr_t)memory, bytes, alignment,
                       godl_stream_of(stream));
}

void godl_hook_release(void* context, const DLBridgeBuffer* buffer, const DLBridgeStream* stream) {
  dlbridgeGoRelease((uintptr_t)context, *buffer, godl_stream_of(stream));
}

void godl_hook_context(void* context, const DLBridgeContextEntry* entry) {
  dlbridgeGoContext((uintptr_t)context, godl_context_of(entry));
}

void godl_storage_released(void* context, void* memory) {
  (void)memory;
  godl_storage_drop((godl_storage*)context, GODL_STORAGE_TENSOR);
}
