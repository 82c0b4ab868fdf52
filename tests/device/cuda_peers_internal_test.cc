// SPDX-License-Identifier: Apache-2.0
// Which devices can access the memory of another. Each number of devices has its own child.
#include "device/cuda_fixture.h"
#include "native/backend.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

using dlbridge::kCudaBackend;

TEST(CudaPeers, DevicesThatCanAccessAnother) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
    Error error;
    for (int device = 0; device < 3; ++device) {
      // The fake: each device can access the next one.
      const uint64_t expected = uint64_t{1} << device | uint64_t{1} << (device + 2) % 3;
      uint64_t capable = 0;
      EXPECT_EQ(kCudaBackend.peers(device, &capable, &error), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(capable, expected) << device;
    }
    for (const int device : {-1, 3}) {
      uint64_t capable = 0;
      EXPECT_EQ(kCudaBackend.peers(device, &capable, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(error.Says("expected 0 to 2")) << error.message;
    }
    uint64_t capable = 0;
    fake_cuda_fail("cuDeviceCanAccessPeer", CUDA_ERROR_UNKNOWN, 2);
    EXPECT_EQ(kCudaBackend.peers(0, &capable, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("cuDeviceCanAccessPeer")) << error.message;
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
}

TEST(CudaPeers, OfSixtyFiveDevicesTheFirst64) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    setenv("FAKE_CUDA_DEVICES", "65", 1);
    ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
    uint64_t capable = 0;
    EXPECT_EQ(kCudaBackend.peers(64, &capable, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(capable, uint64_t{1} << 63);
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
}

}  // namespace
}  // namespace dlbridge_test
