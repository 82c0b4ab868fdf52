// SPDX-License-Identifier: Apache-2.0
// What the library calls back: each function hands on to Go, or does its work here. The context of
// a hook is a number that Go knows the hook by, never a pointer into Go's memory.
#include "bridge.h"

#include "_cgo_export.h"

void* godl_hook_allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment) {
  return (void*)dlbridgeGoAllocate((uintptr_t)context, device, bytes, alignment);
}

void godl_hook_deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                          uint64_t alignment) {
  dlbridgeGoDeallocate((uintptr_t)context, device, (uintptr_t)memory, bytes, alignment);
}

void godl_hook_release(void* context, DLBridgeBuffer buffer) {
  dlbridgeGoRelease((uintptr_t)context, buffer);
}

void godl_hook_context(void* user, const DLBridgeContextEntry* entry) {
  dlbridgeGoContext((uintptr_t)user, godl_context_of(entry));
}

void godl_storage_released(void* context, void* memory) {
  (void)memory;
  godl_storage_drop((godl_storage*)context, GODL_STORAGE_TENSOR);
}
