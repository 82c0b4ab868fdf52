// SPDX-License-Identifier: Apache-2.0
// CUDA memory between processes. A handle of the fake names a file of the exporter, so that the
// importer maps the same memory. Each process starts its own driver.
#include "device/cuda_fixture.h"
#include "native/backend.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

using dlbridge::IpcHandle;
using dlbridge::IpcMapping;
using dlbridge::kCudaBackend;

constexpr DLDevice kLabel = {kDLCUDA, 0};
constexpr size_t kSize = 4096;

void Start() {
  UseFakeCuda();
  ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
}

CUcontext MakeContext(int device) {
  CUcontext context = nullptr;
  EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, device));
  EXPECT_CUDA(cuCtxPopCurrent(&context));
  return context;
}

// Memory of device 0 with "abcd" at byte 100.
CUdeviceptr MakeMemory() {
  CUcontext context = MakeContext(0);
  EXPECT_CUDA(cuCtxPushCurrent(context));
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuMemAlloc(&address, kSize));
  CUcontext popped = nullptr;
  EXPECT_CUDA(cuCtxPopCurrent(&popped));
  fake_cuda_poke(address + 100, "abcd", 4);
  return address;
}

DLBridgeStatus Export(CUdeviceptr address, IpcHandle* out, Error* error) {
  return kCudaBackend.ipc_export(dlbridge_buffer_cuda(address), kLabel, {0, 4, nullptr}, out,
                                 error);
}

DLBridgeStatus Import(const IpcHandle& handle, IpcMapping* out, Error* error) {
  return kCudaBackend.ipc_import(handle, kLabel, nullptr, out, error);
}

void ExpectClean() {
  EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  EXPECT_EQ(fake_cuda_failures_left(), 0);
  EXPECT_EQ(Counts().live_mappings, 0);
  EXPECT_EQ(Counts().context_depth, 0);
}

// Two pipes: one carries the handle, on the other the exporter waits before it ends.
class CudaIpc : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(handles_), 0);
    ASSERT_EQ(pipe(done_), 0);
    exporter_ = fork();
    ASSERT_GE(exporter_, 0);
    if (exporter_ == 0) {
      RunExporter();
    }
    ASSERT_EQ(read(handles_[0], &handle_, sizeof handle_), static_cast<ssize_t>(sizeof handle_));
  }

  void TearDown() override {
    Dismiss();
    for (const int end : {handles_[0], handles_[1], done_[0]}) {
      close(end);
    }
  }

  // Ends the exporter.
  void Dismiss() {
    if (exporter_ > 0) {
      close(done_[1]);
      int status = 0;
      EXPECT_EQ(waitpid(exporter_, &status, 0), exporter_);
      EXPECT_EQ(status, 0) << "the exporter failed";
      exporter_ = 0;
    }
  }

  [[noreturn]] void RunExporter() {
    close(done_[1]);
    Start();
    Error error;
    EXPECT_EQ(Export(MakeMemory() + 100, &handle_, &error), DLBRIDGE_OK) << error.message;
    ExpectClean();
    EXPECT_EQ(write(handles_[1], &handle_, sizeof handle_), static_cast<ssize_t>(sizeof handle_));
    char end = 0;
    EXPECT_EQ(read(done_[0], &end, 1), 0);
    _exit(HasFailure() ? 1 : 0);
  }

  int handles_[2] = {-1, -1};
  int done_[2] = {-1, -1};
  pid_t exporter_ = 0;
  IpcHandle handle_ = {};
};

TEST_F(CudaIpc, TheHandleIsOfTheWholeAllocation) {
  EXPECT_EQ(handle_.length, 80U);
  EXPECT_EQ(handle_.offset, 100U);
  EXPECT_EQ(handle_.size, kSize);
  EXPECT_EQ(handle_.fd_count, 0U);
}

TEST_F(CudaIpc, AnotherProcessSeesTheMemory) {
  EXPECT_TRUE(InChild([&] {
    Start();
    fake_cuda_clear_log();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Log(),
              "cuCtxGetCurrent cuThreadExchangeStreamCaptureMode cuDevicePrimaryCtxGetState "
              "cuDevicePrimaryCtxRetain cuThreadExchangeStreamCaptureMode cuCtxPushCurrent_v2 "
              "cuThreadExchangeStreamCaptureMode cuCtxGetId cuIpcOpenMemHandle_v2 "
              "cuMemGetAddressRange_v2 cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
    EXPECT_EQ(mapping.size, kSize);
    EXPECT_EQ(mapping.device.device_id, 0);
    char text[4] = {};
    fake_cuda_peek(mapping.buffer.handle + 100, text, 4);
    EXPECT_EQ(std::string(text, 4), "abcd");
    fake_cuda_clear_log();
    kCudaBackend.ipc_close(mapping);
    EXPECT_EQ(Log(),
              "cuPointerGetAttributes cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode "
              "cuCtxGetId cuIpcCloseMemHandle cuThreadExchangeStreamCaptureMode "
              "cuCtxPopCurrent_v2 ");
    ExpectClean();
  }));
}

TEST_F(CudaIpc, ACaptureSurvivesOpeningAndClosing) {
  EXPECT_TRUE(InChild([&] {
    Start();
    EXPECT_CUDA(cuCtxPushCurrent(MakeContext(0)));
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    kCudaBackend.ipc_close(mapping);
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    ExpectClean();
  }));
}

// A destroyed context has removed the mapping; another one may have its handle.
TEST_F(CudaIpc, ClosingAfterTheContextWasDestroyed) {
  EXPECT_TRUE(InChild([&] {
    Start();
    CUcontext context = MakeContext(0);
    EXPECT_CUDA(cuCtxPushCurrent(context));
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_CUDA(cuCtxDestroy(context));
    kCudaBackend.ipc_close(mapping);
    EXPECT_EQ(MakeContext(0), context) << "the fake reuses handles";
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

// Device ordinals are local to a process: the UUID identifies the device.
TEST_F(CudaIpc, TheImportersOrdinalsMayDiffer) {
  EXPECT_TRUE(InChild([&] {
    setenv("FAKE_CUDA_REVERSED", "1", 1);
    Start();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(mapping.device.device_id, 1);
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

TEST_F(CudaIpc, ADeviceThatTheImporterDoesNotHave) {
  EXPECT_TRUE(InChild([&] {
    setenv("FAKE_CUDA_DEVICES", "1", 1);
    setenv("FAKE_CUDA_NO_UUID", "1", 1);
    Start();
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(error.Says("CUDA_VISIBLE_DEVICES")) << error.message;
    std::memset(handle_.bytes + 64, 0, 16);
    EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    ExpectClean();
  }));
}

TEST_F(CudaIpc, TheCurrentContextOfTheDeviceIsUsed) {
  EXPECT_TRUE(InChild([&] {
    Start();
    EXPECT_CUDA(cuCtxPushCurrent(MakeContext(0)));
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Counts().primary_created, 0);
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    kCudaBackend.ipc_close(mapping);  // closes in the context that opened it
    ExpectClean();
  }));
}

// CUDA lets one context of each device open the handles of another process.
TEST_F(CudaIpc, AnotherContextOfTheDevice) {
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_CUDA(cuCtxPushCurrent(MakeContext(0)));
    IpcMapping other = {};
    EXPECT_EQ(Import(handle_, &other, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("another context of this process")) << error.message;
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    ASSERT_EQ(Import(handle_, &other, &error), DLBRIDGE_OK) << error.message;
    kCudaBackend.ipc_close(other);
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

TEST_F(CudaIpc, TheFakeRejectsClosingInAnotherContext) {
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_CUDA(cuCtxPushCurrent(MakeContext(0)));
    EXPECT_EQ(cuIpcCloseMemHandle(mapping.buffer.handle), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_NE(std::strstr(fake_cuda_violation_texts(), "than it was opened in"), nullptr);
    fake_cuda_forgive();
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

TEST_F(CudaIpc, ADestroyedContextEndsItsMappings) {
  EXPECT_TRUE(InChild([&] {
    Start();
    CUcontext context = MakeContext(0);
    EXPECT_CUDA(cuCtxPushCurrent(context));
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_CUDA(cuCtxDestroy(context));
    EXPECT_EQ(MakeContext(0), context) << "the fake reuses handles";
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

TEST_F(CudaIpc, AnEndedExporter) {
  Dismiss();
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says("cuIpcOpenMemHandle")) << error.message;
    ExpectClean();
  }));
}

TEST_F(CudaIpc, AlteredDescriptors) {
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    IpcHandle altered = handle_;
    altered.length = 79;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    altered = handle_;
    altered.fd_count = 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    altered = handle_;
    altered.size = kSize + 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    EXPECT_TRUE(error.Says("larger")) << error.message;
    altered.size = UINT64_MAX;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    altered = handle_;
    altered.bytes[0] ^= 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(mapping.size, 0U) << "an output was written";
    ExpectClean();
  }));
}

TEST_F(CudaIpc, EachCallOfAnImportThatFailsIsNamed) {
  EXPECT_TRUE(InChild([&] {
    Start();
    const struct {
      const char* call;
      int nth;
    } failing[] = {{"cuCtxGetCurrent", 1},
                   {"cuDevicePrimaryCtxRetain", 1},
                   {"cuCtxGetId", 1},
                   {"cuThreadExchangeStreamCaptureMode", 1},
                   {"cuIpcOpenMemHandle_v2", 1},
                   {"cuMemGetAddressRange_v2", 1},
                   {"cuCtxPopCurrent_v2", 1},
                   {"cuCtxPushCurrent_v2", 1}};
    for (const auto& one : failing) {
      fake_cuda_fail(one.call, CUDA_ERROR_UNKNOWN, one.nth);
      IpcMapping mapping = {};
      Error error;
      EXPECT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_ERROR_DRIVER) << one.call;
      const std::string name = one.call;
      EXPECT_TRUE(error.Says(name.substr(0, name.find('_')).c_str())) << error.message;
      EXPECT_EQ(Counts().live_mappings, 0) << one.call;
      EXPECT_EQ(Counts().context_depth, 0) << one.call;
    }
    ExpectClean();
  }));
}

// In a child of the importer no function of the driver is called.
TEST_F(CudaIpc, ClosingInAForkedChildCallsNoDriver) {
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    EXPECT_TRUE(InChild([&] {
      fake_cuda_clear_log();
      kCudaBackend.ipc_close(mapping);
      EXPECT_EQ(Log(), "");
    }));
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

// Errors on closing cannot be reported.
TEST_F(CudaIpc, ClosingThatFailsLeavesTheContextAsItWas) {
  EXPECT_TRUE(InChild([&] {
    Start();
    IpcMapping mapping = {};
    Error error;
    ASSERT_EQ(Import(handle_, &mapping, &error), DLBRIDGE_OK) << error.message;
    for (const char* call : {"cuCtxGetId", "cuCtxPushCurrent_v2", "cuIpcCloseMemHandle"}) {
      fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
      kCudaBackend.ipc_close(mapping);
    }
    kCudaBackend.ipc_close(mapping);
    ExpectClean();
  }));
}

TEST(CudaIpcExport, MemoryThatCudaDoesNotShare) {
  EXPECT_TRUE(InChild([] {
    Start();
    EXPECT_CUDA(cuCtxPushCurrent(MakeContext(0)));
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr pooled = 0;
    EXPECT_CUDA(cuMemAllocAsync(&pooled, kSize, stream));
    CUdeviceptr managed = 0;
    EXPECT_CUDA(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL));
    void* pinned = nullptr;
    EXPECT_CUDA(cuMemHostAlloc(&pinned, kSize, 0));
    int on_stack = 0;
    const struct {
      CUdeviceptr address;
      const char* text;
    } cases[] = {{pooled, "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR"},
                 {fake_cuda_map(0, kSize), "cuMemAlloc"},
                 {managed, "device memory"},
                 {reinterpret_cast<CUdeviceptr>(pinned), "device memory"},
                 {reinterpret_cast<CUdeviceptr>(&on_stack), "device memory"}};
    for (const auto& one : cases) {
      IpcHandle handle = {};
      Error error;
      EXPECT_EQ(Export(one.address, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
      EXPECT_TRUE(error.Says(one.text)) << error.message;
      EXPECT_EQ(handle.length, 0U) << "an output was written";
    }
    EXPECT_EQ(fake_cuda_violations(), 0) << fake_cuda_violation_texts();
  }));
}

TEST(CudaIpcExport, EachCallThatFailsIsNamed) {
  EXPECT_TRUE(InChild([] {
    Start();
    const CUdeviceptr address = MakeMemory();
    for (const char* call :
         {"cuPointerGetAttributes", "cuCtxPushCurrent_v2", "cuMemGetAddressRange_v2",
          "cuIpcGetMemHandle", "cuCtxPopCurrent_v2"}) {
      fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
      IpcHandle handle = {};
      Error error;
      EXPECT_EQ(Export(address, &handle, &error), DLBRIDGE_ERROR_DRIVER) << call;
      const std::string name = call;
      EXPECT_TRUE(error.Says(name.substr(0, name.find('_')).c_str())) << error.message;
    }
    fake_cuda_fail("cuIpcGetMemHandle", CUDA_ERROR_INVALID_VALUE, 1);
    IpcHandle handle = {};
    Error error;
    EXPECT_EQ(Export(address, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("cudaMalloc")) << error.message;
    EXPECT_TRUE(error.Says("the driver reports it as suitable")) << error.message;
    ExpectClean();
  }));
}

TEST(CudaIpcExport, ADeviceWithoutAUuid) {
  EXPECT_TRUE(InChild([] {
    setenv("FAKE_CUDA_NO_UUID", "1", 1);
    Start();
    IpcHandle handle = {};
    Error error;
    EXPECT_EQ(Export(MakeMemory(), &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("UUID")) << error.message;
    ExpectClean();
  }));
}

}  // namespace
}  // namespace dlbridge_test
