// SPDX-License-Identifier: Apache-2.0
// Tests on a fake libamdhip64. Each runs in its own child, in which the driver starts anew. At its
// end no object may be left and no violation recorded.
#ifndef DLBRIDGE_TESTS_DEVICE_HIP_WORLD_H_
#define DLBRIDGE_TESTS_DEVICE_HIP_WORLD_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "dlbridge/dlbridge.h"
#include "dlbridge/hip_api.h"
#include "fake_hip.h"
#include "support/child.h"

namespace dlbridge_test {

constexpr int kHip5 = 50221153;
constexpr int kHip571 = 50731921;
constexpr int kHip60 = 60032830;
constexpr int kHip62 = 60241134;
constexpr int kHip6 = 60443484;
constexpr int kHip7 = 70051831;

// The objects that the library may keep: a pool of events and a pool of streams for each of two
// devices.
constexpr size_t kPooled = 16;

inline const FakeHip* LoadFakeHip(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, DLBRIDGE_FAKE_HIP_SYMBOL);
  if (symbol == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return reinterpret_cast<FakeHipTable*>(symbol)();
}

template <class Body>
testing::AssertionResult WithFakeHip(const char* path, Body body) {
  return InChild([=] {
    setenv("DLBRIDGE_LIBHIP", path, 1);
    const FakeHip& fake = *LoadFakeHip(path);
    body(fake);
    fake.settle(kPooled, kPooled, 0);
    EXPECT_STREQ(fake.violations(), "");
  });
}

// A test on the complete fake; `fake` is its table.
#define HIP_TEST(suite, name)                                                                     \
  void suite##name(const FakeHip& fake);                                                          \
  TEST(suite, name) { EXPECT_TRUE(dlbridge_test::WithFakeHip(DLBRIDGE_FAKE_HIP6, suite##name)); } \
  void suite##name(const FakeHip& fake)

inline DLBridgeBackendInfo HipInfo() {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_HIP, &info, nullptr), DLBRIDGE_OK);
  return info;
}

inline void StartHip(const FakeHip& fake) {
  const DLBridgeBackendInfo info = HipInfo();
  ASSERT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
  fake.clear_log();
}

// The log of calls in the RELAXED capture mode, on a thread in the default mode.
inline std::string Relaxed(const std::string& calls) {
  return "hipThreadExchangeStreamCaptureMode(2) " + calls +
         " hipThreadExchangeStreamCaptureMode(0)";
}

inline bool Contains(const char* text, const char* part) {
  return std::string(text).find(part) != std::string::npos;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_HIP_WORLD_H_
