// SPDX-License-Identifier: Apache-2.0
// The functions with which a test controls and inspects the fake libcuda.so.1.
// tests/fakes/README.md lists the rules that the fake enforces.
//
// Environment, read by cuInit: FAKE_CUDA_DEVICES (number, default 2), FAKE_CUDA_VERSION (default
// 12020), FAKE_CUDA_INIT (result of cuInit), FAKE_CUDA_REVERSED (1: reverses the ordinals),
// FAKE_CUDA_STUB (1: every call returns 34, as the toolkit's stub library does), FAKE_CUDA_NO_UUID.
#ifndef DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_
#define DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_

#include <cuda.h>

#include <cstddef>

extern "C" {

// The nth call of `function` from now on (1: the next) fails with `code` and does nothing.
void fake_cuda_fail(const char* function, int code, int nth);
// Planned failures that have not happened yet.
int fake_cuda_failures_left();
void fake_cuda_forget_failures();
// The nth call of any function from now on fails with `code`, with `for_good` all later ones too; 0
// ends that. Returns the names of those that failed since the last call of this function, each
// followed by a space.
const char* fake_cuda_fail_any(int code, int nth, int for_good);

// The number of violations of the driver's rules so far, and their texts, one per line.
int fake_cuda_violations();
const char* fake_cuda_violation_texts();
void fake_cuda_forgive();

// Names of the functions called, each followed by a space.
const char* fake_cuda_log();
void fake_cuda_clear_log();

struct FakeCudaCounts {
  int context_depth;  // contexts pushed by this thread and not popped
  int capture_mode;   // of this thread
  int live_events;
  int events_created;
  int live_streams;
  int primary_retained;  // references to primary contexts
  int primary_created;   // primary contexts created
  int live_mappings;     // IPC handles open, and memory of imported pools
  int live_pools;        // without the default pools
  int live_allocations;  // handles of cuMemCreate, cuMemRetainAllocationHandle and imports
  int live_reservations;
  int live_chunks;  // mappings of cuMemMap
};
void fake_cuda_counts(FakeCudaCounts* out);

// Memory as cuMemMap makes it: `reserved` bytes of addresses, all of them mapped.
CUdeviceptr fake_cuda_map(int device, size_t reserved);
// As fake_cuda_map, but maps only `count` pieces of `piece` bytes from byte `first` on.
CUdeviceptr fake_cuda_map_pieces(int device, size_t reserved, size_t first, size_t piece,
                                 int count);
// Lets the driver report no type and no device for reserved memory that is not mapped.
void fake_cuda_hide_unmapped(int on);

// A fault of the device ends the work of the context: all later work returns `code`. 0 removes it.
void fake_cuda_fault(CUcontext context, int code);

// cuCtxGetId returns success and garbage for a destroyed context.
void fake_cuda_garbage_ids(int on);

// The device works until all streams are empty.
void fake_cuda_run();

// Reads and writes device memory, which the host itself cannot access.
void fake_cuda_poke(CUdeviceptr address, const void* bytes, size_t size);
void fake_cuda_peek(CUdeviceptr address, void* bytes, size_t size);

// Switches off checks, locks and memory, for benchmarks of code that calls the driver.
void fake_cuda_fast(int on);
}

#endif  // DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_
