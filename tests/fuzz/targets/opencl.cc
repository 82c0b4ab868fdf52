// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on PoCL, a real driver of OpenCL, whose work runs at once. There
// is one device; each half of the program's has its own context.
#include "device/opencl_world.h"
#include "fuzz/devices/program.h"

namespace dlbridge_fuzz {
namespace {

void CheckCl(cl_int result) { CheckEqual("the driver's result", 0, result); }
cl_mem At(const DLBridgeBuffer& buffer) {
  return reinterpret_cast<cl_mem>(static_cast<uintptr_t>(buffer.handle));
}

class OpenCl final : public Driver {
 public:
  OpenCl() {
    dlbridge_test::UseShim();
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    CheckCl(CL(clGetPlatformIDs)(1, &platform, nullptr));
    CheckCl(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_int code = CL_SUCCESS;
    for (Half& half : halves_) {
      half.context = CL(clCreateContext)(nullptr, 1, &device, nullptr, nullptr, &code);
      CheckCl(code);
      half.own = MakeQueue(half.context, device, 0);
      half.streams[0] = MakeQueue(half.context, device, 0);
      half.streams[1] = MakeQueue(half.context, device, 0);
    }
    Start();
  }

  DLBridgeBackend backend() const override { return DLBRIDGE_BACKEND_OPENCL; }
  DLDevice Label(int /*device*/) const override { return {kDLOpenCL, 0}; }
  DLBridgeStream Stream(size_t i) const override {
    return dlbridge_stream_opencl(halves_[i / 2].streams[i % 2], Label(0));
  }

  DLBridgeBuffer Allocate(int device, size_t bytes) override {
    cl_int code = CL_SUCCESS;
    cl_mem mem =
        CL(clCreateBuffer)(halves_[device].context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
    CheckCl(code);
    return dlbridge_buffer_cl_mem(mem, nullptr);
  }
  void Free(const DLBridgeBuffer& buffer) override { CheckCl(CL(clReleaseMemObject)(At(buffer))); }
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    cl_command_queue own = OwnOf(buffer);
    CheckCl(CL(clEnqueueWriteBuffer)(own, At(buffer), CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                     nullptr, nullptr));
    // After a blocking write the source is free, but the buffer may not be written yet.
    CheckCl(CL(clFinish)(own));
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    Bytes bytes(size);
    CheckCl(CL(clEnqueueReadBuffer)(OwnOf(buffer), At(buffer), CL_TRUE, 0, size, bytes.data(), 0,
                                    nullptr, nullptr));
    return bytes;
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    cl_command_queue queue = halves_[stream / 2].streams[stream % 2];
    // Work of the program on a queue is in order, also if the queue is not.
    CheckCl(CL(clEnqueueBarrierWithWaitList)(queue, 0, nullptr, nullptr));
    CheckCl(CL(clEnqueueWriteBuffer)(queue, At(to), CL_FALSE, at, bytes.size(), bytes.data(), 0,
                                     nullptr, nullptr));
  }

  // PoCL waits for ever for a queue between whose commands some calls have failed.
  // opencl_faults_test lets each call fail with nothing else enqueued.
  bool can_fail() const override { return false; }
  std::string FailAny(int /*nth*/, bool /*for_good*/) override { return ""; }

  void Begin() override { before_ = dlbridge_test::Live(); }
  void CheckEnd(bool lost) override {
    lost_ = lost_ || lost;
    if (lost_) {
      return;
    }
    // A thread of the driver may release the last reference.
    Check("events and buffers", dlbridge_test::Settles([this] {
            const ShimLive now = dlbridge_test::Live();
            return now.events == before_.events && now.mems == before_.mems;
          }));
    const ShimLive after = dlbridge_test::Live();
    // The library keeps a queue for each context.
    Check("queues", after.queues <= before_.queues + kDevices);
  }

 private:
  struct Half {
    cl_context context;
    cl_command_queue own;
    cl_command_queue streams[2];
  };

  static cl_command_queue MakeQueue(cl_context context, cl_device_id device,
                                    cl_queue_properties order) {
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, order, 0};
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        CL(clCreateCommandQueueWithProperties)(context, device, properties, &code);
    CheckCl(code);
    return queue;
  }
  cl_command_queue OwnOf(const DLBridgeBuffer& buffer) const {
    cl_context context = nullptr;
    CheckCl(CL(clGetMemObjectInfo)(At(buffer), CL_MEM_CONTEXT, sizeof context, &context, nullptr));
    return halves_[context == halves_[0].context ? 0 : 1].own;
  }

  Half halves_[kDevices];
  ShimLive before_ = {};
  bool lost_ = false;  // objects that could not be released stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(OpenCl)
