// SPDX-License-Identifier: Apache-2.0
// The start of the backend and the reasons for its failure. A driver starts once per process, so
// each state has its own child; this process never starts one.
#include "device/cuda_fixture.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

DLBridgeBackendInfo Info() {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  EXPECT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr), DLBRIDGE_OK);
  return info;
}

bool Has(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

DLBridgeStatus AskPointer(DLBridgeError* error) {
  int on_stack = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&on_stack);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  return dlbridge_pointer_info(&buffer, {kDLCUDA, 0}, &info, error);
}

TEST(CudaStart, ReadyWithFileVersionAndDevices) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_EQ(info.device_count, 2);
    EXPECT_EQ(info.driver_code, 0);
    EXPECT_STREQ(info.driver_version, "12.2");
    EXPECT_STREQ(info.runtime_version, "");
    EXPECT_TRUE(Has(info.file, "libcuda.so")) << info.file;
    EXPECT_STREQ(info.reason, "");
    EXPECT_EQ(Counts().primary_created, 0);
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
}

TEST(CudaStart, UsesADriverThatIsAlreadyLoaded) {
  EXPECT_TRUE(InChild([] {
    const DLBridgeBackendInfo info = Info();  // this program links the fake
    EXPECT_EQ(info.state, DLBRIDGE_STATE_READY) << info.reason;
    EXPECT_TRUE(Has(info.file, "fake_cuda")) << info.file;
  }));
}

TEST(CudaStart, AbsentWithEachPathTried) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_TRUE(Has(info.reason, "/nowhere/libcuda.so.1")) << info.reason;
    Error error;
    EXPECT_EQ(AskPointer(&error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(error.Says("/nowhere")) << error.message;
  }));
}

TEST(CudaStart, AnotherLibraryLacksItsFunctions) {
  EXPECT_TRUE(InChild([] {
    setenv("DLBRIDGE_LIBCUDA", "libm.so.6", 1);
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_TRUE(Has(info.reason, "lacks cuInit")) << info.reason;
    EXPECT_TRUE(Has(info.file, "libm.so.6")) << info.file;
  }));
}

struct InitFailure {
  const char* code;
  const char* reason;
};

TEST(CudaStart, UnusableWithTheDriversCode) {
  const InitFailure failures[] = {
      {"100", "cuInit failed with 100 (CUDA_ERROR_NO_DEVICE): the machine has no NVIDIA device"},
      {"802", "cuInit failed with 802 (CUDA_ERROR_SYSTEM_NOT_READY): the system's services"},
      {"803", "cuInit failed with 803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH): the kernel module"},
      {"804", "cuInit failed with 804: the compatibility package"},
      {"999", "cuInit failed with 999 (CUDA_ERROR_UNKNOWN)"},
      {"46", "cuInit failed with 46"},
  };
  for (const InitFailure& failure : failures) {
    EXPECT_TRUE(InChild([&] {
      UseFakeCuda();
      setenv("FAKE_CUDA_INIT", failure.code, 1);
      const DLBridgeBackendInfo info = Info();
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_EQ(info.driver_code, std::atoi(failure.code));
      EXPECT_EQ(info.device_count, 0);
      EXPECT_TRUE(Has(info.reason, failure.reason)) << info.reason;
      Error error;
      EXPECT_EQ(AskPointer(&error), DLBRIDGE_ERROR_UNAVAILABLE);
      EXPECT_TRUE(error.Says("cuInit failed")) << error.message;
    }));
  }
}

TEST(CudaStart, TheToolkitsStubIsUnusable) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    setenv("FAKE_CUDA_STUB", "1", 1);
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_TRUE(Has(info.reason, "cuDriverGetVersion failed with 34: the toolkit's stub"))
        << info.reason;
  }));
}

TEST(CudaStart, NoDevicesLeft) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    const DLBridgeBackendInfo info = Info();
    EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
    EXPECT_TRUE(Has(info.reason, "no NVIDIA device")) << info.reason;
  }));
}

TEST(CudaStart, EachCallThatFailsIsNamed) {
  const struct {
    const char* call;
    int nth;
  } failing[] = {{"cuDriverGetVersion", 1},
                 {"cuInit", 1},
                 {"cuThreadExchangeStreamCaptureMode", 1},
                 {"cuThreadExchangeStreamCaptureMode", 2},
                 {"cuDeviceGetCount", 1},
                 {"cuDeviceGet", 1}};
  for (const auto& one : failing) {
    const char* call = one.call;
    EXPECT_TRUE(InChild([&] {
      UseFakeCuda();
      fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, one.nth);
      const DLBridgeBackendInfo info = Info();
      EXPECT_EQ(info.state, DLBRIDGE_STATE_UNUSABLE);
      EXPECT_EQ(std::string(info.reason),
                std::string(call) + " failed with 999 (CUDA_ERROR_UNKNOWN)");
    }));
  }
}

TEST(CudaStart, WorksWithoutUuids) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    fake_cuda_fail("cuDeviceGetUuid_v2", CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(Info().state, DLBRIDGE_STATE_READY);
  }));
}

// The largest pitch of rectangles is then not known: copies go row by row.
TEST(CudaStart, WorksWithoutAPitchLimit) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    fake_cuda_fail("cuDeviceGetAttribute", CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(Info().state, DLBRIDGE_STATE_READY);
  }));
}

TEST(CudaStart, DuringACapture) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    EXPECT_CUDA(cuInit(0));
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(Info().state, DLBRIDGE_STATE_READY);
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
    EXPECT_EQ(Counts().capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    // The fake records a second cuInit.
    EXPECT_STREQ(fake_cuda_violation_texts(), "cuInit more than once\n");
  }));
}

// A driver before 10.2 rejects the range attributes: base and size stay unknown.
TEST(CudaStart, OlderDriversReportNoRange) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    setenv("FAKE_CUDA_VERSION", "10010", 1);
    int on_stack = 0;
    DLBridgeBuffer buffer = dlbridge_buffer_address(&on_stack);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLCUDA, 0}, &info, &error), DLBRIDGE_OK)
        << error.message;
    CUcontext context = nullptr;
    EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAlloc(&address, 64));
    buffer = dlbridge_buffer_cuda(address);
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLCUDA, 0}, &info, &error), DLBRIDGE_OK)
        << error.message;
    EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_DEVICE);
    EXPECT_EQ(info.base, 0U);
    EXPECT_EQ(info.size, 0U);
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
}

TEST(CudaStart, AHostPointerStartsNoDriver) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    int on_stack = 0;
    const DLBridgeBuffer buffer = dlbridge_buffer_address(&on_stack);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLCPU, 0}, &info, nullptr), DLBRIDGE_OK);
    EXPECT_STREQ(fake_cuda_log(), "");
  }));
}

TEST(CudaStart, AForkedChildIsRejected) {
  EXPECT_TRUE(InChild([] {
    UseFakeCuda();
    EXPECT_EQ(Info().state, DLBRIDGE_STATE_READY);
    fake_cuda_clear_log();
    EXPECT_TRUE(InChild([] {
      Error error;
      EXPECT_EQ(AskPointer(&error), DLBRIDGE_ERROR_FORKED);
      DLBridgeStream a = dlbridge_stream_cuda(CU_STREAM_LEGACY, 0);
      DLBridgeStream b = dlbridge_stream_cuda(CU_STREAM_PER_THREAD, 0);
      EXPECT_EQ(dlbridge_stream_handoff(&a, &b, 0, &error), DLBRIDGE_ERROR_FORKED);
      EXPECT_EQ(dlbridge_stream_synchronize(&a, &error), DLBRIDGE_ERROR_FORKED);
      EXPECT_TRUE(error.Says("forked")) << error.message;
      EXPECT_STREQ(fake_cuda_log(), "");
      EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
    }));
  }));
}

}  // namespace
}  // namespace dlbridge_test
