// SPDX-License-Identifier: Apache-2.0
// The real libamdhip64 on a machine without an AMD device: it loads and reports that.
#include <sys/stat.h>

#include "hip_world.h"

namespace dlbridge_test {
namespace {

bool Exists(const char* path) {
  struct stat status;
  return stat(path, &status) == 0;
}

// The reason why the runtime cannot be tested here, or NULL.
const char* WhyNot() {
  if (!Exists(DLBRIDGE_HIP_LIBRARY)) {
    return "no " DLBRIDGE_HIP_LIBRARY " (Debian: libamdhip64-5)";
  }
  return Exists("/dev/kfd") ? "this machine may have a device of AMD's" : nullptr;
}

void ExpectUnavailable() {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  int local = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_hip(&local);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, dlbridge_device_hip(0), &info, &error),
            DLBRIDGE_ERROR_UNAVAILABLE);
  EXPECT_TRUE(Contains(error.message, "there is no AMD GPU")) << error.message;
  const DLBridgeStream a = dlbridge_stream_hip(nullptr, 0);
  const DLBridgeStream b = dlbridge_stream_hip(nullptr, 1);
  EXPECT_EQ(dlbridge_stream_handoff(&a, &b, 0, &error), DLBRIDGE_ERROR_UNAVAILABLE);
  EXPECT_EQ(dlbridge_stream_synchronize(&a, &error), DLBRIDGE_ERROR_UNAVAILABLE);
  // A pointer that is not declared as HIP memory is host memory.
  const DLBridgeBuffer plain = dlbridge_buffer_address(&local);
  const DLDevice cpu = {kDLCPU, 0};
  EXPECT_EQ(dlbridge_pointer_info(&plain, cpu, &info, &error), DLBRIDGE_OK);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_HOST);
}

void ExpectNoDevice() {
  const DLBridgeBackendInfo info = HipInfo();
  EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
  EXPECT_EQ(info.device_count, 0);
  // 101 from 5.2, 100 from 6.4.
  EXPECT_TRUE(info.driver_code == 100 || info.driver_code == 101) << info.driver_code;
  EXPECT_TRUE(Contains(info.reason, "there is no AMD GPU that this process may use"))
      << info.reason;
  EXPECT_NE(info.runtime_version[0], '\0');
  EXPECT_TRUE(Contains(info.file, "libamdhip64")) << info.file;
  ExpectUnavailable();
}

TEST(HipReal, NoDevice) {
  if (const char* why = WhyNot()) {
    GTEST_SKIP() << why;
  }
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBHIP", DLBRIDGE_HIP_LIBRARY, 1);
    ExpectNoDevice();
    // An unusable runtime has no state that a fork could invalidate.
    EXPECT_TRUE(InChild([] { ExpectNoDevice(); }));
  }));
}

TEST(HipReal, FoundByTheLoader) {
  if (const char* why = WhyNot()) {
    GTEST_SKIP() << why;
  }
  EXPECT_TRUE(InChild([] {
    unsetenv("DLBRIDGE_LIBHIP");
    ExpectNoDevice();
  }));
}

}  // namespace
}  // namespace dlbridge_test
