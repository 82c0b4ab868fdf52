// SPDX-License-Identifier: Apache-2.0
// Copies between sub-buffers, and copies of buffers that the host may not access: dlbridge_copy on
// a real driver, compared by bytes.
#include <cstring>
#include <string>
#include <vector>

#include "opencl_world.h"

namespace dlbridge_test {
namespace {

using Bytes = std::vector<uint8_t>;

// A range of bytes of a buffer.
struct Part {
  cl_mem mem;
  uint64_t offset;
};

class OpenClMemory : public World {
 protected:
  static constexpr size_t kSize = 1 << 16;

  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) {
      return;
    }
    reader_ = MakeQueue(context_);
    step_ = SubBufferStep();
    content_.resize(kSize);
    for (size_t i = 0; i < kSize; ++i) {
      content_[i] = static_cast<uint8_t>(i * 2654435761U >> 13);
    }
  }

  DLDevice Label() const { return {kDLOpenCL, IndexOf(device_)}; }

  static DLTensor Line(void* data, DLDevice device, uint64_t offset, int64_t* count) {
    static int64_t stride = 1;
    return {data, device, 1, {kDLUInt, 8, 1}, count, &stride, offset};
  }

  // Copies `count` bytes; the queue may be NULL.
  static DLBridgeStatus Copy(const DLTensor& from, DLDevice device, const DLBridgeBuffer& to,
                             uint64_t offset, const DLBridgeStream& stream, Error* error) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.device = device;
    spec.stream = stream;
    spec.target = to;
    spec.target_offset = offset;
    spec.target_size = kSize;
    DLManagedTensorVersioned* copy = nullptr;
    const DLBridgeStatus status = dlbridge_copy(&from, 0, &spec, &copy, error);
    if (copy != nullptr) {
      copy->deleter(copy);
    }
    return status;
  }

  DLBridgeStatus Between(const Part& from, const Part& to, int64_t count, Error* error) {
    const DLTensor source = Line(from.mem, Label(), from.offset, &count);
    return Copy(source, Label(), dlbridge_buffer_cl_mem(to.mem, nullptr), to.offset, {}, error);
  }

  void ExpectRejected(const Part& from, const Part& to, int64_t count) {
    Error error;
    EXPECT_EQ(Between(from, to, count, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message,
                 "spec.target shares bytes with the source, or lies between two of them: use other "
                 "memory");
  }

  void ExpectCopied(const Part& from, const Part& to, int64_t count) {
    Error error;
    EXPECT_EQ(Between(from, to, count, &error), DLBRIDGE_OK) << error.message;
  }

  cl_mem Parent() { return MakeBuffer(context_, kSize, content_.data()); }

  Bytes Read(cl_mem mem) {
    Bytes bytes(kSize);
    EXPECT_EQ(
        CL(clEnqueueReadBuffer)(reader_, mem, CL_TRUE, 0, kSize, bytes.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    return bytes;
  }

  Bytes Moved(size_t from, size_t to, size_t count) const {
    Bytes bytes = content_;
    std::memmove(&bytes[to], &content_[from], count);
    return bytes;
  }

  cl_command_queue reader_ = nullptr;
  size_t step_ = 0;
  Bytes content_;
};

TEST_F(OpenClMemory, BytesOfOneBufferThatOverlapAreRejected) {
  cl_mem mem = Parent();
  ExpectRejected({mem, 0}, {mem, 99}, 100);
  ExpectRejected({mem, 99}, {mem, 0}, 100);
  EXPECT_EQ(Read(mem), content_);
  ExpectCopied({mem, 0}, {mem, 100}, 100);
  EXPECT_EQ(Read(mem), Moved(0, 100, 100));
}

TEST_F(OpenClMemory, BytesOfTwoSubBuffersThatOverlapAreRejected) {
  cl_mem parent = Parent();
  cl_mem one = MakeSubBuffer(parent, 0, kSize / 2);
  cl_mem other = MakeSubBuffer(parent, step_, kSize / 2);
  ExpectRejected({one, step_}, {other, 10}, 100);
  ExpectRejected({other, 0}, {one, step_ + 99}, 100);
  ExpectRejected({one, 0}, {one, 99}, 100);
  EXPECT_EQ(Read(parent), content_);
}

TEST_F(OpenClMemory, BytesOfASubBufferAndItsParentThatOverlapAreRejected) {
  cl_mem parent = Parent();
  cl_mem sub = MakeSubBuffer(parent, step_, kSize / 2);
  ExpectRejected({sub, 7}, {parent, step_ + 7}, 100);
  ExpectRejected({parent, step_ + 7}, {sub, 106}, 100);
  EXPECT_EQ(Read(parent), content_);
}

TEST_F(OpenClMemory, DisjointBytesOfOneParentAreCopied) {
  cl_mem parent = Parent();
  cl_mem low = MakeSubBuffer(parent, 0, 4 * step_);
  cl_mem high = MakeSubBuffer(parent, 4 * step_, 4 * step_);
  const auto all = static_cast<int64_t>(4 * step_);
  ExpectCopied({low, 0}, {high, 0}, all);
  EXPECT_EQ(Read(parent), Moved(0, 4 * step_, 4 * step_));
}

// PoCL 3.1 crashes if the driver's function for rectangles gets a sub-buffer.
TEST_F(OpenClMemory, RectanglesOfSubBuffersAreCopied) {
  cl_mem parent = Parent();
  cl_mem elsewhere = MakeBuffer(context_, kSize, content_.data());
  cl_mem one = MakeSubBuffer(parent, step_, kSize / 4);
  for (cl_mem other : {MakeSubBuffer(parent, kSize / 2, kSize / 4), elsewhere,
                       MakeSubBuffer(elsewhere, 2 * step_, kSize / 4)}) {
    int64_t shape[] = {6, 8};
    int64_t strides[] = {20, 1};
    const DLTensor source = {one, Label(), 2, {kDLUInt, 8, 1}, shape, strides, 5};
    Error error;
    EXPECT_EQ(Copy(source, Label(), dlbridge_buffer_cl_mem(other, nullptr), 11, {}, &error),
              DLBRIDGE_OK)
        << error.message;
    Bytes seen(6 * 8);
    EXPECT_EQ(CL(clEnqueueReadBuffer)(reader_, other, CL_TRUE, 11, seen.size(), seen.data(), 0,
                                      nullptr, nullptr),
              CL_SUCCESS);
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i], content_[step_ + 5 + i / 8 * 20 + i % 8]);
    }
  }
}

// Sub-buffers that overlap, and a sub-buffer and its parent: the bytes of the copy do not.
TEST_F(OpenClMemory, DisjointBytesOfOverlappingBuffersAreCopied) {
  cl_mem parent = Parent();
  cl_mem one = MakeSubBuffer(parent, 0, kSize / 2);
  cl_mem other = MakeSubBuffer(parent, step_, kSize / 2);
  ExpectCopied({one, 0}, {other, 0}, static_cast<int64_t>(step_));
  Bytes expected = Moved(0, step_, step_);
  EXPECT_EQ(Read(parent), expected);
  ExpectCopied({other, 1}, {parent, 0}, static_cast<int64_t>(step_));
  std::memcpy(&expected[0], &expected[step_ + 1], step_);
  EXPECT_EQ(Read(parent), expected);
}

TEST_F(OpenClMemory, BuffersOfOneHostPointerAreCompared) {
  alignas(4096) static char host[kSize];
  std::memcpy(host, content_.data(), kSize);
  cl_mem one = MakeBufferOf(context_, CL_MEM_USE_HOST_PTR, kSize, host);
  cl_mem other = MakeBufferOf(context_, CL_MEM_USE_HOST_PTR, kSize / 2, host + kSize / 2);
  ExpectRejected({one, kSize / 2}, {other, 99}, 100);
  ExpectRejected({other, 0}, {one, kSize / 2 + 99}, 100);
  cl_mem sub = MakeSubBuffer(one, kSize / 2, kSize / 2);
  ExpectRejected({sub, 0}, {other, 99}, 100);
  // The host's own tensor of that memory.
  int64_t count = 100;
  Error error;
  EXPECT_EQ(Copy(Line(host, {kDLCPU, 0}, 0, &count), Label(), dlbridge_buffer_cl_mem(one, nullptr),
                 99, {}, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Copy(Line(one, Label(), 0, &count), {kDLCPU, 0}, dlbridge_buffer_address(host + 99), 0,
                 {}, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(std::memcmp(host, content_.data(), kSize), 0);
  Bytes elsewhere(kSize);
  EXPECT_EQ(Copy(Line(one, Label(), 3, &count), {kDLCPU, 0},
                 dlbridge_buffer_address(elsewhere.data()), 0, {}, &error),
            DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(std::memcmp(elsewhere.data(), &content_[3], 100), 0);
}

// ------------------------------------------------------------------------------------ access flags

constexpr cl_mem_flags kAccess[] = {CL_MEM_READ_WRITE,
                                    CL_MEM_READ_ONLY,
                                    CL_MEM_WRITE_ONLY,
                                    CL_MEM_HOST_NO_ACCESS,
                                    CL_MEM_HOST_WRITE_ONLY,
                                    CL_MEM_HOST_READ_ONLY,
                                    CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS};

class OpenClAccess : public OpenClMemory {
 protected:
  // The layouts: a run, a rectangle, a volume, rows that need one call each.
  struct Shape {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    uint64_t offset;
  };
  static std::vector<Shape> Shapes() {
    return {
        {{1000}, {1}, 3},           {{6, 8}, {20, 1}, 5}, {{3, 4, 5}, {100, 10, 1}, 7},
        {{50, 40}, {-40, 1}, 4000}, {{6, 8}, {20, 2}, 0}, {{3, 4, 5, 6}, {4000, 700, 100, 10}, 9}};
  }

  static int64_t CountOf(const Shape& shape) {
    int64_t count = 1;
    for (const int64_t extent : shape.shape) {
      count *= extent;
    }
    return count;
  }

  static DLTensor TensorOf(void* data, DLDevice device, const Shape& shape) {
    return {data,
            device,
            static_cast<int32_t>(shape.shape.size()),
            {kDLUInt, 8, 1},
            const_cast<int64_t*>(shape.shape.data()),
            const_cast<int64_t*>(shape.strides.data()),
            shape.offset};
  }

  Bytes Expected(const Shape& shape) const {
    Bytes bytes;
    std::vector<int64_t> index(shape.shape.size());
    for (int64_t n = 0; n < CountOf(shape); ++n) {
      int64_t rest = n;
      int64_t place = static_cast<int64_t>(shape.offset);
      for (size_t axis = shape.shape.size(); axis-- > 0;) {
        place += rest % shape.shape[axis] * shape.strides[axis];
        rest /= shape.shape[axis];
      }
      bytes.push_back(content_[static_cast<size_t>(place)]);
    }
    return bytes;
  }

  // By the driver's own copy, which no access flag concerns.
  cl_mem Filled(cl_mem_flags flags) {
    cl_mem mem = MakeBufferOf(context_, flags, kSize, nullptr);
    EXPECT_EQ(CL(clEnqueueCopyBuffer)(reader_, Parent(), mem, 0, 0, kSize, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(CL(clFinish)(reader_), CL_SUCCESS);
    return mem;
  }
  Bytes ReadAny(cl_mem mem) {
    cl_mem plain = MakeBuffer(context_, kSize);
    EXPECT_EQ(CL(clEnqueueCopyBuffer)(reader_, mem, plain, 0, 0, kSize, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(CL(clFinish)(reader_), CL_SUCCESS);
    return Read(plain);
  }

  std::vector<DLBridgeStream> Streams() {
    DLBridgeStream none = {};
    return {none, dlbridge_stream_opencl(MakeQueue(context_), Label()),
            dlbridge_stream_opencl(MakeQueue(context_, true), Label())};
  }
};

TEST_F(OpenClAccess, EveryBufferIsCopiedToTheHost) {
  const std::vector<DLBridgeStream> streams = Streams();
  for (const cl_mem_flags flags : kAccess) {
    cl_mem mem = Filled(flags);
    for (cl_mem handle : {mem, MakeSubBuffer(mem, 0, kSize)}) {
      for (const Shape& shape : Shapes()) {
        for (const DLBridgeStream& stream : streams) {
          Bytes host(kSize);
          Error error;
          EXPECT_EQ(Copy(TensorOf(handle, Label(), shape), {kDLCPU, 0},
                         dlbridge_buffer_address(host.data()), 0, stream, &error),
                    DLBRIDGE_OK)
              << flags << ": " << error.message;
          host.resize(static_cast<size_t>(CountOf(shape)));
          EXPECT_EQ(host, Expected(shape)) << flags;
        }
      }
    }
  }
  ExpectNothingLive();
}

TEST_F(OpenClAccess, EveryBufferIsCopiedFromTheHost) {
  const std::vector<DLBridgeStream> streams = Streams();
  for (const cl_mem_flags flags : kAccess) {
    for (const Shape& shape : Shapes()) {
      for (const DLBridgeStream& stream : streams) {
        cl_mem mem = Filled(flags);
        Error error;
        EXPECT_EQ(Copy(TensorOf(content_.data(), {kDLCPU, 0}, shape), Label(),
                       dlbridge_buffer_cl_mem(mem, nullptr), 11, stream, &error),
                  DLBRIDGE_OK)
            << flags << ": " << error.message;
        const Bytes bytes = Expected(shape);
        Bytes expected = content_;
        std::memcpy(&expected[11], bytes.data(), bytes.size());
        EXPECT_EQ(ReadAny(mem), expected) << flags;
      }
    }
  }
  ExpectNothingLive();
}

// The temporary buffer is used only where the driver rejects the host's access.
TEST_F(OpenClAccess, ATemporaryBufferIsUsedWhereItIsNeeded) {
  struct Case {
    cl_mem_flags flags;
    bool through_up;
    bool through_down;
  };
  for (const Case& one :
       {Case{CL_MEM_READ_ONLY, false, false}, Case{CL_MEM_HOST_NO_ACCESS, true, true},
        Case{CL_MEM_HOST_WRITE_ONLY, false, true}, Case{CL_MEM_HOST_READ_ONLY, true, false}}) {
    cl_mem mem = Filled(one.flags);
    Bytes host = content_;
    int64_t count = 1000;
    SHIM(shim_reset)();
    Error error;
    EXPECT_EQ(Copy(Line(mem, Label(), 0, &count), {kDLCPU, 0}, dlbridge_buffer_address(host.data()),
                   0, {}, &error),
              DLBRIDGE_OK);
    EXPECT_EQ(Calls().find("clCreateBuffer") != std::string::npos, one.through_down);
    SHIM(shim_reset)();
    EXPECT_EQ(Copy(Line(host.data(), {kDLCPU, 0}, 0, &count), Label(),
                   dlbridge_buffer_cl_mem(mem, nullptr), 0, {}, &error),
              DLBRIDGE_OK);
    EXPECT_EQ(Calls().find("clCreateBuffer") != std::string::npos, one.through_up);
  }
}

// 4096 rows of one byte: as many copies each way, but few temporary buffers.
TEST_F(OpenClAccess, ManyRowsShareATemporaryBuffer) {
  cl_mem mem = Filled(CL_MEM_HOST_NO_ACCESS);
  const Shape backwards = {{4096}, {-2}, 8190};
  Bytes host(kSize);
  SHIM(shim_reset)();
  Error error;
  EXPECT_EQ(Copy(TensorOf(mem, Label(), backwards), {kDLCPU, 0},
                 dlbridge_buffer_address(host.data()), 0, {}, &error),
            DLBRIDGE_OK)
      << error.message;
  host.resize(4096);
  EXPECT_EQ(host, Expected(backwards));
  const std::string calls = Calls();
  EXPECT_EQ(calls.find("clCreateBuffer"), calls.rfind("clCreateBuffer"));
}

TEST_F(OpenClAccess, EachCallThatFailsIsReportedAndLeaksNothing) {
  cl_mem mem = Filled(CL_MEM_HOST_NO_ACCESS);
  Bytes host(kSize);
  int64_t count = 1000;
  for (const char* function : {"clCreateBuffer", "clEnqueueCopyBuffer", "clEnqueueReadBuffer"}) {
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, 1);
    Error error;
    EXPECT_EQ(Copy(Line(mem, Label(), 0, &count), {kDLCPU, 0}, dlbridge_buffer_address(host.data()),
                   0, {}, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
    ExpectNothingLive();
  }
}

// ------------------------------------------------------------------------------------------- wrap

class OpenClWrap : public World {
 protected:
  DLDevice Label() const { return {kDLOpenCL, IndexOf(device_)}; }

  static DLBridgeStatus Wrap(const DLBridgeBuffer& buffer, DLDevice device, uint64_t flags,
                             uint32_t options, DLManagedTensorVersioned** out, Error* error) {
    const int64_t count = 16;
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.options = options;
    spec.shape = &count;
    spec.ndim = 1;
    spec.buffer = buffer;
    spec.device = device;
    spec.dtype = {kDLFloat, 32, 1};
    spec.tensor_flags = flags;
    *out = nullptr;
    return dlbridge_wrap(&spec, out, error);
  }

  static cl_uint MemReferences(cl_mem mem) {
    return References(mem, CL(clGetMemObjectInfo), CL_MEM_REFERENCE_COUNT);
  }
};

// The driver confirms the context, and the reference to the buffer keeps it.
TEST_F(OpenClWrap, AContextThatIsNotRegisteredIsAccepted) {
  cl_mem mem = MakeBuffer(context_, 64);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  ASSERT_EQ(Wrap(dlbridge_buffer_cl_mem(mem, context_), Label(), 0, 0, &tensor, &error),
            DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(MemReferences(mem), 2U);
  cl_context found = nullptr;
  EXPECT_EQ(CL(clGetMemObjectInfo)(static_cast<cl_mem>(tensor->dl_tensor.data), CL_MEM_CONTEXT,
                                   sizeof(cl_context), &found, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(found, context_);
  tensor->deleter(tensor);
  EXPECT_EQ(MemReferences(mem), 1U);
  ExpectNothingLive();
}

TEST_F(OpenClWrap, ARegisteredContextIsRetainedByItsEntry) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl(Label(), platform_, device_, context_, nullptr);
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  ASSERT_EQ(Wrap(dlbridge_buffer_cl_mem(mem, context_), Label(), 0, 0, &tensor, &error),
            DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(MemReferences(mem), 1U);
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  tensor->deleter(tensor);
}

TEST_F(OpenClWrap, AnotherContextIsRejected) {
  cl_mem mem = MakeBuffer(context_, 64);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  EXPECT_EQ(Wrap(dlbridge_buffer_cl_mem(mem, MakeContext()), Label(), 0, 0, &tensor, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("is not the context of this cl_mem"), std::string::npos)
      << error.message;
  EXPECT_EQ(MemReferences(mem), 1U);
  // Without a cl_mem no driver can confirm the context.
  EXPECT_EQ(Wrap(dlbridge_buffer_cl_mem(nullptr, context_), Label(), 0, 0, &tensor, &error),
            DLBRIDGE_ERROR_INVALID_TENSOR);
}

TEST_F(OpenClWrap, AnUnknownDeviceIsRejectedWhereTheDriverIsAsked) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLDevice unknown = {kDLOpenCL, static_cast<int32_t>(devices_.size()) + 4};
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  for (cl_context context : {static_cast<cl_context>(nullptr), context_}) {
    EXPECT_EQ(Wrap(dlbridge_buffer_cl_mem(mem, context), unknown, 0, DLBRIDGE_WRAP_RETAIN, &tensor,
                   &error),
              DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
  }
  EXPECT_EQ(MemReferences(mem), 1U);
  SHIM(shim_reset)();
  ASSERT_EQ(Wrap(dlbridge_buffer_cl_mem(mem, nullptr), unknown, 0, 0, &tensor, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(Calls(), "");
  tensor->deleter(tensor);
}

// As a wrapped tensor of the memory, the copy must not permit kernels to write.
TEST_F(OpenClMemory, TheCopyToAReadOnlyBufferIsReadOnly) {
  int64_t count = 1000;
  const DLTensor source = Line(Parent(), Label(), 0, &count);
  DLManagedTensorVersioned* held = nullptr;
  DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
  wrap.buffer = dlbridge_buffer_cl_mem(static_cast<cl_mem>(source.data), nullptr);
  wrap.device = Label();
  wrap.dtype = source.dtype;
  wrap.ndim = 1;
  wrap.shape = &count;
  Error error;
  ASSERT_EQ(dlbridge_wrap(&wrap, &held, &error), DLBRIDGE_OK) << error.message;
  for (const cl_mem_flags flags : {CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY}) {
    cl_mem target = MakeBufferOf(context_, flags, kSize, nullptr);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.device = Label();
    spec.target = dlbridge_buffer_cl_mem(target, nullptr);
    spec.target_size = kSize;
    spec.stream = dlbridge_stream_opencl(reader_, Label());
    const uint64_t read_only =
        flags == CL_MEM_READ_ONLY ? uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY} : 0;
    for (const bool async : {false, true}) {
      DLManagedTensorVersioned* copy = nullptr;
      ASSERT_EQ(async ? dlbridge_copy_async(held, &spec, &copy, &error)
                      : dlbridge_copy(&source, 0, &spec, &copy, &error),
                DLBRIDGE_OK)
          << error.message;
      EXPECT_EQ(copy->flags, DLPACK_FLAG_BITMASK_IS_COPIED | read_only);
      // A share, and level DEVICE, see it as well.
      DLManagedTensorVersioned* share = nullptr;
      ASSERT_EQ(dlbridge_share(copy, &share, &error), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(share->flags, copy->flags);
      DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
      policy.level = DLBRIDGE_LEVEL_DEVICE;
      EXPECT_EQ(dlbridge_validate_versioned(copy, &policy, &error), DLBRIDGE_OK) << error.message;
      share->deleter(share);
      copy->deleter(copy);
      EXPECT_EQ(dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, &error), DLBRIDGE_OK);
    }
  }
  held->deleter(held);
}

TEST_F(OpenClMemory, TheTargetIsChecked) {
  int64_t count = 1000;
  const DLTensor source = Line(Parent(), Label(), 0, &count);
  cl_mem target = MakeBuffer(context_, kSize);
  Error error;
  cl_context other = MakeContext();
  EXPECT_EQ(Copy(source, Label(), dlbridge_buffer_cl_mem(target, other), 0, {}, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("spec.target.context is not the context"),
            std::string::npos)
      << error.message;
  EXPECT_EQ(Copy(source, Label(), dlbridge_buffer_cl_mem(target, context_), 0, {}, &error),
            DLBRIDGE_OK)
      << error.message;
  const DLDevice unknown = {kDLOpenCL, static_cast<int32_t>(devices_.size()) + 4};
  EXPECT_EQ(Copy(source, unknown, dlbridge_buffer_cl_mem(target, nullptr), 0, {}, &error),
            DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
}

TEST_F(OpenClWrap, ALabelThatTheApplicationRegisteredTakesPrecedence) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLDevice label = {kDLOpenCL, static_cast<int32_t>(devices_.size()) + 4};
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl(label, platform_, device_, context_, nullptr);
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  ASSERT_EQ(
      Wrap(dlbridge_buffer_cl_mem(mem, nullptr), label, 0, DLBRIDGE_WRAP_RETAIN, &tensor, &error),
      DLBRIDGE_OK)
      << error.message;
  tensor->deleter(tensor);
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
}

TEST_F(OpenClWrap, AWritableTensorOfAReadOnlyBufferIsRejectedWhereTheDriverIsAsked) {
  cl_mem mem = MakeBufferOf(context_, CL_MEM_READ_ONLY, 64, nullptr);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(mem, nullptr);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  EXPECT_EQ(Wrap(buffer, Label(), 0, DLBRIDGE_WRAP_RETAIN, &tensor, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message)
                .find("must have READ_ONLY: the cl_mem was created with "
                      "CL_MEM_READ_ONLY"),
            std::string::npos)
      << error.message;
  EXPECT_EQ(MemReferences(mem), 1U);
  for (const uint64_t flags : {uint64_t{0}, uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY}}) {
    const uint32_t options = flags != 0 ? DLBRIDGE_WRAP_RETAIN : 0;
    SHIM(shim_reset)();
    ASSERT_EQ(Wrap(buffer, Label(), flags, options, &tensor, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Calls().empty(), flags == 0);  // no driver is asked without RETAIN or a context
    tensor->deleter(tensor);
  }
  EXPECT_EQ(MemReferences(mem), 1U);
}

}  // namespace
}  // namespace dlbridge_test
