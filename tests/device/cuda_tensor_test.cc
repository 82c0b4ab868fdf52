// SPDX-License-Identifier: Apache-2.0
// CUDA tensors through the C ABI: copies, and contexts of the table.
#include "cuda_tensor_device.h"
#include "table_checks.h"

namespace dlbridge_test {
namespace {

class CudaTensor : public CudaTest {
 protected:
  HostMemory host_;
};

TEST_F(CudaTensor, FromTheHost) {
  CudaDevice device(1);
  CheckCopies(&host_, &device);
}

TEST_F(CudaTensor, ToTheHost) {
  CudaDevice device(1);
  CheckCopies(&device, &host_);
}

TEST_F(CudaTensor, InADevice) {
  CudaDevice device(0);
  CheckCopies(&device, &device);
}

TEST_F(CudaTensor, BetweenTwoDevices) {
  CudaDevice one(0);
  CudaDevice other(1);
  CheckCopies(&one, &other);
}

TEST_F(CudaTensor, CallsThatFail) {
  CudaDevice device(0);
  CheckFailures(&host_, &device, &device,
                {"cuStreamCreate", "cuMemcpy2DAsync_v2", "cuStreamSynchronize"});
  CheckFailures(&device, &host_, &device,
                {"cuPointerGetAttributes", "cuMemcpy2DAsync_v2", "cuStreamDestroy_v2"});
  CheckFailures(&device, &device, &device, {"cuMemcpyDtoDAsync_v2", "cuMemcpy2DAsync_v2"});
}

TEST_F(CudaTensor, CallsThatFailOnTheWayThroughTheHost) {
  CudaDevice device(0);
  CheckFailuresOfStaging(&device, &device, &device,
                         {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize",
                          "cuStreamCreate", "cuStreamDestroy_v2"});
}

// The driver may still write to the copy if waiting for it fails. Its memory must stay mapped: the
// work that is left would end the process.
TEST_F(CudaTensor, AWaitThatFailsKeepsTheMemoryOfTheCopy) {
  CudaDevice device(0);
  const DLBridgeBuffer memory = device.Allocate(4096);
  const int64_t shape = 1024;
  DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
  wrap.buffer = memory;
  wrap.device = device.label();
  wrap.dtype = kFloats.dtype;
  wrap.ndim = 1;
  wrap.shape = &shape;
  DLManagedTensorVersioned* source = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_wrap(&wrap, &source, &error), DLBRIDGE_OK) << error.message;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = device.stream();
  DLManagedTensorVersioned* copy = nullptr;
  for (const uint32_t options : {uint32_t{DLBRIDGE_COPY_SHAREABLE}, uint32_t{0}}) {
    spec.options = options;
    fake_cuda_fail("cuStreamSynchronize", CUDA_ERROR_OUT_OF_MEMORY, 1);
    EXPECT_EQ(dlbridge_copy(&source->dl_tensor, 0, &spec, &copy, &error), DLBRIDGE_ERROR_DRIVER);
    fake_cuda_run();
    fake_cuda_fail("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY, 1);
    fake_cuda_fail("cuStreamSynchronize", CUDA_ERROR_OUT_OF_MEMORY, 1);
    EXPECT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_ERROR_DRIVER);
    fake_cuda_run();
  }
  EXPECT_EQ(copy, nullptr);
  source->deleter(source);
  device.Free(memory);
}

TEST_F(CudaTensor, AStreamThatCaptures) {
  CudaDevice device(0);
  const Current current(device.context());
  EXPECT_CUDA(cuStreamBeginCapture(device.native_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
  CheckCapture(&device);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(device.native_stream(), &graph))
      << "the capture was not disturbed";
}

// Work on the caller's stream comes before the copy.
TEST_F(CudaTensor, AfterTheWorkOnTheStream) {
  CudaDevice device(0);
  const TensorBytes before(48, 1);
  const TensorBytes after(48, 2);
  const DLBridgeBuffer memory = device.Allocate(before.size());
  device.Fill(memory, before);
  {
    const Current current(device.context());
    EXPECT_CUDA(cuMemcpyHtoDAsync(dlbridge_cuda_address(memory), after.data(), after.size(),
                                  device.native_stream()));
  }
  int64_t shape[] = {12};
  DLTensor tensor = {};
  tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(memory.handle));
  tensor.device = device.label();
  tensor.ndim = 1;
  tensor.dtype = kFloats.dtype;
  tensor.shape = shape;
  int64_t strides[] = {1};
  tensor.strides = strides;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = device.stream();
  Error error;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy(&tensor, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(std::memcmp(copy->dl_tensor.data, after.data(), after.size()), 0);
  copy->deleter(copy);
  device.Free(memory);
}

// Entries without a context stand for the primary context, which a lookup does not retain.
TEST_F(CudaTensor, DevicesInTheTable) {
  CheckEnumeration(DLBRIDGE_BACKEND_CUDA, kDLCUDA, 2, {kDLCUDAHost, kDLCUDAManaged});
  DLBridgeContextEntry one;
  DLBridgeContextEntry other;
  ASSERT_EQ(LookUp({kDLCUDA, 0}, 0, &one), DLBRIDGE_OK);
  ASSERT_EQ(LookUp({kDLCUDA, 1}, 0, &other), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_cuda_context(&one), nullptr);
  EXPECT_EQ(dlbridge_cuda_ordinal(&other), 1);
  const uint8_t none[16] = {};
  EXPECT_NE(std::memcmp(one.uuid, none, sizeof none), 0);
  EXPECT_NE(std::memcmp(one.uuid, other.uuid, sizeof one.uuid), 0);
  EXPECT_EQ(Counts().primary_retained, before_.primary_retained);
}

TEST_F(CudaTensor, AContextThatIsRegistered) {
  CudaDevice device(0);
  const DLBridgeBuffer memory = device.Allocate(64);
  CheckContextIsKept(dlbridge_context_entry_cuda(0, device.context(), device.native_stream()),
                     memory);
  device.Free(memory);
}

}  // namespace
}  // namespace dlbridge_test
