// SPDX-License-Identifier: Apache-2.0
// Hand-off, copy and release on a stream, beside the same work by raw OpenCL calls, on the first
// device of this machine. CPU time of the calling thread; the queues are emptied outside of it.
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200
#endif
#include <CL/cl.h>
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "dlbridge/opencl_api.h"

namespace {

void Must(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "opencl_bench: %s failed\n", what);
    std::exit(1);
  }
}

constexpr size_t kBytes = 4096;
constexpr int kBatch = 64;  // calls between two waits
constexpr DLDevice kDevice = {kDLOpenCL, 0};

struct Device {
  cl_context context = nullptr;
  cl_command_queue producer = nullptr;
  cl_command_queue consumer = nullptr;
  cl_mem source = nullptr;
  cl_mem target = nullptr;
};

Device MakeDevice() {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  Must(clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS, "clGetPlatformIDs");
  Must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr) == CL_SUCCESS,
       "clGetDeviceIDs");
  Device made;
  cl_int code = CL_SUCCESS;
  made.context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
  Must(code == CL_SUCCESS, "clCreateContext");
  made.producer = clCreateCommandQueueWithProperties(made.context, id, nullptr, &code);
  Must(code == CL_SUCCESS, "clCreateCommandQueueWithProperties");
  made.consumer = clCreateCommandQueueWithProperties(made.context, id, nullptr, &code);
  Must(code == CL_SUCCESS, "clCreateCommandQueueWithProperties");
  made.source = clCreateBuffer(made.context, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
  Must(code == CL_SUCCESS, "clCreateBuffer");
  made.target = clCreateBuffer(made.context, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
  Must(code == CL_SUCCESS, "clCreateBuffer");
  return made;
}

const Device& TheDevice() {
  static const Device device = MakeDevice();
  return device;
}

// Repeats `call`; every kBatch calls it empties the queues, which is not measured.
template <class Call>
void Repeat(benchmark::State* state, Call call) {
  int calls = 0;
  for ([[maybe_unused]] auto step : *state) {
    call();
    if (++calls == kBatch) {
      calls = 0;
      state->PauseTiming();
      clFinish(TheDevice().producer);
      clFinish(TheDevice().consumer);
      dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr);
      state->ResumeTiming();
    }
  }
  clFinish(TheDevice().producer);
  clFinish(TheDevice().consumer);
  dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr);
}

void HandoffRaw(benchmark::State& state) {
  const Device& device = TheDevice();
  Repeat(&state, [&] {
    cl_event marker = nullptr;
    clEnqueueMarkerWithWaitList(device.producer, 0, nullptr, &marker);
    clFlush(device.producer);
    clEnqueueBarrierWithWaitList(device.consumer, 1, &marker, nullptr);
    clReleaseEvent(marker);
  });
}
BENCHMARK(HandoffRaw);

void Handoff(benchmark::State& state) {
  const DLBridgeStream producer = dlbridge_stream_opencl(TheDevice().producer, kDevice);
  const DLBridgeStream consumer = dlbridge_stream_opencl(TheDevice().consumer, kDevice);
  Repeat(&state, [&] {
    benchmark::DoNotOptimize(dlbridge_stream_handoff(&producer, &consumer, 0, nullptr));
  });
}
BENCHMARK(Handoff);

// The wrapped source; a program has it anyway.
DLManagedTensorVersioned* WrapSource() {
  const int64_t shape = kBytes;
  DLBridgeWrapSpec spec = dlbridge_wrap_spec_init();
  spec.buffer = dlbridge_buffer_cl_mem(TheDevice().source, nullptr);
  spec.device = kDevice;
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = 1;
  spec.shape = &shape;
  DLManagedTensorVersioned* tensor = nullptr;
  Must(dlbridge_wrap(&spec, &tensor, nullptr) == DLBRIDGE_OK, "dlbridge_wrap");
  return tensor;
}

// A program without dlbridge enqueues the copy and an event, by which it learns that it is done.
void CopyRaw(benchmark::State& state) {
  const Device& device = TheDevice();
  Repeat(&state, [&] {
    cl_event done = nullptr;
    clEnqueueCopyBuffer(device.producer, device.source, device.target, 0, 0, kBytes, 0, nullptr,
                        &done);
    clFlush(device.producer);
    clReleaseEvent(done);
  });
}
BENCHMARK(CopyRaw);

void CopyAsync(benchmark::State& state) {
  DLManagedTensorVersioned* source = WrapSource();
  DLBridgeCopySpec spec = dlbridge_copy_spec_init();
  spec.device = kDevice;
  spec.stream = dlbridge_stream_opencl(TheDevice().producer, kDevice);
  spec.target = dlbridge_buffer_cl_mem(TheDevice().target, nullptr);
  spec.target_size = kBytes;
  Repeat(&state, [&] {
    DLManagedTensorVersioned* copy = nullptr;
    Must(dlbridge_copy_async(source, &spec, &copy, nullptr) == DLBRIDGE_OK, "dlbridge_copy_async");
    copy->deleter(copy);
  });
  source->deleter(source);
}
BENCHMARK(CopyAsync);

// A program without dlbridge keeps an event per tensor and asks it before it releases the tensor.
void ReleaseRaw(benchmark::State& state) {
  const Device& device = TheDevice();
  Repeat(&state, [&] {
    cl_event marker = nullptr;
    cl_int status = CL_QUEUED;
    DLManagedTensorVersioned* tensor = WrapSource();
    clEnqueueMarkerWithWaitList(device.producer, 0, nullptr, &marker);
    clFlush(device.producer);
    clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    benchmark::DoNotOptimize(status);
    clReleaseEvent(marker);
    tensor->deleter(tensor);
  });
}
BENCHMARK(ReleaseRaw);

void ReleaseAfter(benchmark::State& state) {
  const DLBridgeStream stream = dlbridge_stream_opencl(TheDevice().producer, kDevice);
  Repeat(&state, [&] {
    benchmark::DoNotOptimize(
        dlbridge_release_after(WrapSource(), DLBRIDGE_KIND_VERSIONED, &stream, 1, nullptr));
  });
}
BENCHMARK(ReleaseAfter);

}  // namespace

BENCHMARK_MAIN();
