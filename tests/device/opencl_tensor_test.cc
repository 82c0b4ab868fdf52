// SPDX-License-Identifier: Apache-2.0
// Tensors on a real OpenCL driver through the C ABI: buffers as kDLOpenCL, USM as kDLOneAPI.
#include "opencl_tensor_device.h"
#include "support/ipc.h"
#include "table_checks.h"

namespace dlbridge_test {
namespace {

class OpenClTensor : public World {
 protected:
  DLDevice Label() const { return {kDLOpenCL, IndexOf(device_)}; }

  OpenClBuffers Buffers(cl_context context) {
    return {Label(), context, MakeQueue(context, true), MakeQueue(context)};
  }

  HostMemory host_;
};

TEST_F(OpenClTensor, FromTheHost) {
  OpenClBuffers device = Buffers(context_);
  CheckCopies(&host_, &device);
  ExpectNothingLive();
}

TEST_F(OpenClTensor, ToTheHost) {
  OpenClBuffers device = Buffers(context_);
  CheckCopies(&device, &host_);
  ExpectNothingLive();
}

TEST_F(OpenClTensor, InAContext) {
  OpenClBuffers device = Buffers(context_);
  CheckCopies(&device, &device);
  ExpectNothingLive();
}

// A queue that cannot carry out the copy is waited for if staging is allowed.
TEST_F(OpenClTensor, AQueueOfAnotherContext) {
  OpenClBuffers device = Buffers(context_);
  cl_context context = MakeContext();
  CopyWay way;
  way.stream = dlbridge_stream_opencl(MakeQueue(context), Label());
  for (const bool up : {false, true}) {
    TensorDevice* from = up ? static_cast<TensorDevice*>(&host_) : &device;
    TensorDevice* to = up ? static_cast<TensorDevice*>(&device) : &host_;
    const TensorSource source(from, {"a rectangle", {6, 8}, {20, 1}, 0}, kFloats);
    ExpectRefusal(source, to, way, DLBRIDGE_ERROR_UNSUPPORTED, "another cl_context");
    ExpectStaged(source, to, way);
  }
  ExpectNothingLive();
}

// OpenCL copies between two contexts only through the host, whatever the layout and the queue.
TEST_F(OpenClTensor, BetweenTwoContexts) {
  OpenClBuffers one = Buffers(context_);
  OpenClBuffers other = Buffers(MakeContext());
  for (const TensorLayout& layout : DirectLayouts()) {
    const TensorSource source(&one, layout, kFloats);
    ForEachWay(&one, &other, [&](const CopyWay& way) { ExpectStaged(source, &other, way); });
  }
  const TensorSource many(&one, {"5000 backwards", {5000}, {-1}, 4999}, kFloats);
  ForEachWay(&one, &other, [&](const CopyWay& way) { ExpectStaged(many, &other, way); });
  ExpectNothingLive();
}

// If clFinish fails without waiting, the device may still use host memory that is freed. So this is
// tested between buffers only, which the driver keeps.
TEST_F(OpenClTensor, CallsThatFail) {
  OpenClBuffers device = Buffers(context_);
  CheckFailures(&host_, &device, &device, {"clGetMemObjectInfo", "clEnqueueWriteBufferRect"});
  CheckFailures(&device, &host_, &device, {"clEnqueueReadBufferRect"});
  CheckFailures(&device, &device, &device, {"clEnqueueCopyBufferRect", "clFinish"});
  CheckFailuresOfStaging(&device, &device, &device,
                         {"clEnqueueReadBuffer", "clEnqueueWriteBuffer"});
  ExpectNothingLive();
}

// USM as kDLOneAPI, with a context that the application registered, as for SYCL.
class OpenClUsmTensor : public OpenClTensor {
 protected:
  void SetUp() override {
    OpenClTensor::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!HasUsm(platform_)) {
      GTEST_SKIP() << "the driver has no USM";
    }
    const DLBridgeContextEntry entry =
        dlbridge_context_entry_opencl({kDLOneAPI, 0}, platform_, device_, context_, nullptr);
    Error error;
    ASSERT_EQ(dlbridge_context_register(&entry, &entry_, &error), DLBRIDGE_OK) << error.message;
  }
  void TearDown() override {
    if (entry_ != 0) {
      ExpectNothingLive();
      EXPECT_EQ(dlbridge_context_unregister(entry_, nullptr), DLBRIDGE_OK);
    }
    OpenClTensor::TearDown();
  }

  OpenClUsm Usm() {
    return {platform_,          device_, {kDLOneAPI, 0}, context_, MakeQueue(context_, true),
            MakeQueue(context_)};
  }

 private:
  uint64_t entry_ = 0;
};

TEST_F(OpenClUsmTensor, FromTheHost) {
  OpenClUsm device = Usm();
  CheckCopies(&host_, &device);
}

TEST_F(OpenClUsmTensor, ToTheHost) {
  OpenClUsm device = Usm();
  CheckCopies(&device, &host_);
}

TEST_F(OpenClUsmTensor, InADevice) {
  OpenClUsm device = Usm();
  CheckCopies(&device, &device);
}

// A copy between a buffer and USM of one context is staged through the host.
TEST_F(OpenClUsmTensor, FromAndToABuffer) {
  OpenClUsm usm = Usm();
  OpenClBuffers buffers = Buffers(context_);
  const TensorLayout rectangle = {"a rectangle", {6, 8}, {20, 1}, 0};
  const TensorSource up(&buffers, rectangle, kFloats);
  const TensorSource down(&usm, rectangle, kFloats);
  ForEachWay(&usm, &buffers, [&](const CopyWay& way) {
    ExpectStaged(up, &usm, way);
    ExpectStaged(down, &buffers, way);
  });
}

TEST_F(OpenClUsmTensor, CallsThatFail) {
  OpenClUsm device = Usm();
  CheckFailures(&host_, &device, &device, {"clGetMemAllocInfoINTEL", "clEnqueueMemcpyINTEL"});
  CheckFailures(&device, &host_, &device, {"clEnqueueMemcpyINTEL"});
}

TEST_F(OpenClTensor, DevicesInTheTable) {
  CheckEnumeration(DLBRIDGE_BACKEND_OPENCL, kDLOpenCL, static_cast<int32_t>(devices_.size()), {});
}

TEST_F(OpenClTensor, TheContextInTheTable) {
  DLBridgeContextEntry entry;
  ASSERT_EQ(LookUp(Label(), 0, &entry), DLBRIDGE_OK);
  OpenClBuffers device = Buffers(dlbridge_opencl_context(&entry));
  DLBridgeBuffer memory = device.Allocate(64);
  memory.context = entry.context;
  CheckEnumeratedContext(Label(), memory);
  device.Free(memory);
}

TEST_F(OpenClTensor, AContextThatIsRegistered) {
  OpenClBuffers device = Buffers(context_);
  const DLBridgeBuffer memory = device.Allocate(64);
  CheckContextIsKept(dlbridge_context_entry_opencl(Label(), platform_, device_, context_, nullptr),
                     memory);
  device.Free(memory);
}

TEST_F(OpenClTensor, IsNotSharedBetweenProcesses) {
  OpenClBuffers device = Buffers(context_);
  DLBridgeBuffer memory = device.Allocate(64);
  int released = 0;
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(WrapWithContext(Label(), memory, &released, &tensor, &error), DLBRIDGE_OK)
      << error.message;
  uint8_t bytes[kIpcBytes];
  size_t length = 0;
  size_t fds = 0;
  EXPECT_EQ(IpcExport(tensor, 0, {bytes, sizeof bytes, nullptr, 0}, &length, &fds, &error),
            DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("DLBRIDGE_COPY_SHAREABLE"), std::string::npos)
      << error.message;
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
  device.Free(memory);
}

}  // namespace
}  // namespace dlbridge_test
