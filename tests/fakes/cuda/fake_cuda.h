// SPDX-License-Identifier: Apache-2.0
// What a test tells the fake libcuda.so.1, and asks of it. tests/fakes/README.md lists what it
// refuses.
//
// The environment, read by cuInit: FAKE_CUDA_DEVICES (number, default 2), FAKE_CUDA_VERSION
// (default 12020), FAKE_CUDA_INIT (what cuInit returns), FAKE_CUDA_REVERSED (1: the ordinals count
// backwards), FAKE_CUDA_STUB (1: everything answers 34, as a toolkit's stub does),
// FAKE_CUDA_NO_UUID.
#ifndef DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_
#define DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_

#include <cuda.h>

#include <cstddef>

extern "C" {

// The nth call of `function` from now on (1: the next) fails with `code` and does nothing.
void fake_cuda_fail(const char* function, int code, int nth);
// Failures that were asked for and have not come to pass.
int fake_cuda_failures_left();
void fake_cuda_forget_failures();

// Breaches of the driver's rules so far, and the texts of all, a line each.
int fake_cuda_violations();
const char* fake_cuda_violation_texts();
void fake_cuda_forgive();

// Names of the functions called, with a space behind each.
const char* fake_cuda_log();
void fake_cuda_clear_log();

struct FakeCudaCounts {
  int context_depth;  // contexts pushed by this thread and not popped
  int capture_mode;   // of this thread
  int live_events;
  int events_created;
  int live_streams;
  int primary_retained;  // references to primary contexts
  int primary_created;   // times that one came to be
  int live_mappings;     // IPC handles open
};
void fake_cuda_counts(FakeCudaCounts* out);

// Memory as cuMemMap makes it: `reserved` bytes of addresses of which all are mapped.
CUdeviceptr fake_cuda_map(int device, size_t reserved);

// Device memory as the device sees it; the host cannot read it.
void fake_cuda_poke(CUdeviceptr address, const void* bytes, size_t size);
void fake_cuda_peek(CUdeviceptr address, void* bytes, size_t size);

// No checks, no locks, no memory: for benchmarks of what calls a driver.
void fake_cuda_fast(int on);
}

#endif  // DLBRIDGE_TESTS_FAKES_CUDA_FAKE_CUDA_H_
