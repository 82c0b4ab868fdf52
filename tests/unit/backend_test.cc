// SPDX-License-Identifier: Apache-2.0
// Backends without their drivers: the reported information, and that everything else still works.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"
#ifndef _WIN32
#include "support/child.h"
#endif

namespace dlbridge_test {
namespace {

DLBridgeBackendInfo Info(DLBridgeBackend backend) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_backend_info(backend, &info, &error), DLBRIDGE_OK) << error.message;
  return info;
}

TEST(BackendInfo, ReportsTheCpu) {
  const DLBridgeBackendInfo info = Info(DLBRIDGE_BACKEND_CPU);
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_CPU);
  EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
  EXPECT_EQ(info.device_count, 1);
  EXPECT_STREQ(info.reason, "");
}

TEST(BackendInfo, RejectsUnknownBackends) {
  for (const DLBridgeBackend backend : {0, -1, -6}) {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_backend_info(backend, &info, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("backend")) << error.message;
  }
  Error error;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(6, &info, &error), DLBRIDGE_ERROR_TOO_NEW);
}

TEST(BackendInfo, IsWrittenUpToTheSmallerSize) {
  struct {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    unsigned char canary[16];
  } larger;
  std::memset(larger.canary, 0x5a, sizeof larger.canary);
  larger.info.struct_size = sizeof larger;
  Error error;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, &larger.info, &error), DLBRIDGE_OK);
  EXPECT_EQ(larger.info.struct_size, sizeof larger.info) << "set to the size that was filled";
  for (const unsigned char byte : larger.canary) {
    EXPECT_EQ(byte, 0x5a);
  }
  larger.info.struct_size = sizeof(DLBridgeBackendInfo) - 1;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, &larger.info, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

TEST(PointerInfo, ReportsHostMemory) {
  int there = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&there);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  Error error;
  ASSERT_EQ(dlbridge_pointer_info(&buffer, Device(kDLCPU), &info, &error), DLBRIDGE_OK);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_HOST);
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_CPU);
  EXPECT_EQ(info.device.device_type, kDLCPU);
  EXPECT_EQ(info.native_device, -1);
  EXPECT_EQ(info.size, 0U);
}

DLBridgeStatus Ask(const DLBridgeBuffer& buffer, int32_t type, Error* error) {
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  return dlbridge_pointer_info(&buffer, Device(type), &info, error);
}

TEST(PointerInfo, RejectsDevicesAndBuffersWithoutABackend) {
  int there = 0;
  DLBridgeBuffer buffer = dlbridge_buffer_address(&there);
  Error error;
  for (const int32_t type : {int32_t{kDLMetal}, int32_t{kDLTPU}, 99, -1}) {
    EXPECT_EQ(Ask(buffer, type, &error), DLBRIDGE_ERROR_UNSUPPORTED) << type;
  }
  for (const int32_t kind : {int32_t{DLBRIDGE_BUFFER_HANDLE}, -1}) {
    buffer.kind = kind;
    EXPECT_EQ(Ask(buffer, kDLCPU, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT) << kind;
    EXPECT_TRUE(error.Says("buffer.kind")) << error.message;
  }
  buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
  EXPECT_EQ(Ask(buffer, kDLCPU, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(buffer, kDLCUDA, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  buffer.handle = 0;
  EXPECT_EQ(Ask(buffer, kDLOpenCL, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("NULL")) << error.message;
  buffer = dlbridge_buffer_address(&there);
  for (const DLBridgeBackend backend : {6, -1}) {
    buffer.backend = backend;
    EXPECT_EQ(Ask(buffer, kDLCPU, &error),
              backend < 0 ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_ERROR_TOO_NEW)
        << backend;
  }
}

// Validates a tensor of `spec` at DLBRIDGE_LEVEL_DEVICE.
DLBridgeStatus Validate(const TensorSpec& spec, Error* error) {
  VersionedSource source(spec);
  DLBridgePolicy policy = Policy();
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  const DLBridgeStatus status = dlbridge_validate_versioned(source.get(), &policy, error);
  EXPECT_TRUE(source.Untouched());
  source.Release();
  return status;
}

TEST(LevelDevice, AcceptsHostMemoryWithoutADriver) {
  Error error;
  EXPECT_EQ(Validate(TensorSpec(), &error), DLBRIDGE_OK) << error.message;
}

TEST(LevelDevice, IncludesTheLevelsBelow) {
  TensorSpec spec;
  spec.shape = {2, -3};
  Error error;
  EXPECT_EQ(Validate(spec, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_EXTENT_NEGATIVE);
}

TEST(LevelDevice, IsUnsupportedWithoutABackendOfTheDevice) {
  TensorSpec spec;
  spec.device = Device(kDLTrn);
  Error error;
  EXPECT_EQ(Validate(spec, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  spec.shape = {2, 0};
  EXPECT_EQ(Validate(spec, &error), DLBRIDGE_OK) << "an empty tensor touches no memory";
}

TEST(LevelDevice, IsANoteInDiagnoseWhereItCannotBeChecked) {
  TensorSpec spec;
  spec.device = Device(kDLTrn, 3);
  VersionedSource source(spec);
  DLBridgePolicy policy = Policy();
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  DLBridgeFinding findings[8];
  size_t count = 0;
  Error error;
  ASSERT_EQ(dlbridge_diagnose(source.get(), DLBRIDGE_KIND_VERSIONED, 0, &policy, findings, 8,
                              &count, &error),
            DLBRIDGE_OK);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(findings[0].rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_EQ(findings[0].severity, DLBRIDGE_SEVERITY_NOTE);
  EXPECT_STREQ(findings[0].expected, "memory of trn:3");
  EXPECT_STREQ(findings[0].found, "no driver to ask");
  source.Release();
}

#ifndef _WIN32

// Points the variable of each driver to a file that does not exist.
void TakeDriversAway() {
  for (const char* name :
       {"DLBRIDGE_LIBCUDA", "DLBRIDGE_LIBHIP", "DLBRIDGE_LIBZE", "DLBRIDGE_LIBOPENCL"}) {
    setenv(name, "/nowhere/libnone.so", 1);
  }
}

TEST(AbsentDriver, ReportsEachPathAndTheReason) {
  EXPECT_TRUE(InChild([] {
    TakeDriversAway();
    for (const DLBridgeBackend backend : {DLBRIDGE_BACKEND_CUDA, DLBRIDGE_BACKEND_HIP,
                                          DLBRIDGE_BACKEND_LEVEL_ZERO, DLBRIDGE_BACKEND_OPENCL}) {
      const DLBridgeBackendInfo info = Info(backend);
      EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
      EXPECT_EQ(info.device_count, 0);
      EXPECT_STREQ(info.file, "");
      const std::string reason = info.reason;
      EXPECT_EQ(reason.find("cannot open /nowhere/libnone.so: "), 0U) << reason;
      EXPECT_NE(reason.find("No such file"), std::string::npos) << reason;
#ifdef __GLIBC__
      EXPECT_EQ(reason.rfind("libnone"), reason.find("libnone")) << reason;
#endif
    }
  }));
}

TEST(AbsentDriver, MakesItsDevicesUnavailable) {
  EXPECT_TRUE(InChild([] {
    TakeDriversAway();
    for (const int32_t type :
         {kDLCUDA, kDLCUDAHost, kDLCUDAManaged, kDLROCM, kDLROCMHost, kDLOneAPI}) {
      TensorSpec spec;
      spec.device = Device(type);
      Error error;
      EXPECT_EQ(Validate(spec, &error), DLBRIDGE_ERROR_UNAVAILABLE) << type;
      EXPECT_TRUE(error.Says("/nowhere/libnone.so")) << error.message;
    }
    Error error;
    const DLBridgeStream queue = {
        DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, {kDLCUDA, 0}, 1, 0, 0};
    EXPECT_EQ(dlbridge_stream_synchronize(&queue, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(error.Says("CUDA is not available: cannot open /nowhere/libnone.so"))
        << error.message;
    EXPECT_TRUE(error.Says(" (details: dlbridge_backend_info)")) << error.message;
  }));
}

// The message keeps its end if the reason is long.
TEST(AbsentDriver, ALongReasonIsShortened) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBCUDA", ("/" + std::string(200, 'x')).c_str(), 1);
    Error error;
    const DLBridgeStream queue = {
        DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, {kDLCUDA, 0}, 1, 0, 0};
    EXPECT_EQ(dlbridge_stream_synchronize(&queue, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(error.Says("xxx... (details: dlbridge_backend_info)")) << error.message;
  }));
}

// An absent driver has no state that a fork could invalidate.
TEST(AbsentDriver, IsAbsentInAForkedChildToo) {
  EXPECT_TRUE(InChild([] {
    TakeDriversAway();
    EXPECT_EQ(Info(DLBRIDGE_BACKEND_CUDA).state, DLBRIDGE_STATE_ABSENT);
    EXPECT_TRUE(InChild([] {
      EXPECT_EQ(Info(DLBRIDGE_BACKEND_CUDA).state, DLBRIDGE_STATE_ABSENT);
      EXPECT_EQ(Info(DLBRIDGE_BACKEND_HIP).state, DLBRIDGE_STATE_ABSENT);
    }));
  }));
}

// The file is a library, but not the driver.
TEST(AbsentDriver, IsUnusableIfTheFileIsAnotherLibrary) {
  EXPECT_TRUE(InChild([] {
    for (const char* name :
         {"DLBRIDGE_LIBCUDA", "DLBRIDGE_LIBHIP", "DLBRIDGE_LIBZE", "DLBRIDGE_LIBOPENCL"}) {
      setenv(name, "libc.so.6", 1);
    }
    for (DLBridgeBackend backend = DLBRIDGE_BACKEND_CUDA; backend <= DLBRIDGE_BACKEND_OPENCL;
         ++backend) {
      const DLBridgeBackendInfo info = Info(backend);
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_NE(std::string(info.file).find("libc.so.6"), std::string::npos) << info.file;
      EXPECT_STRNE(info.reason, "");
    }
  }));
}

#endif

}  // namespace
}  // namespace dlbridge_test
