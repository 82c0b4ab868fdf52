// SPDX-License-Identifier: Apache-2.0
// Copies and releases ordered by real queues. A user event that the test sets holds back the work.
#include "opencl_tensor_device.h"
#include "pending_checks.h"

namespace dlbridge_test {
namespace {

// Holds back everything enqueued on one queue after Close.
class UserEventGate final : public Gate {
 public:
  UserEventGate(cl_context context, cl_command_queue queue) : context_(context), queue_(queue) {}
  UserEventGate(const UserEventGate&) = delete;
  UserEventGate& operator=(const UserEventGate&) = delete;
  ~UserEventGate() override { EXPECT_EQ(event_, nullptr) << "the gate is still closed"; }

  DLBridgeStream Close() override {
    cl_int code = CL_SUCCESS;
    event_ = CL(clCreateUserEvent)(context_, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    EXPECT_EQ(CL(clEnqueueBarrierWithWaitList)(queue_, 1, &event_, nullptr), CL_SUCCESS);
    return dlbridge_stream_opencl(queue_, {kDLOpenCL, 0});
  }
  void Open() override {
    EXPECT_EQ(CL(clSetUserEventStatus)(event_, CL_COMPLETE), CL_SUCCESS);
    EXPECT_EQ(CL(clReleaseEvent)(event_), CL_SUCCESS);
    event_ = nullptr;
  }

 private:
  cl_context context_;
  cl_command_queue queue_;
  cl_event event_ = nullptr;
};

class OpenClPending : public World {
 protected:
  DLDevice Label() const { return {kDLOpenCL, IndexOf(device_)}; }
  HostMemory host_;
};

TEST_F(OpenClPending, ReleasesAfterTheWork) {
  for (const bool out_of_order : {false, true}) {
    UserEventGate gate(context_, MakeQueue(context_, out_of_order));
    CheckRelease(&gate);
  }
  ExpectNothingLive();
}

TEST_F(OpenClPending, ReleasesAfterTwoQueues) {
  UserEventGate first(context_, MakeQueue(context_));
  UserEventGate second(context_, MakeQueue(context_, true));
  CheckTwoStreams(&first, &second);
  UserEventGate third(context_, MakeQueue(context_));
  UserEventGate fourth(context_, MakeQueue(context_));
  CheckTwoStreams(&third, &fourth);
  ExpectNothingLive();
}

TEST_F(OpenClPending, PassesTheStreamToTheCallback) {
  cl_command_queue queue = MakeQueue(context_);
  UserEventGate gate(context_, queue);
  OpenClBuffers device(Label(), context_, queue, MakeQueue(context_));
  CheckReleaseOnStream(&device, &gate);
  ExpectNothingLive();
}

TEST_F(OpenClPending, CopiesOnTheQueue) {
  for (const bool out_of_order : {false, true}) {
    cl_command_queue queue = MakeQueue(context_, out_of_order);
    UserEventGate gate(context_, queue);
    OpenClBuffers device(Label(), context_, queue, MakeQueue(context_));
    CheckAsyncCopies(&host_, &device, &gate);
    CheckAsyncCopies(&device, &host_, &gate);
    CheckAsyncCopies(&device, &device, &gate);
    CheckAsyncRefusals(&device, &gate);
  }
  ExpectNothingLive();
}

TEST_F(OpenClPending, AQueueOfAnotherDriver) {
  OpenClBuffers device(Label(), context_, MakeQueue(context_), MakeQueue(context_));
  const DLBridgeBuffer buffer = device.Allocate(64);
  Releases releases;
  DLManagedTensorVersioned* tensor = WrapBuffer(buffer, Label(), {16}, &releases);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = {DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, {kDLCUDA, 0}, 4096, 0, 0};
  DLManagedTensorVersioned* copy = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_copy_async(tensor, &spec, &copy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("spec.stream.backend must be NONE (0) or OpenCL (5)")) << error.message;
  tensor->deleter(tensor);
  device.Free(buffer);
  ExpectNothingLive();
}

// The library copies in the parent, where the driver does not know the end of the sub-buffer.
TEST_F(OpenClPending, ACopyDoesNotLeaveItsSubBuffer) {
  constexpr size_t kParent = 4096;
  constexpr size_t kPart = 1024;
  cl_mem parent = MakeBuffer(context_, kParent);
  const cl_buffer_region region = {kPart, kPart};
  cl_int code = CL_SUCCESS;
  cl_mem part = CL(clCreateSubBuffer)(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  Releases releases;
  std::vector<float> host(kParent / sizeof(float));
  for (const bool async : {false, true}) {
    for (const bool down : {false, true}) {
      const DLBridgeBuffer device = dlbridge_buffer_cl_mem(part, nullptr);
      DLManagedTensorVersioned* source = down
                                             ? WrapBuffer(device, Label(), {kParent / 4}, &releases)
                                             : WrapBuffer(dlbridge_buffer_address(host.data()),
                                                          {kDLCPU, 0}, {kParent / 4}, &releases);
      DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
      spec.device = down ? DLDevice{kDLCPU, 0} : Label();
      spec.target = down ? dlbridge_buffer_address(host.data()) : device;
      spec.target_size = kParent;
      spec.stream = dlbridge_stream_opencl(MakeQueue(context_), Label());
      DLManagedTensorVersioned* copy = nullptr;
      Error error;
      EXPECT_EQ(async ? dlbridge_copy_async(source, &spec, &copy, &error)
                      : dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, &error),
                DLBRIDGE_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(error.Says("leaves its sub-buffer")) << error.message;
      EXPECT_TRUE(error.Says(down ? "source" : "spec.target")) << error.message;
      source->deleter(source);
    }
  }
  EXPECT_EQ(CL(clReleaseMemObject)(part), CL_SUCCESS);
  ExpectNothingLive();
}

TEST_F(OpenClPending, MarksThatFail) {
  cl_command_queue queue = MakeQueue(context_);
  UserEventGate gate(context_, queue);
  OpenClBuffers device(Label(), context_, queue, MakeQueue(context_));
  CheckMarksThatFail(&device, &gate, {"clEnqueueMarkerWithWaitList", "clFlush"});
  ExpectNothingLive();
}

TEST_F(OpenClPending, DeletersCallBack) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckDeletersThatCallBack(&gate);
  ExpectNothingLive();
}

TEST_F(OpenClPending, ManyDeletersWait) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckManyDeletersThatWait(&gate);
  ExpectNothingLive();
}

TEST_F(OpenClPending, DeletersDoNotRunInsideOthers) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckDepthOfDeleters(&gate, 1000);
  ExpectNothingLive();
}

TEST_F(OpenClPending, WaitsBesideOtherThreads) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckWaitBesideOthers(&gate, 50);
  ExpectNothingLive();
}

// The callback frees memory of the host on no queue of OpenCL: it is called when the work is over.
TEST_F(OpenClPending, PassesNoStreamOfAnotherBackend) {
  UserEventGate gate(context_, MakeQueue(context_));
  const DLBridgeStream stream = gate.Close();
  Releases releases;
  float memory[4] = {};
  DLManagedTensorVersioned* tensor = WrapBuffer(dlbridge_buffer_address(memory), {kDLCUDA, 0}, {4},
                                                &releases, DLBRIDGE_WRAP_RELEASE_ON_STREAM);
  Error error;
  ASSERT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {stream}, &error), DLBRIDGE_OK);
  EXPECT_EQ(releases.count, 0);
  gate.Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(releases.count, 1);
  EXPECT_FALSE(releases.had_stream);
  ExpectNothingLive();
}

TEST_F(OpenClPending, AForkInADeleter) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckForkInADeleter(&gate);
  ExpectNothingLive();
}

TEST_F(OpenClPending, AForkedChild) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckForkedChild(&gate);
  ExpectNothingLive();
}

TEST_F(OpenClPending, ManyThreads) {
  UserEventGate gate(context_, MakeQueue(context_));
  CheckThreads(&gate, 4, 200);
  ExpectNothingLive();
}

// What a consumer does wrong that launches a kernel and releases the tensor before it has run: the
// producer uses its memory again, here by filling it with 0xDD, and the kernel reads that.
class EarlyRelease : public OpenClPending {
 protected:
  static constexpr size_t kBytes = 256;

  // A host tensor of ones whose deleter reuses the memory.
  DLManagedTensorVersioned* Lend() {
    memory_.assign(kBytes, 1);
    auto* tensor = new DLManagedTensorVersioned{};
    tensor->version = {1, 3};
    tensor->dl_tensor = {memory_.data(), {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &shape_, &stride_, 0};
    tensor->manager_ctx = this;
    tensor->deleter = [](DLManagedTensorVersioned* self) {
      static_cast<EarlyRelease*>(self->manager_ctx)->memory_.assign(kBytes, 0xDD);
      delete self;
    };
    return tensor;
  }

  // Enqueues a read of the tensor, releases it, lets the queue run, and returns what it read.
  template <class Release>
  std::vector<unsigned char> Consume(Release release) {
    cl_command_queue queue = MakeQueue(context_);
    cl_mem mem = MakeBuffer(context_, kBytes);
    UserEventGate gate(context_, queue);
    const DLBridgeStream stream = gate.Close();
    DLManagedTensorVersioned* tensor = Lend();
    EXPECT_EQ(CL(clEnqueueWriteBuffer)(queue, mem, CL_FALSE, 0, kBytes, tensor->dl_tensor.data, 0,
                                       nullptr, nullptr),
              CL_SUCCESS);
    release(tensor, stream);
    gate.Open();
    std::vector<unsigned char> seen(kBytes);
    EXPECT_EQ(
        CL(clEnqueueReadBuffer)(queue, mem, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    EXPECT_EQ(memory_[0], 0xDD) << "the tensor was released in the end";
    return seen;
  }

 private:
  std::vector<unsigned char> memory_;
  int64_t shape_ = kBytes;
  int64_t stride_ = 1;
};

TEST_F(EarlyRelease, ReadsMemoryThatTheProducerUsesAgain) {
  EXPECT_EQ(Consume([](DLManagedTensorVersioned* tensor, const DLBridgeStream& /*stream*/) {
              dlbridge_release_versioned(tensor);
            }),
            std::vector<unsigned char>(kBytes, 0xDD));
}

TEST_F(EarlyRelease, IsHarmlessAfterTheStream) {
  EXPECT_EQ(
      Consume([](DLManagedTensorVersioned* tensor, const DLBridgeStream& stream) {
        Error error;
        EXPECT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {stream}, &error), DLBRIDGE_OK)
            << error.message;
      }),
      std::vector<unsigned char>(kBytes, 1));
}

}  // namespace
}  // namespace dlbridge_test
