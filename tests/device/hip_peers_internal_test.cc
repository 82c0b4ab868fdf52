// SPDX-License-Identifier: Apache-2.0
// Which HIP devices can access the memory of a device.
#include "device/hip/internal.h"
#include "hip_world.h"

namespace dlbridge_test {
namespace {

uint64_t PeersOf(int32_t device) {
  uint64_t capable = 0;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(dlbridge::hip::Peers(device, &capable, &error), DLBRIDGE_OK) << error.message;
  return capable;
}

// The bit is that of the device that accesses.
HIP_TEST(HipPeers, InOneDirection) {
  fake.set_device_count(3);
  fake.set_peer(2, 0, false);
  StartHip(fake);
  EXPECT_EQ(PeersOf(0), 3U);
  EXPECT_STREQ(fake.log(), "hipDeviceCanAccessPeer(1,0) hipDeviceCanAccessPeer(2,0)");
  EXPECT_EQ(PeersOf(1), 7U);
  EXPECT_EQ(PeersOf(2), 7U);
}

HIP_TEST(HipPeers, TheFirst64Devices) {
  fake.set_device_count(70);
  fake.set_peer(63, 69, false);
  StartHip(fake);
  EXPECT_EQ(PeersOf(69), ~uint64_t{0} >> 1);
  EXPECT_FALSE(Contains(fake.log(), "(64,69)"));
}

TEST(HipPeers, ARuntimeThatCannotTell) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    EXPECT_EQ(PeersOf(1), 2U);
  }));
}

HIP_TEST(HipPeers, Errors) {
  StartHip(fake);
  uint64_t capable = 1;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(dlbridge::hip::Peers(2, &capable, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(capable, 0U);
  fake.fail("hipDeviceCanAccessPeer", 998, 1);
  EXPECT_EQ(dlbridge::hip::Peers(0, &capable, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(error.native_code, 998);
  EXPECT_EQ(fake.last_error(), 0);
}

}  // namespace
}  // namespace dlbridge_test
