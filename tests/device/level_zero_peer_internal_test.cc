// SPDX-License-Identifier: Apache-2.0
// Which Level Zero devices can access the memory of a device, through the interface of the
// backends.
#include "device/level_zero_world.h"
#include "native/backend.h"

namespace {

using dlbridge::kLevelZeroBackend;
using dlbridge_test::Error;
using dlbridge_test::InWorld;
using dlbridge_test::kDeviceLost;
using dlbridge_test::World;

uint64_t PeersOf(int32_t device) {
  uint64_t peers = 0;
  Error error;
  EXPECT_EQ(dlbridge::StartBackend(kLevelZeroBackend, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(kLevelZeroBackend.peers(device, &peers, &error), DLBRIDGE_OK) << error.message;
  return peers;
}

LEVEL_ZERO_TEST(LevelZeroPeer, NoneByDefault) {
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(PeersOf(i), uint64_t{1} << i);
  }
}

// Access in one direction, within each of the two drivers.
TEST(LevelZeroPeer, Directed) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_PEERS", "1>0"}}, [](const World& world) {
    EXPECT_EQ(PeersOf(0), 3U);
    EXPECT_EQ(PeersOf(1), 2U);
    world.fake.Log();
    EXPECT_EQ(PeersOf(2), 12U);
    EXPECT_EQ(world.fake.Log(), "zeDeviceCanAccessPeer") << "asked across drivers";
    EXPECT_EQ(PeersOf(3), 8U);
  }));
}

// The loader wraps the handles of two driver files.
TEST(LevelZeroPeer, TwoDriverFiles) {
  EXPECT_TRUE(InWorld(
      {{"ZE_ENABLE_ALT_DRIVERS", FAKE_LEVEL_ZERO "," FAKE_LEVEL_ZERO_2}, {"FAKE_ZE_PEERS", "1>0"}},
      [](const World&) {
        EXPECT_EQ(PeersOf(4), 0x30U);
        EXPECT_EQ(PeersOf(7), 0x80U);
      }));
}

TEST(LevelZeroPeer, MoreThan64Devices) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_DRIVERS", "1"},
                       {"FAKE_ZE_DEVICES", "70"},
                       {"FAKE_ZE_SUBDEVICES", "0"},
                       {"FAKE_ZE_PEERS", "63>69,65>69,5>0,64>0"}},
                      [](const World&) {
                        EXPECT_EQ(PeersOf(69), uint64_t{1} << 63);
                        EXPECT_EQ(PeersOf(0), 33U);
                      }));
}

TEST(LevelZeroPeer, DriverLacksTheQuery) {
  EXPECT_TRUE(InWorld({{"FAKE_ZE_LACKS", "zeDeviceCanAccessPeer"}, {"FAKE_ZE_PEERS", "1>0"}},
                      [](const World&) { EXPECT_EQ(PeersOf(0), 1U); }));
}

LEVEL_ZERO_TEST(LevelZeroPeer, Fails) {
  PeersOf(0);
  uint64_t peers = 0;
  Error error;
  for (const int32_t device : {-1, 4}) {
    EXPECT_EQ(kLevelZeroBackend.peers(device, &peers, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("native_device is not a device of Level Zero")) << error.message;
  }
  world.fake.fake_ze_fail("zeDeviceCanAccessPeer", kDeviceLost, 1);
  EXPECT_EQ(kLevelZeroBackend.peers(0, &peers, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(error.Says("zeDeviceCanAccessPeer")) << error.message;
}

}  // namespace
