// SPDX-License-Identifier: Apache-2.0
// How HIP is found and started, and the reported reasons if it is unavailable.
#include "hip_world.h"

namespace dlbridge_test {
namespace {

DLBridgeStatus AskPointer(DLBridgeError* error) {
  int local = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_hip(&local);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  return dlbridge_pointer_info(&buffer, dlbridge_device_hip(0), &info, error);
}

// Every call of the backend is unavailable and reports the reason.
void ExpectUnavailable(const char* reason) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(AskPointer(&error), DLBRIDGE_ERROR_UNAVAILABLE);
  EXPECT_TRUE(Contains(error.message, reason)) << error.message;
  const DLBridgeStream a = dlbridge_stream_hip(nullptr, 0);
  const DLBridgeStream b = dlbridge_stream_hip(nullptr, 1);
  EXPECT_EQ(dlbridge_stream_handoff(&a, &b, 0, &error), DLBRIDGE_ERROR_UNAVAILABLE);
  EXPECT_EQ(dlbridge_stream_synchronize(&a, &error), DLBRIDGE_ERROR_UNAVAILABLE);
}

HIP_TEST(HipStart, ReportsFileVersionsAndDevices) {
  const DLBridgeBackendInfo info = HipInfo();
  EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
  EXPECT_EQ(info.device_count, 2);
  EXPECT_EQ(info.driver_code, 0);
  EXPECT_STREQ(info.runtime_version, "6.4.43484");
  EXPECT_STREQ(info.driver_version, "6.4.43485");
  EXPECT_STREQ(info.file, DLBRIDGE_FAKE_HIP6);
  EXPECT_STREQ(info.reason, "");
  HipInfo();
  EXPECT_STREQ(fake.log(),
               "hipRuntimeGetVersion() hipDriverGetVersion() hipInit(0) "
               "hipGetDeviceCount()");
}

TEST(HipStart, TheMinimalRuntimeIsSufficient) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip&) {
    const DLBridgeBackendInfo info = HipInfo();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_STREQ(info.runtime_version, "5.2.21153");
    EXPECT_STREQ(info.driver_version, "");
  }));
}

HIP_TEST(HipStart, ADriverVersionThatCannotBeReadIsEmpty) {
  fake.fail("hipDriverGetVersion", 999, 1);
  const DLBridgeBackendInfo info = HipInfo();
  EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
  EXPECT_STREQ(info.driver_version, "");
}

struct FailingCall {
  const char* function;
  int code;
  const char* reason;
};

TEST(HipStart, EachCallThatFailsIsNamed) {
  const FailingCall calls[] = {
      {"hipRuntimeGetVersion", 1, "hipRuntimeGetVersion returned 1 (hipErrorInvalidValue)"},
      {"hipInit", 101,
       "hipInit returned 101 (hipErrorInvalidDevice): there is no AMD GPU that this process may "
       "use"},
      {"hipGetDeviceCount", 100, "hipGetDeviceCount returned 100 (hipErrorNoDevice)"},
      {"hipGetDeviceCount", 3, "hipGetDeviceCount returned 3 (hipErrorUnknown)"}};
  for (const FailingCall& call : calls) {
    EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP6, [=](const FakeHip& fake) {
      fake.fail(call.function, call.code, 1);
      const DLBridgeBackendInfo info = HipInfo();
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_EQ(info.driver_code, call.code);
      EXPECT_EQ(info.device_count, 0);
      EXPECT_STREQ(info.file, DLBRIDGE_FAKE_HIP6);
      EXPECT_TRUE(Contains(info.reason, call.reason)) << info.reason;
      ExpectUnavailable(call.reason);
    })) << call.function;
  }
}

HIP_TEST(HipStart, NoDeviceIsUnusable) {
  fake.set_device_count(0);
  const DLBridgeBackendInfo info = HipInfo();
  EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
  EXPECT_EQ(info.driver_code, 100);
  ExpectUnavailable("there is no AMD GPU");
}

TEST(HipStart, AnotherLibraryIsUnusable) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBHIP", "libm.so.6", 1);
    const DLBridgeBackendInfo info = HipInfo();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_EQ(info.driver_code, 0);
    EXPECT_STREQ(info.reason, "the library has no function hipInit");
    ExpectUnavailable("hipInit");
  }));
}

TEST(HipStart, AMissingFileIsAbsent) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBHIP", "/nowhere/libamdhip64.so", 1);
    const DLBridgeBackendInfo info = HipInfo();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_STREQ(info.file, "");
    EXPECT_TRUE(Contains(info.reason, "/nowhere/libamdhip64.so: ")) << info.reason;
    ExpectUnavailable("/nowhere/libamdhip64.so");
  }));
}

// PyTorch's packages bring their own runtime, under a name that the loader does not find.
TEST(HipStart, ALoadedRuntimeIsPreferred) {
  EXPECT_TRUE(InChild([] {
    unsetenv("DLBRIDGE_LIBHIP");
    const FakeHip& fake = *LoadFakeHip(DLBRIDGE_FAKE_HIP0);
    const DLBridgeBackendInfo info = HipInfo();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
    EXPECT_STREQ(info.file, DLBRIDGE_FAKE_HIP0);
    EXPECT_TRUE(Contains(fake.log(), "hipInit(0)"));
  }));
}

HIP_TEST(HipStart, AForkedChildIsRejected) {
  StartHip(fake);
  EXPECT_TRUE(InChild([] {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(AskPointer(&error), DLBRIDGE_ERROR_FORKED);
    const DLBridgeStream a = dlbridge_stream_hip(nullptr, 0);
    EXPECT_EQ(dlbridge_stream_synchronize(&a, &error), DLBRIDGE_ERROR_FORKED);
    EXPECT_TRUE(Contains(error.message, "HIP was started before")) << error.message;
  }));
  EXPECT_STREQ(fake.log(), "");
}

}  // namespace
}  // namespace dlbridge_test
