// SPDX-License-Identifier: Apache-2.0
// How Level Zero is found and started: with the real loader, with and without a driver.
#include "device/level_zero_world.h"

namespace {

using dlbridge_test::Environment;
using dlbridge_test::Error;
using dlbridge_test::Fake;
using dlbridge_test::InChild;
using dlbridge_test::OneApi;
using dlbridge_test::SetEnvironment;

DLBridgeBackendInfo Info() {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_LEVEL_ZERO, &info, &error), DLBRIDGE_OK)
      << error.message;
  return info;
}

template <class Body>
testing::AssertionResult Started(const Environment& environment, Body body) {
  return InChild([&] {
    SetEnvironment(environment);
    body(Info());
  });
}

TEST(LevelZeroStart, Ready) {
  EXPECT_TRUE(Started({}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.device_count, 4);  // two drivers with two devices each
    EXPECT_EQ(info.driver_code, 0);
    EXPECT_NE(std::strstr(info.file, "libze_loader.so.1"), nullptr) << info.file;
    EXPECT_STREQ(info.driver_version, "1.4 (0x1030007)");
    EXPECT_EQ(std::strncmp(info.runtime_version, "1.", 2), 0) << info.runtime_version;
    EXPECT_STREQ(info.reason, "");
    const Fake fake(FAKE_LEVEL_ZERO);
    EXPECT_EQ(fake.Violation(), "");
  }));
}

// The loader wraps handles where it intercepts calls, and where it loads two driver files.
TEST(LevelZeroStart, Intercepted) {
  EXPECT_TRUE(Started({{"ZE_ENABLE_LOADER_INTERCEPT", "1"}}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.device_count, 4);
  }));
  EXPECT_TRUE(Started({{"ZE_ENABLE_ALT_DRIVERS", FAKE_LEVEL_ZERO "," FAKE_LEVEL_ZERO_2}},
                      [](const DLBridgeBackendInfo& info) {
                        EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
                        EXPECT_EQ(info.device_count, 8);
                      }));
}

// With the validation layer, an invalid call does not reach the driver.
TEST(LevelZeroStart, Validated) {
  EXPECT_TRUE(dlbridge_test::InWorld(
      {{"ZE_ENABLE_VALIDATION_LAYER", "1"}, {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}},
      [](const dlbridge_test::World& world) {
        EXPECT_EQ(world.ze.zeContextDestroy(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        EXPECT_EQ(world.fake.Log(), "");
      }));
  EXPECT_TRUE(
      Started({{"ZE_ENABLE_VALIDATION_LAYER", "1"}, {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}},
              [](const DLBridgeBackendInfo& info) {
                EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
                EXPECT_EQ(info.device_count, 4);
              }));
}

TEST(LevelZeroStart, Absent) {
  EXPECT_TRUE(Started({{"DLBRIDGE_LIBZE", "/no/such/file"}}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_STREQ(info.file, "");
    EXPECT_NE(std::strstr(info.reason, "/no/such/file: "), nullptr) << info.reason;
    EXPECT_NE(std::strstr(info.reason, "No such file"), nullptr) << info.reason;
  }));
}

TEST(LevelZeroStart, NotALoader) {
  EXPECT_TRUE(Started({{"DLBRIDGE_LIBZE", "libm.so.6"}}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_STREQ(info.reason, "the loader has no zeInit");
  }));
}

void ExpectUninitialised(const DLBridgeBackendInfo& info) {
  EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
  EXPECT_EQ(info.driver_code, 0x78000001);
  EXPECT_EQ(info.device_count, 0);
  EXPECT_NE(std::strstr(info.file, "libze_loader.so.1"), nullptr);
  EXPECT_STREQ(info.reason, "zeInit failed with ZE_RESULT_ERROR_UNINITIALIZED, 0x78000001");
}

TEST(LevelZeroStart, NoDriver) {
  EXPECT_TRUE(InChild([] {
    unsetenv("ZE_ENABLE_ALT_DRIVERS");
    ExpectUninitialised(Info());
  }));
}

// A failing zeInit gives a permanent error.
TEST(LevelZeroStart, InitFails) {
  EXPECT_TRUE(Started({{"FAKE_ZE_INIT", "0x78000001"}}, [](const DLBridgeBackendInfo& first) {
    ExpectUninitialised(first);
    setenv("FAKE_ZE_INIT", "0", 1);
    ExpectUninitialised(Info());
    const DLBridgeBuffer buffer = dlbridge_buffer_address(&first);
    DLBridgePointerInfo out = DLBRIDGE_POINTER_INFO_INIT;
    DLBridgeBuffer named = buffer;
    named.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&named, OneApi(0), &out, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(error.Says("ZE_RESULT_ERROR_UNINITIALIZED")) << error.message;
  }));
}

TEST(LevelZeroStart, NoDevice) {
  EXPECT_TRUE(Started({{"FAKE_ZE_DEVICES", "0"}}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_STREQ(info.reason, "no driver has a device");
  }));
}

// The calls that find the devices fail in turn.
TEST(LevelZeroStart, EachCallFails) {
  for (const char* call :
       {"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices", "zeDeviceGetProperties"}) {
    for (uint32_t n = 1; n <= 2; ++n) {
      EXPECT_TRUE(InChild([=] {
        SetEnvironment({});
        const Fake fake(FAKE_LEVEL_ZERO);
        fake.fake_ze_fail(call, dlbridge_test::kDeviceLost, n);
        const DLBridgeBackendInfo info = Info();
        EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
        EXPECT_EQ(std::string(info.reason),
                  std::string(call) + " failed with ZE_RESULT_ERROR_DEVICE_LOST, 0x70000001");
        EXPECT_EQ(fake.Violation(), "");
      })) << call;
    }
  }
}

// The version contains only the parts that the driver reports.
TEST(LevelZeroStart, VersionFails) {
  EXPECT_TRUE(InChild([] {
    SetEnvironment({});
    const Fake fake(FAKE_LEVEL_ZERO);
    fake.fake_ze_fail("zeDriverGetApiVersion", dlbridge_test::kDeviceLost, 1);
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_STREQ(info.driver_version, "(0x1030007)");
  }));
}

TEST(LevelZeroStart, ByType) {
  const Environment environment = {{"DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER},
                                   {"FAKE_ZE_LOADER_BY_TYPE", "1"}};
  EXPECT_TRUE(Started(environment, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.device_count, 4);
    EXPECT_NE(std::strstr(info.file, "fake_level_zero_loader"), nullptr) << info.file;
  }));
}

// A newer loader that also fails to return drivers by type.
TEST(LevelZeroStart, ByTypeFails) {
  const Environment environment = {{"DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER},
                                   {"FAKE_ZE_INIT", "0x78000001"}};
  EXPECT_TRUE(Started(environment, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_EQ(info.driver_code, 0x78000001);
  }));
}

TEST(LevelZeroStart, Forked) {
  EXPECT_TRUE(Started({}, [](const DLBridgeBackendInfo& info) {
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_TRUE(InChild([] {
      DLBridgeBackendInfo again = DLBRIDGE_BACKEND_INFO_INIT;
      Error error;
      EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_LEVEL_ZERO, &again, &error),
                DLBRIDGE_ERROR_FORKED);
      EXPECT_TRUE(error.Says("before this process was forked")) << error.message;
    }));
  }));
}

}  // namespace
