// SPDX-License-Identifier: Apache-2.0
// Memory and a stream of the fake CUDA driver for the common tensor checks.
#ifndef DLBRIDGE_TESTS_DEVICE_CUDA_TENSOR_DEVICE_H_
#define DLBRIDGE_TESTS_DEVICE_CUDA_TENSOR_DEVICE_H_

#include "device/cuda_fixture.h"
#include "device/tensor_checks.h"

namespace dlbridge_test {

// Uses its own context, as a program does.
class CudaDevice final : public TensorDevice {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {
    EXPECT_CUDA(cuCtxCreate(&context_, nullptr, 0, ordinal));
    EXPECT_CUDA(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    Leave();
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    EXPECT_CUDA(cuStreamDestroy(stream_));
    Leave();
    EXPECT_CUDA(cuCtxDestroy(context_));
  }

  CUstream native_stream() const { return stream_; }
  CUcontext context() const { return context_; }

  DLDevice label() override { return dlbridge_device_cuda(ordinal_); }
  DLBridgeStream stream() override { return dlbridge_stream_cuda(stream_, ordinal_); }
  DLBridgeBuffer Allocate(size_t bytes) override {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    const CUstreamCaptureMode mode = Exchange(CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_CUDA(cuMemAlloc(&address, bytes));
    Exchange(mode);
    Leave();
    return dlbridge_buffer_cuda(address);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    EXPECT_CUDA(cuCtxPushCurrent(context_));
    const CUstreamCaptureMode mode = Exchange(CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_CUDA(cuMemFree(dlbridge_cuda_address(buffer)));
    Exchange(mode);
    Leave();
  }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    fake_cuda_poke(dlbridge_cuda_address(buffer), bytes.data(), bytes.size());
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    TensorBytes read(bytes);
    fake_cuda_peek(dlbridge_cuda_address(buffer), read.data(), bytes);
    return read;
  }
  void Fail(const char* function, int nth) override {
    fake_cuda_forget_failures();
    if (nth != 0) {
      fake_cuda_fail(function, CUDA_ERROR_LAUNCH_FAILED, nth);
    }
  }

 private:
  static void Leave() {
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
  }

  // As frameworks' allocators do, which work while a graph is captured.
  static CUstreamCaptureMode Exchange(CUstreamCaptureMode mode) {
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
    return mode;
  }

  int ordinal_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_CUDA_TENSOR_DEVICE_H_
