// SPDX-License-Identifier: Apache-2.0
// HIP devices in the context table.
#include "hip_world.h"

namespace dlbridge_test {
namespace {

DLBridgeStatus Look(DLDevice device, DLBridgeContextEntry* entry, DLBridgeError* error) {
  *entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return dlbridge_context_find(device, 0, entry, error);
}

HIP_TEST(HipDevice, EntersItsDevices) {
  DLBridgeContextEntry entry;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  ASSERT_EQ(Look(dlbridge_device_hip(1), &entry, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(dlbridge_hip_device(&entry), 1);
  EXPECT_EQ(entry.context, 0U);
  EXPECT_EQ(entry.queue, 0U);
  EXPECT_EQ(entry.properties & DLBRIDGE_CONTEXT_ENUMERATED, DLBRIDGE_CONTEXT_ENUMERATED);
  EXPECT_EQ(entry.properties & DLBRIDGE_CONTEXT_PRIVATE, 0U);
  EXPECT_STREQ(reinterpret_cast<const char*>(entry.uuid), "fake-device-1");
  EXPECT_TRUE(Contains(fake.log(), "hipDeviceGetUuid(0) hipDeviceGetUuid(1)")) << fake.log();
  fake.clear_log();
  EXPECT_EQ(Look(dlbridge_device_hip(0), &entry, &error), DLBRIDGE_OK);
  DLDevice pinned = dlbridge_device_hip(1);
  pinned.device_type = kDLROCMHost;
  EXPECT_EQ(Look(pinned, &entry, &error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_hip_device(&entry), 1);
  EXPECT_STREQ(fake.log(), "");
  EXPECT_EQ(Look(dlbridge_device_hip(2), &entry, &error), DLBRIDGE_ERROR_NOT_FOUND);
}

HIP_TEST(HipDevice, AUuidThatCannotBeRead) {
  fake.fail("hipDeviceGetUuid", 999, 1);
  DLBridgeContextEntry entry;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Look(dlbridge_device_hip(0), &entry, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(Contains(error.message, "hipDeviceGetUuid failed with 999")) << error.message;
  EXPECT_EQ(Look(dlbridge_device_hip(0), &entry, &error), DLBRIDGE_OK);
}

TEST(HipDevice, OldRuntimesHaveNoUuids) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip&) {
    DLBridgeContextEntry entry;
    EXPECT_EQ(Look(dlbridge_device_hip(1), &entry, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(entry.uuid[0], 0);
  }));
}

// An entry that the application registered is found without a call of HIP.
HIP_TEST(HipDevice, AnApplicationsEntryIsPreferred) {
  void* stream = fake.stream(1);
  const DLBridgeContextEntry mine = dlbridge_context_entry_hip(1, static_cast<hipStream_t>(stream));
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&mine, &id, nullptr), DLBRIDGE_OK);
  DLBridgeContextEntry entry;
  ASSERT_EQ(Look(dlbridge_device_hip(1), &entry, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(entry.id, id);
  EXPECT_EQ(entry.queue, mine.queue);
  EXPECT_EQ(entry.queue_kind, DLBRIDGE_STREAM_QUEUE);
  EXPECT_STREQ(fake.log(), "");
}

}  // namespace
}  // namespace dlbridge_test
