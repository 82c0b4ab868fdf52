// SPDX-License-Identifier: Apache-2.0
// dlbridge_copy to, from and between HIP devices: complete, or without effect.
#include "hip_tensor_device.h"

namespace dlbridge_test {
namespace {

HIP_TEST(HipTensorCopy, FromTheHost) {
  HostMemory host;
  HipDevice device(fake, 1);
  CheckCopies(&host, &device);
}

HIP_TEST(HipTensorCopy, ToTheHost) {
  HostMemory host;
  HipDevice device(fake, 1);
  CheckCopies(&device, &host);
}

HIP_TEST(HipTensorCopy, InADevice) {
  HipDevice device(fake, 1);
  CheckCopies(&device, &device);
}

HIP_TEST(HipTensorCopy, BetweenTwoDevices) {
  HipDevice one(fake, 0);
  HipDevice other(fake, 1);
  CheckCopies(&one, &other);
}

HIP_TEST(HipTensorCopy, ARectangleIsOneCall) {
  StartHip(fake);
  HostMemory host;
  HipDevice device(fake, 1);
  const TensorSource source(&device, {"a rectangle", {6, 8}, {20, 1}, 0}, kFloats);
  ExpectCopy(source, &host, {});
  EXPECT_TRUE(Contains(fake.log(), "hipMemcpy2DAsync(32,80,32,6,2,s")) << fake.log();
}

// The stream that a copy creates is kept for the next copy.
HIP_TEST(HipTensorCopy, CallsThatFail) {
  StartHip(fake);
  HostMemory host;
  HipDevice device(fake, 1);
  {
    const TensorSource source(&device, {"a rectangle", {6, 8}, {20, 1}, 0}, kFloats);
    FailInTurn(source, &host, {}, &device, "hipStreamCreateWithFlags");
  }
  const std::vector<const char*> functions = {"hipMemcpy2DAsync", "hipStreamSynchronize"};
  CheckFailures(&device, &host, &device, functions);
  CheckFailures(&host, &device, &device, functions);
  CheckFailures(&device, &device, &device, functions);
  CheckFailuresOfStaging(&device, &device, &device, {"hipMemcpyAsync", "hipStreamSynchronize"});
}

HIP_TEST(HipTensorCopy, AStreamThatCaptures) {
  StartHip(fake);
  HipDevice device(fake, 1);
  fake.capture(device.native_stream(), 1, 7);
  CheckCapture(&device);
  EXPECT_EQ(fake.capture_state(device.native_stream()), 1) << "the capture was not disturbed";
  fake.capture(device.native_stream(), 0, 0);
}

}  // namespace
}  // namespace dlbridge_test
