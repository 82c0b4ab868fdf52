// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on PoCL, a real driver of OpenCL, whose work runs at once. There
// is one device; each half of the program's has its own context.
#include "device/opencl_world.h"
#include "fuzz/devices/whole_program.h"

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
    CheckCl(CL(clGetPlatformIDs)(1, &platform_, nullptr));
    CheckCl(CL(clGetDeviceIDs)(platform_, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr));
    cl_int code = CL_SUCCESS;
    for (Half& half : halves_) {
      half.context = CL(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &code);
      CheckCl(code);
      half.own = MakeQueue(half.context, device_, 0);
      half.streams[0] = MakeQueue(half.context, device_, 0);
      half.streams[1] = MakeQueue(half.context, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
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
  // By a buffer of the application, since the host may not access every buffer.
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    const Half& half = HalfOf(buffer);
    cl_int code = CL_SUCCESS;
    cl_mem staged = CL(clCreateBuffer)(half.context, CL_MEM_COPY_HOST_PTR, bytes.size(),
                                       const_cast<uint8_t*>(bytes.data()), &code);
    CheckCl(code);
    CheckCl(CL(clEnqueueCopyBuffer)(half.own, staged, At(buffer), 0, 0, bytes.size(), 0, nullptr,
                                    nullptr));
    CheckCl(CL(clFinish)(half.own));
    CheckCl(CL(clReleaseMemObject)(staged));
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    const Half& half = HalfOf(buffer);
    Bytes bytes(size);
    cl_int code = CL_SUCCESS;
    cl_mem staged = CL(clCreateBuffer)(half.context, CL_MEM_READ_WRITE, size, nullptr, &code);
    CheckCl(code);
    CheckCl(CL(clEnqueueCopyBuffer)(half.own, At(buffer), staged, 0, 0, size, 0, nullptr, nullptr));
    CheckCl(CL(clEnqueueReadBuffer)(half.own, staged, CL_TRUE, 0, size, bytes.data(), 0, nullptr,
                                    nullptr));
    CheckCl(CL(clReleaseMemObject)(staged));
    return bytes;
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    cl_command_queue queue = halves_[stream / 2].streams[stream % 2];
    CheckCl(CL(clEnqueueWriteBuffer)(queue, At(to), CL_FALSE, at, bytes.size(), bytes.data(), 0,
                                     nullptr, nullptr));
  }

  // ----------------------------------------------------------------------- other kinds of memory

  enum Kind : size_t {
    kReadOnly,   // kernels only read it
    kWriteOnly,  // kernels only write to it
    kHostReads,
    kHostWrites,
    kHostNoAccess,
    kOfHost,  // CL_MEM_USE_HOST_PTR
    kPart,    // a sub-buffer, whose parent is the twin
    kImage,
    kTwins,  // two sub-buffers that share bytes
    kKinds
  };
  size_t odd_kinds() const override { return kKinds; }

  OddMemory AllocateOdd(size_t kind, int device, size_t bytes) override {
    OddMemory made = DescribeOdd(kind, device, DLBRIDGE_MEMORY_CL_MEM);
    const Half& half = halves_[device];
    cl_int code = CL_SUCCESS;
    cl_mem mem = nullptr;
    if (kind == kImage) {
      const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
      cl_image_desc description = {};
      description.image_type = CL_MEM_OBJECT_IMAGE2D;
      description.image_width = 16;
      description.image_height = 16;
      mem =
          CL(clCreateImage)(half.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &code);
      made.found = 0;
      made.is_copied = false;
      made.is_rejected = true;
    } else if (kind == kPart || kind == kTwins) {
      const cl_buffer_region region = {kPartOffset, bytes};
      cl_mem parent =
          CL(clCreateBuffer)(half.context, CL_MEM_READ_WRITE, kPartOffset + bytes, nullptr, &code);
      CheckCl(code);
      mem = CL(clCreateSubBuffer)(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
      CheckCl(code);
      made.twin_begin = kind == kPart ? kPartOffset : kTwinBegin;
      made.twin_size = kind == kPart ? kPartOffset + bytes : bytes;
      made.twin = dlbridge_buffer_cl_mem(kind == kPart ? parent : MakeTwin(parent, bytes), nullptr);
    } else {
      constexpr cl_mem_flags kFlags[] = {CL_MEM_READ_ONLY,
                                         CL_MEM_WRITE_ONLY,
                                         CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY,
                                         CL_MEM_READ_WRITE | CL_MEM_HOST_WRITE_ONLY,
                                         CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
                                         CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR};
      mem = CL(clCreateBuffer)(half.context, kFlags[kind], bytes, kind == kOfHost ? host_ : nullptr,
                               &code);
      made.is_writable = kind != kReadOnly;
    }
    CheckCl(code);
    made.memory = dlbridge_buffer_cl_mem(mem, nullptr);
    return made;
  }
  void FreeOdd(const OddMemory& memory) override {
    Free(memory.memory);
    if (memory.twin_size != 0) {
      Free(memory.twin);
    }
  }

  // -------------------------------------------------------------------------- contexts that end

  bool MakePassing(int device, unsigned variant, Passing* out) override {
    cl_int code = CL_SUCCESS;
    cl_context context = CL(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &code);
    CheckCl(code);
    cl_command_queue queue = MakeQueue(
        context, device_,
        variant % 2 == 0 ? 0 : cl_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
    cl_mem mem = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, kSize, nullptr, &code);
    CheckCl(code);
    out->device = device;
    out->label = Label(device);
    out->stream = dlbridge_stream_opencl(queue, out->label);
    out->memory = dlbridge_buffer_cl_mem(mem, variant == 1 ? context : nullptr);
    out->context = context;
    passing_ = {context, queue, {nullptr, nullptr}};
    if (variant >= 2) {
      DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
      entry.backend = DLBRIDGE_BACKEND_OPENCL;
      entry.device = out->label;
      entry.platform = reinterpret_cast<uintptr_t>(platform_);
      entry.native_device = reinterpret_cast<uintptr_t>(device_);
      entry.context = reinterpret_cast<uintptr_t>(context);
      if (variant == 3) {
        entry.queue = reinterpret_cast<uintptr_t>(queue);
        entry.queue_kind = DLBRIDGE_STREAM_QUEUE;
      }
      DLBridgeError error = GarbageError();
      const DLBridgeStatus status = dlbridge_context_register(&entry, &out->entry, &error);
      Check([&] { return std::string("a registration: ") + error.message; }, status == DLBRIDGE_OK);
    }
    return true;
  }
  void EndPassing(Passing* passing, bool /*lost*/) override {
    if (passing->entry != 0) {
      CheckStatus(DLBRIDGE_OK, dlbridge_context_unregister(passing->entry, nullptr));
    }
    Free(passing->memory);
    CheckCl(CL(clReleaseCommandQueue)(passing_.own));
    CheckCl(CL(clReleaseContext)(passing_.context));
    passing_ = {};
  }

  void SetCode(size_t choice) override {
    constexpr cl_int kCodes[] = {CL_OUT_OF_HOST_MEMORY, CL_INVALID_VALUE,      CL_OUT_OF_RESOURCES,
                                 CL_INVALID_OPERATION,  CL_INVALID_MEM_OBJECT, -9999};
    code_ = kCodes[choice % (sizeof kCodes / sizeof kCodes[0])];
  }
  std::string FailAny(int nth, bool for_good) override {
    static const auto fail = SHIM(shim_fail_any);
    char failed[1 << 14];
    fail(code_, nth, for_good ? 1 : 0, failed, sizeof failed);
    return failed;
  }
  void Settle() override {
    for (const Half& half : halves_) {
      CheckCl(CL(clFinish)(half.own));
      CheckCl(CL(clFinish)(half.streams[0]));
      CheckCl(CL(clFinish)(half.streams[1]));
    }
  }

  void Begin() override { before_ = dlbridge_test::Live(); }
  void CheckEnd(bool lost) override {
    if (lost) {
      return;  // objects that could not be released stay
    }
    // A thread of the driver may release the last reference.
    Check("events and buffers", dlbridge_test::Settles([this] {
            const ShimLive now = dlbridge_test::Live();
            return now.events <= before_.events && now.mems <= before_.mems;
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
  const Half& HalfOf(const DLBridgeBuffer& buffer) const {
    cl_context context = nullptr;
    constexpr size_t kSize = sizeof(cl_context);  // NOLINT(bugprone-sizeof-expression): a handle
    CheckCl(CL(clGetMemObjectInfo)(At(buffer), CL_MEM_CONTEXT, kSize, &context, nullptr));
    for (const Half& half : halves_) {
      if (half.context == context) {
        return half;
      }
    }
    return passing_;
  }

  // PoCL aligns sub-buffers to 128 bytes.
  static constexpr size_t kPartOffset = 1024;
  static constexpr size_t kTwinBegin = 512;

  // A sub-buffer in which that of kPartOffset begins at kTwinBegin. It keeps the parent.
  static cl_mem MakeTwin(cl_mem parent, size_t bytes) {
    const cl_buffer_region region = {kPartOffset - kTwinBegin, bytes};
    cl_int code = CL_SUCCESS;
    cl_mem twin = CL(clCreateSubBuffer)(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CheckCl(code);
    CheckCl(CL(clReleaseMemObject)(parent));
    return twin;
  }

  cl_platform_id platform_ = nullptr;
  cl_device_id device_ = nullptr;
  Half halves_[kDevices];
  Half passing_ = {};
  alignas(128) uint8_t host_[kSize];
  ShimLive before_ = {};
  cl_int code_ = CL_OUT_OF_HOST_MEMORY;
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(OpenCl)
