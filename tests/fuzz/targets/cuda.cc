// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of the CUDA driver.
#include "dlbridge/cuda_api.h"
#include "fake_cuda.h"
#include "fuzz/devices/program.h"

namespace dlbridge_fuzz {
namespace {

void CheckCuda(CUresult result) { CheckEqual("the driver's result", 0, static_cast<int>(result)); }

// Makes a context current for calls of the application.
class Current {
 public:
  explicit Current(CUcontext context) { CheckCuda(cuCtxPushCurrent(context)); }
  ~Current() {
    CUcontext popped = nullptr;
    CheckCuda(cuCtxPopCurrent(&popped));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

class Cuda final : public Driver {
 public:
  Cuda() {
    setenv("DLBRIDGE_LIBCUDA", FAKE_CUDA_FILE, 1);
    Start();
    for (int device = 0; device < kDevices; ++device) {
      CUcontext popped = nullptr;
      CheckCuda(cuCtxCreate(&contexts_[device], nullptr, 0, device));
      CheckCuda(cuCtxPopCurrent(&popped));
    }
    for (size_t i = 0; i < kStreams; ++i) {
      const Current current(contexts_[i / 2]);
      const unsigned flags = i % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
      CheckCuda(cuStreamCreate(&streams_[i], flags));
    }
  }

  DLBridgeBackend backend() const override { return DLBRIDGE_BACKEND_CUDA; }
  DLDevice Label(int device) const override { return dlbridge_device_cuda(device); }
  DLBridgeStream Stream(size_t i) const override {
    return dlbridge_stream_cuda(streams_[i], static_cast<int>(i / 2));
  }
  bool has_special_streams() const override { return true; }

  DLBridgeBuffer Allocate(int device, size_t bytes) override {
    const Current current(contexts_[device]);
    CUdeviceptr address = 0;
    CheckCuda(cuMemAlloc(&address, bytes));
    return dlbridge_buffer_cuda(address);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    const Current current(contexts_[0]);
    CheckCuda(cuMemFree(dlbridge_cuda_address(buffer)));
  }
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    fake_cuda_poke(dlbridge_cuda_address(buffer), bytes.data(), bytes.size());
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    Bytes bytes(size);
    fake_cuda_peek(dlbridge_cuda_address(buffer), bytes.data(), size);
    return bytes;
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    const Current current(contexts_[stream / 2]);
    CheckCuda(cuMemcpyHtoDAsync(dlbridge_cuda_address(to) + at, bytes.data(), bytes.size(),
                                streams_[stream]));
  }
  bool BeginCapture(size_t stream, unsigned mode) override {
    const Current current(contexts_[stream / 2]);
    CheckCuda(cuStreamBeginCapture(streams_[stream], static_cast<CUstreamCaptureMode>(mode)));
    return true;
  }
  void EndCapture(size_t stream) override {
    const Current current(contexts_[stream / 2]);
    CUgraph graph = nullptr;
    CheckCuda(cuStreamEndCapture(streams_[stream], &graph));
  }

  std::string FailAny(int nth, bool for_good) override {
    return fake_cuda_fail_any(CUDA_ERROR_OUT_OF_MEMORY, nth, for_good ? 1 : 0);
  }
  void Settle() override {
    fake_cuda_run();
    FakeCudaCounts now;
    for (fake_cuda_counts(&now); now.context_depth > 0; --now.context_depth) {
      CUcontext popped = nullptr;
      CheckCuda(cuCtxPopCurrent(&popped));
    }
    auto mode = static_cast<CUstreamCaptureMode>(before_.capture_mode);
    CheckCuda(cuThreadExchangeStreamCaptureMode(&mode));
  }

  void Begin() override {
    fake_cuda_clear_log();
    fake_cuda_counts(&before_);
  }
  void CheckEnd(bool lost) override {
    CheckEqual("violations of the driver's rules", std::string(),
               std::string(fake_cuda_violation_texts()));
    FakeCudaCounts after;
    fake_cuda_counts(&after);
    CheckEqual("contexts pushed", 0, after.context_depth);
    CheckEqual("the capture mode", before_.capture_mode, after.capture_mode);
    lost_ = lost_ || lost;
    if (!lost_) {
      CheckEqual("streams", before_.live_streams, after.live_streams);
      Check("events of the pool", after.live_events <= 64);
    }
  }

 private:
  CUcontext contexts_[kDevices];
  CUstream streams_[kStreams];
  FakeCudaCounts before_ = {};
  bool lost_ = false;  // events that could not be destroyed stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(Cuda)
