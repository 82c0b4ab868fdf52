// SPDX-License-Identifier: Apache-2.0
// Buffers and USM of a real OpenCL driver for the common tensor checks.
#ifndef DLBRIDGE_TESTS_DEVICE_OPENCL_TENSOR_DEVICE_H_
#define DLBRIDGE_TESTS_DEVICE_OPENCL_TENSOR_DEVICE_H_

#include "opencl_world.h"
#include "tensor_checks.h"

namespace dlbridge_test {

// The common part of both kinds of memory.
class OpenClDevice : public TensorDevice {
 public:
  OpenClDevice(DLDevice label, cl_context context, cl_command_queue stream, cl_command_queue own)
      : label_(label), context_(context), stream_(stream), own_(own) {}

  DLDevice label() override { return label_; }
  DLBridgeStream stream() override { return dlbridge_stream_opencl(stream_, label_); }
  void Fail(const char* function, int nth) override {
    SHIM(shim_reset)();
    if (nth != 0) {
      SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, nth);
    }
  }

 protected:
  cl_context context() const { return context_; }
  cl_command_queue own() const { return own_; }

 private:
  DLDevice label_;
  cl_context context_;
  cl_command_queue stream_;
  cl_command_queue own_;
};

class OpenClBuffers final : public OpenClDevice {
 public:
  using OpenClDevice::OpenClDevice;

  DLBridgeBuffer Allocate(size_t bytes) override {
    cl_int code = CL_SUCCESS;
    cl_mem mem = CL(clCreateBuffer)(context(), CL_MEM_READ_WRITE, bytes, nullptr, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    return dlbridge_buffer_cl_mem(mem, nullptr);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    EXPECT_EQ(CL(clReleaseMemObject)(Mem(buffer)), CL_SUCCESS);
  }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    EXPECT_EQ(CL(clEnqueueWriteBuffer)(own(), Mem(buffer), CL_TRUE, 0, bytes.size(), bytes.data(),
                                       0, nullptr, nullptr),
              CL_SUCCESS);
    // After a blocking write the source is free, but the buffer may not be written yet.
    EXPECT_EQ(CL(clFinish)(own()), CL_SUCCESS);
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    TensorBytes read(bytes);
    EXPECT_EQ(CL(clEnqueueReadBuffer)(own(), Mem(buffer), CL_TRUE, 0, bytes, read.data(), 0,
                                      nullptr, nullptr),
              CL_SUCCESS);
    return read;
  }

 private:
  static cl_mem Mem(const DLBridgeBuffer& buffer) {
    return reinterpret_cast<cl_mem>(static_cast<uintptr_t>(buffer.handle));
  }
};

class OpenClUsm final : public OpenClDevice {
 public:
  OpenClUsm(cl_platform_id platform, cl_device_id device, DLDevice label, cl_context context,
            cl_command_queue stream, cl_command_queue own)
      : OpenClDevice(label, context, stream, own), device_(device) {
    const auto find = CL(clGetExtensionFunctionAddressForPlatform);
    allocate_ = reinterpret_cast<AllocateFn*>(find(platform, "clDeviceMemAllocINTEL"));
    free_ = reinterpret_cast<FreeFn*>(find(platform, "clMemBlockingFreeINTEL"));
    copy_ = reinterpret_cast<CopyFn*>(find(platform, "clEnqueueMemcpyINTEL"));
  }

  DLBridgeBuffer Allocate(size_t bytes) override {
    cl_int code = CL_SUCCESS;
    void* memory = allocate_(context(), device_, nullptr, bytes, 0, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    return dlbridge_buffer_address(memory);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    EXPECT_EQ(free_(context(), At(buffer)), CL_SUCCESS);
  }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    EXPECT_EQ(copy_(own(), CL_TRUE, At(buffer), bytes.data(), bytes.size(), 0, nullptr, nullptr),
              CL_SUCCESS);
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    TensorBytes read(bytes);
    EXPECT_EQ(copy_(own(), CL_TRUE, read.data(), At(buffer), bytes, 0, nullptr, nullptr),
              CL_SUCCESS);
    return read;
  }

 private:
  using AllocateFn = void*(cl_context, cl_device_id, const cl_ulong*, size_t, cl_uint, cl_int*);
  using FreeFn = cl_int(cl_context, void*);
  using CopyFn = cl_int(cl_command_queue, cl_bool, void*, const void*, size_t, cl_uint,
                        const cl_event*, cl_event*);

  static void* At(const DLBridgeBuffer& buffer) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(buffer.handle));
  }

  cl_device_id device_;
  AllocateFn* allocate_;
  FreeFn* free_;
  CopyFn* copy_;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_OPENCL_TENSOR_DEVICE_H_
