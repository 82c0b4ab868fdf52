// SPDX-License-Identifier: Apache-2.0
// Copies and releases ordered by HIP streams. The fake runtime runs the work of a stream only when
// something waits for it, so the gate needs no work of its own.
#include "hip_tensor_device.h"
#include "pending_checks.h"

namespace dlbridge_test {
namespace {

class HipGate final : public Gate {
 public:
  explicit HipGate(HipDevice* device) : device_(*device) {}
  DLBridgeStream Close() override { return device_.stream(); }
  void Open() override {}

 private:
  HipDevice& device_;
};

HIP_TEST(HipPending, ReleasesAfterTheWork) {
  HipDevice device(fake, 1);
  HipGate gate(&device);
  CheckRelease(&gate);
}

HIP_TEST(HipPending, ReleasesAfterTwoStreamsOfTwoDevices) {
  HipDevice one(fake, 0);
  HipDevice other(fake, 1);
  HipGate first(&one);
  HipGate second(&other);
  CheckTwoStreams(&first, &second);
}

HIP_TEST(HipPending, PassesTheStreamToTheCallback) {
  HipDevice device(fake, 0);
  HipGate gate(&device);
  CheckReleaseOnStream(&device, &gate);
}

HIP_TEST(HipPending, CopiesOnTheStream) {
  HostMemory host;
  HipDevice device(fake, 1);
  HipGate gate(&device);
  CheckAsyncCopies(&host, &device, &gate);
  CheckAsyncCopies(&device, &host, &gate);
  CheckAsyncCopies(&device, &device, &gate);
  CheckAsyncRefusals(&device, &gate);
}

HIP_TEST(HipPending, MarksThatFail) {
  HipDevice device(fake, 0);
  HipGate gate(&device);
  CheckMarksThatFail(&device, &gate, {"hipStreamIsCapturing", "hipEventRecord"});
}

HIP_TEST(HipPending, DeletersCallBack) {
  HipDevice device(fake, 0);
  HipGate gate(&device);
  CheckDeletersThatCallBack(&gate);
}

HIP_TEST(HipPending, AForkInADeleter) {
  HipDevice device(fake, 0);
  HipGate gate(&device);
  CheckForkInADeleter(&gate);
}

HIP_TEST(HipPending, AForkedChild) {
  HipDevice device(fake, 0);
  HipGate gate(&device);
  CheckForkedChild(&gate);
}

}  // namespace
}  // namespace dlbridge_test
