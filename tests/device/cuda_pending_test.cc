// SPDX-License-Identifier: Apache-2.0
// Copies and releases ordered by CUDA streams. The fake driver runs the work of a stream only when
// something waits for it, so the gate needs no work of its own.
#include "cuda_tensor_device.h"
#include "pending_checks.h"

namespace dlbridge_test {
namespace {

class CudaGate final : public Gate {
 public:
  explicit CudaGate(CudaDevice* device) : device_(*device) {}
  DLBridgeStream Close() override { return device_.stream(); }
  void Open() override {}

 private:
  CudaDevice& device_;
};

class CudaPending : public CudaTest {
 protected:
  HostMemory host_;
};

TEST_F(CudaPending, ReleasesAfterTheWork) {
  CudaDevice device(1);
  CudaGate gate(&device);
  CheckRelease(&gate);
}

TEST_F(CudaPending, ReleasesAfterTwoStreamsOfTwoDevices) {
  CudaDevice one(0);
  CudaDevice other(1);
  CudaGate first(&one);
  CudaGate second(&other);
  CheckTwoStreams(&first, &second);
}

TEST_F(CudaPending, PassesTheStreamToTheCallback) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckReleaseOnStream(&device, &gate);
}

TEST_F(CudaPending, CopiesOnTheStream) {
  CudaDevice device(1);
  CudaGate gate(&device);
  CheckAsyncCopies(&host_, &device, &gate);
  CheckAsyncCopies(&device, &host_, &gate);
  CheckAsyncCopies(&device, &device, &gate);
  CheckAsyncRefusals(&device, &gate);
}

TEST_F(CudaPending, MarksThatFail) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckMarksThatFail(&device, &gate, {"cuStreamGetCtx", "cuStreamIsCapturing", "cuEventRecord"});
}

TEST_F(CudaPending, DeletersCallBack) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckDeletersThatCallBack(&gate);
}

TEST_F(CudaPending, AForkInADeleter) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckForkInADeleter(&gate);
}

TEST_F(CudaPending, AForkedChild) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckForkedChild(&gate);
}

TEST_F(CudaPending, ManyThreads) {
  CudaDevice device(0);
  CudaGate gate(&device);
  CheckThreads(&gate, 4, 200);
}

// A stream that captures is rejected, the tensor stays the caller's, and the capture survives.
TEST_F(CudaPending, AStreamThatCaptures) {
  CudaDevice device(0);
  const Current current(device.context());
  auto fate = std::make_shared<Fate>();
  auto* tensor = Produce<DLManagedTensorVersioned>(fate);
  EXPECT_CUDA(cuStreamBeginCapture(device.native_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
  Error error;
  EXPECT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {device.stream()}, &error),
            DLBRIDGE_ERROR_CAPTURE);
  EXPECT_EQ(fate->deletions, 0);
  EXPECT_EQ(Collected(), 0U);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(device.native_stream(), &graph));
  tensor->deleter(tensor);
}

// The work of a context that was destroyed is over; its event is not touched.
TEST_F(CudaPending, AContextThatIsDestroyed) {
  auto fate = std::make_shared<Fate>();
  Error error;
  {
    CudaDevice device(0);
    ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED,
                           {device.stream()}, &error),
              DLBRIDGE_OK)
        << error.message;
  }
  EXPECT_EQ(Collected(), 0U);
  EXPECT_EQ(fate->deletions, 1);
}

}  // namespace
}  // namespace dlbridge_test
