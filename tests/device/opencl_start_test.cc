// SPDX-License-Identifier: Apache-2.0
// How OpenCL is found and started, and the reported reasons if it is unavailable. Each test runs in
// its own process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device/opencl_world.h"
#include "dlbridge/dlbridge.h"
#include "support/child.h"

// Drivers replace the signal stack of threads that call them; AddressSanitizer would free the
// replacement as its own when such a thread ends.
extern "C" const char* __asan_default_options() { return "use_sigaltstack=0"; }

namespace dlbridge_test {
namespace {

DLBridgeBackendInfo Start() {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_OPENCL, &info, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_OPENCL);
  return info;
}

// This process calls no driver itself: otherwise its children could not use one.
class OpenClStart : public testing::Test {
 protected:
  void SetUp() override {
    UseShim();
    if (const char* reason = WhyNoDriver()) {
      GTEST_SKIP() << reason;
    }
    const testing::AssertionResult runs = InChild([] {
      if (WhyNot() != nullptr) {
        _exit(1);
      }
    });
    if (!runs) {
      GTEST_SKIP() << "no OpenCL driver can be used here";
    }
  }
};

cl_uint PlatformCount() {
  cl_uint count = 0;
  EXPECT_EQ(CL(clGetPlatformIDs)(0, nullptr, &count), CL_SUCCESS);
  return count;
}

cl_uint DeviceCount() {
  cl_platform_id platforms[8] = {};
  cl_uint count = 0;
  cl_uint total = 0;
  EXPECT_EQ(CL(clGetPlatformIDs)(8, platforms, &count), CL_SUCCESS);
  for (cl_uint i = 0; i < count; ++i) {
    cl_uint devices = 0;
    CL(clGetDeviceIDs)(platforms[i], CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    total += devices;
  }
  return total;
}

TEST_F(OpenClStart, CountsPlatformsAndDevices) {
  EXPECT_TRUE(InChild([] {
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
    EXPECT_EQ(info.device_count, static_cast<int32_t>(DeviceCount()));
    EXPECT_EQ(PlatformCount(), Drivers() == "both" ? 2U : 1U);
    EXPECT_EQ(info.driver_code, 0);
    EXPECT_STREQ(info.reason, "");
    EXPECT_NE(std::string(info.driver_version).find("OpenCL 3."), std::string::npos)
        << info.driver_version;
    EXPECT_STREQ(info.file, DLBRIDGE_OPENCL_SHIM);
  }));
}

TEST_F(OpenClStart, TheSystemsLibraryIsFoundByTheLoader) {
  EXPECT_TRUE(InChild([] {
    unsetenv("DLBRIDGE_LIBOPENCL");
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
    EXPECT_NE(std::string(info.file).find("libOpenCL.so.1"), std::string::npos) << info.file;
    EXPECT_STRNE(info.runtime_version, "");
  }));
}

TEST_F(OpenClStart, NoLibraryIsAbsent) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBOPENCL", "/nonexistent/libOpenCL.so.1", 1);
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_NE(std::string(info.reason).find("/nonexistent/libOpenCL.so.1: "), std::string::npos)
        << info.reason;
    EXPECT_STREQ(info.file, "");
  }));
}

TEST_F(OpenClStart, AnotherLibraryIsUnusable) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBOPENCL", "libm.so.6", 1);
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_STREQ(info.reason,
                 "the library has no function clGetPlatformIDs: expected OpenCL 1.2 or later");
  }));
}

TEST_F(OpenClStart, NoPlatformIsUnusable) {
  EXPECT_TRUE(InChild([] {
    UseDrivers("none");
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_EQ(info.driver_code, -1001);
    EXPECT_EQ(info.device_count, 0);
    EXPECT_STREQ(info.reason,
                 "clGetPlatformIDs failed with -1001 (CL_PLATFORM_NOT_FOUND_KHR): no OpenCL driver "
                 "is installed (/etc/OpenCL/vendors names none that loads)");
    const DLBridgeBuffer buffer = {DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_BUFFER_ADDRESS, 64, 0, 0};
    DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOneAPI, 0}, &pointer, &error),
              DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_NE(std::string(error.message).find("-1001"), std::string::npos) << error.message;
  }));
}

// With both drivers, the second call of clGetDeviceIDs belongs to the other platform; the backend
// starts without its devices.
TEST_F(OpenClStart, EachCallThatFailsIsReported) {
  struct Failure {
    const char* function;
    int nth;
  };
  const Failure failures[] = {{"clGetPlatformIDs", 1},
                              {"clGetPlatformIDs", 2},
                              {"clGetDeviceIDs", 1},
                              {"clGetDeviceIDs", 2}};
  for (const Failure& failure : failures) {
    const bool one_of_two =
        Drivers() == "both" && std::string(failure.function) == "clGetDeviceIDs";
    EXPECT_TRUE(InChild([&] {
      SHIM(shim_fail)(failure.function, CL_OUT_OF_HOST_MEMORY, failure.nth);
      const DLBridgeBackendInfo info = Start();
      EXPECT_EQ(SHIM(shim_failed)(), 1);
      if (one_of_two) {
        EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
        EXPECT_EQ(info.device_count, 1);
        EXPECT_STREQ(info.reason, "");
        return;
      }
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_EQ(info.driver_code, CL_OUT_OF_HOST_MEMORY);
      EXPECT_EQ(info.reason,
                std::string(failure.function) + " failed with -6 (CL_OUT_OF_HOST_MEMORY)");
    })) << failure.function;
  }
}

TEST_F(OpenClStart, VersionsThatCannotBeReadAreEmpty) {
  EXPECT_TRUE(InChild([] {
    SHIM(shim_fail)("clGetPlatformInfo", CL_INVALID_VALUE, 1);
    const DLBridgeBackendInfo info = Start();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
    if (Drivers() != "both") {
      EXPECT_STREQ(info.driver_version, "");
    }
  }));
}

TEST_F(OpenClStart, AForkedChildIsRejected) {
  EXPECT_TRUE(InChild([] {
    EXPECT_EQ(Start().state, DLBRIDGE_STATE_READY);
    SHIM(shim_reset)();
    EXPECT_TRUE(InChild([] {
      DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
      EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_OPENCL, &info, nullptr),
                DLBRIDGE_ERROR_FORKED);
      const DLBridgeStream stream = {
          DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_QUEUE, {kDLOpenCL, 0}, 64, 0, 0};
      EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_ERROR_FORKED);
      const DLBridgeBuffer buffer = {DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_BUFFER_CL_MEM, 64, 0, 0};
      DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
      EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOpenCL, 0}, &pointer, nullptr),
                DLBRIDGE_ERROR_FORKED);
      EXPECT_EQ(Calls(), "");
    }));
  }));
}

TEST_F(OpenClStart, AChildForkedBeforeTheStartWorks) {
  EXPECT_TRUE(InChild([] {
    DLBridgeBackendInfo cpu = DLBRIDGE_BACKEND_INFO_INIT;
    EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, &cpu, nullptr), DLBRIDGE_OK);
    EXPECT_TRUE(InChild([] { EXPECT_EQ(Start().state, DLBRIDGE_STATE_READY); }));
  }));
}

DLBridgeStatus Lookup(int32_t id, DLBridgeContextEntry* out, Error* error) {
  *out = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return dlbridge_context_find({kDLOpenCL, id}, 0, out, error);
}

TEST_F(OpenClStart, AContextThatCannotBeCreatedIsRetried) {
  EXPECT_TRUE(InChild([] {
    Start();
    SHIM(shim_fail)("clCreateContext", CL_DEVICE_NOT_AVAILABLE, 1);
    DLBridgeContextEntry entry;
    Error error;
    if (Drivers() == "both") {
      // The other platform's devices are enumerated all the same.
      EXPECT_EQ(Lookup(1, &entry, &error), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(SHIM(shim_failed)(), 1);
    } else {
      EXPECT_EQ(Lookup(0, &entry, &error), DLBRIDGE_ERROR_DRIVER);
      EXPECT_STREQ(error.message, "clCreateContext failed with -2 (CL_DEVICE_NOT_AVAILABLE)");
      EXPECT_EQ(Live().contexts, 0);
    }
    EXPECT_EQ(Lookup(0, &entry, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Live().contexts, static_cast<int>(PlatformCount()));
  }));
}

TEST_F(OpenClStart, ADeviceWithoutAUuidHasNone) {
  EXPECT_TRUE(InChild([] {
    Start();
    SHIM(shim_fail)("clGetDeviceInfo", CL_INVALID_VALUE, 1);
    DLBridgeContextEntry entry;
    Error error;
    EXPECT_EQ(Lookup(0, &entry, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    const uint8_t none[16] = {0};
    EXPECT_EQ(std::memcmp(entry.uuid, none, sizeof none), 0);
  }));
}

TEST_F(OpenClStart, ManyThreadsEnumerateOneContext) {
  EXPECT_TRUE(InChild([] {
    // Started outside the threads: a driver may replace the signal stack of the thread that loads
    // it, which AddressSanitizer owns until the thread ends.
    Start();
    uint64_t contexts[4] = {};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (uint64_t& context : contexts) {
      threads.emplace_back([&context] {
        DLBridgeContextEntry entry;
        Error error;
        EXPECT_EQ(Lookup(0, &entry, &error), DLBRIDGE_OK) << error.message;
        context = entry.context;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const uint64_t context : contexts) {
      EXPECT_EQ(context, contexts[0]);
    }
    EXPECT_EQ(Live().contexts, static_cast<int>(PlatformCount()));
  }));
}

TEST_F(OpenClStart, AContextIsCreatedOnce) {
  EXPECT_TRUE(InChild([] {
    DLBridgeContextEntry entry;
    DLBridgeContextEntry again;
    Error error;
    EXPECT_EQ(Lookup(0, &entry, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(dlbridge_context_unregister(entry.id, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Lookup(0, &again, &error), DLBRIDGE_OK) << error.message;
    EXPECT_NE(again.id, entry.id);
    EXPECT_EQ(again.context, entry.context);
    EXPECT_EQ(Live().contexts, static_cast<int>(PlatformCount()));
  }));
}

}  // namespace
}  // namespace dlbridge_test
