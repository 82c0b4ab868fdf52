// SPDX-License-Identifier: Apache-2.0
// The cost that dlbridge adds to the calls of a driver. The driver is the fake one with its checks
// off, so that only the cost of a call is left. For comparison, each operation has a benchmark of
// the same driver calls through pointers from dlsym, as in a program without dlbridge.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "dlbridge/cuda_api.h"
#include "fake_cuda.h"

namespace {

template <class Function>
Function* Symbol(const char* name) {
  static void* const library = dlopen(FAKE_CUDA_FILE, RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Two streams of one context; the fake driver checks no handle while it is fast.
struct Pair {
  CUcontext context = nullptr;
  CUstream producer = nullptr;
  CUstream consumer = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
};

void Must(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "device_bench: %s failed\n", what);
    std::abort();
  }
}

Pair MakePair() {
  setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  Must(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr) == DLBRIDGE_OK &&
           info.state == DLBRIDGE_STATE_READY,
       "the start of the fake driver");
  Pair pair;
  Must(cuCtxCreate(&pair.context, nullptr, 0, 0) == CUDA_SUCCESS, "cuCtxCreate");
  Must(cuStreamCreate(&pair.producer, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "cuStreamCreate");
  Must(cuStreamCreate(&pair.consumer, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "cuStreamCreate");
  Must(cuEventCreate(&pair.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS, "cuEventCreate");
  Must(cuMemAlloc(&pair.memory, 64) == CUDA_SUCCESS, "cuMemAlloc");
  return pair;
}

const Pair& ThePair() {
  static const Pair pair = MakePair();
  return pair;
}

// Makes the fake driver fast until the end of a benchmark.
class Fast {
 public:
  Fast() { fake_cuda_fast(1); }
  ~Fast() { fake_cuda_fast(0); }
  Fast(const Fast&) = delete;
  Fast& operator=(const Fast&) = delete;
};

void Handoff(benchmark::State& state) {
  const DLBridgeStream from = dlbridge_stream_cuda(ThePair().producer, 0);
  const DLBridgeStream to = dlbridge_stream_cuda(ThePair().consumer, 0);
  const Fast fast;
  Must(dlbridge_stream_handoff(&from, &to, 0, nullptr) == DLBRIDGE_OK, "a hand-off");
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(dlbridge_stream_handoff(&from, &to, 0, nullptr));
  }
}
BENCHMARK(Handoff);

void HandoffCallsOnly(benchmark::State& state) {
  const Pair& pair = ThePair();
  auto* get_ctx = Symbol<decltype(cuStreamGetCtx)>("cuStreamGetCtx");
  auto* push = Symbol<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent_v2");
  auto* get_device = Symbol<decltype(cuCtxGetDevice)>("cuCtxGetDevice");
  auto* is_capturing = Symbol<decltype(cuStreamIsCapturing)>("cuStreamIsCapturing");
  auto* exchange =
      Symbol<decltype(cuThreadExchangeStreamCaptureMode)>("cuThreadExchangeStreamCaptureMode");
  auto* get_id = Symbol<decltype(cuCtxGetId)>("cuCtxGetId");
  auto* record = Symbol<decltype(cuEventRecord)>("cuEventRecord");
  auto* wait = Symbol<decltype(cuStreamWaitEvent)>("cuStreamWaitEvent");
  auto* pop = Symbol<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent_v2");
  const Fast fast;
  for ([[maybe_unused]] auto step : state) {
    CUcontext context = nullptr;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    CUdevice device = 0;
    benchmark::DoNotOptimize(get_ctx(pair.producer, &context));
    benchmark::DoNotOptimize(push(context));
    benchmark::DoNotOptimize(get_device(&device));
    benchmark::DoNotOptimize(is_capturing(pair.consumer, &status));
    benchmark::DoNotOptimize(is_capturing(pair.producer, &status));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    benchmark::DoNotOptimize(exchange(&mode));
    benchmark::DoNotOptimize(get_id(context, &id));
    benchmark::DoNotOptimize(exchange(&mode));
    benchmark::DoNotOptimize(record(pair.event, pair.producer));
    benchmark::DoNotOptimize(wait(pair.consumer, pair.event, 0));
    benchmark::DoNotOptimize(pop(&context));
  }
}
BENCHMARK(HandoffCallsOnly);

void HandoffOfOneStream(benchmark::State& state) {
  const DLBridgeStream stream = dlbridge_stream_cuda(ThePair().producer, 0);
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(dlbridge_stream_handoff(&stream, &stream, 0, nullptr));
  }
}
BENCHMARK(HandoffOfOneStream);

void PointerInfo(benchmark::State& state) {
  const DLBridgeBuffer buffer = dlbridge_buffer_cuda(ThePair().memory);
  const Fast fast;
  for ([[maybe_unused]] auto step : state) {
    DLBridgePointerInfo info;
    info.struct_size = sizeof info;
    benchmark::DoNotOptimize(
        dlbridge_pointer_info(&buffer, dlbridge_device_cuda(0), &info, nullptr));
    benchmark::DoNotOptimize(info);
  }
}
BENCHMARK(PointerInfo);

void PointerInfoCallsOnly(benchmark::State& state) {
  const Pair& pair = ThePair();
  auto* ask = Symbol<decltype(cuPointerGetAttributes)>("cuPointerGetAttributes");
  const Fast fast;
  for ([[maybe_unused]] auto step : state) {
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_CONTEXT,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_MAPPED};
    unsigned type = 0;
    int ordinal = -1;
    unsigned managed = 0;
    CUcontext context = nullptr;
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned mapped = 0;
    void* values[] = {&type, &ordinal, &managed, &context, &base, &size, &mapped};
    benchmark::DoNotOptimize(ask(7, attributes, values, pair.memory));
    benchmark::DoNotOptimize(size);
  }
}
BENCHMARK(PointerInfoCallsOnly);

}  // namespace

BENCHMARK_MAIN();
