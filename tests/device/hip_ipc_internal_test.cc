// SPDX-License-Identifier: Apache-2.0
// HIP memory between real processes, with the handles of the fake.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "hip_world.h"
#include "native/backend.h"

namespace dlbridge_test {
namespace {

using dlbridge::IpcHandle;
using dlbridge::IpcMapping;
using dlbridge::kHipBackend;

constexpr size_t kSize = 4096;

DLBridgeStatus Export(void* memory, IpcHandle* out, DLBridgeError* error) {
  return kHipBackend.ipc_export(dlbridge_buffer_hip(memory), dlbridge_device_hip(0),
                                {0, 4, nullptr}, out, error);
}

DLBridgeStatus Import(const IpcHandle& handle, IpcMapping* out, DLBridgeError* error) {
  return kHipBackend.ipc_import(handle, dlbridge_device_hip(0), nullptr, out, error);
}

// The message from one child to the other.
struct Post {
  IpcHandle handle;
};

Post* MapPost() {
  void* memory =
      mmap(nullptr, sizeof(Post), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Post{};
}

// Exports memory of device 1 in a child, which lives until `body` has run in another child.
template <class Body>
void WithExporter(const char* library, Body body) {
  Post* post = MapPost();
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready) | pipe(done), 0);
  const FakeHip& fake = *LoadFakeHip(library);  // maps its shared memory before the forks
  setenv("DLBRIDGE_LIBHIP", library, 1);
  const pid_t exporter = fork();
  if (exporter == 0) {
    close(done[1]);
    StartHip(fake);
    void* memory = fake.allocate(kFakeDevice, 1, kSize);
    std::memset(fake.bytes(memory), 42, kSize);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Export(static_cast<char*>(memory) + 100, &post->handle, &error), DLBRIDGE_OK)
        << error.message;
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "");
    char byte = 0;
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) < 0) {
      _exit(2);
    }
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(ready[1]);  // so that the read below ends if the exporter fails
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(InChild([&] {
    close(done[1]);
    body(fake, post->handle);
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "");
  }));
  close(done[1]);
  int status = 0;
  waitpid(exporter, &status, 0);
  EXPECT_EQ(status, 0);
}

// The importer sees the devices in another order.
void ExpectImport(const FakeHip& fake, const IpcHandle& handle) {
  fake.reverse_devices();
  StartHip(fake);
  fake.set_device(1);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  IpcMapping mapping;
  ASSERT_EQ(Import(handle, &mapping, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(mapping.size, kSize);
  EXPECT_EQ(handle.offset, 100U);
  EXPECT_EQ(handle.size, kSize);
  EXPECT_EQ(static_cast<int32_t>(mapping.device.device_type), kDLROCM);
  EXPECT_EQ(mapping.device.device_id, 0);
  EXPECT_EQ(mapping.buffer.backend, DLBRIDGE_BACKEND_HIP);
  void* memory = dlbridge_hip_pointer(&mapping.buffer);
  EXPECT_EQ(static_cast<char*>(fake.bytes(memory))[kSize - 1], 42);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&mapping.buffer, mapping.device, &info, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(info.size, kSize);
  kHipBackend.ipc_close(mapping);
}

TEST(HipIpc, BetweenProcesses) { WithExporter(DLBRIDGE_FAKE_HIP6, ExpectImport); }

TEST(HipIpc, FindsTheDeviceByItsBusWithoutAUuid) {
  WithExporter(DLBRIDGE_FAKE_HIP6, [](const FakeHip&, const IpcHandle& handle) {
    EXPECT_EQ(handle.bytes[64], 1) << "a UUID";
  });
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP6, [](const FakeHip& fake) {
    fake.set_uuids(false);
    StartHip(fake);
    void* memory = fake.allocate(kFakeDevice, 1, kSize);
    IpcHandle handle;
    EXPECT_EQ(Export(memory, &handle, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(handle.length, 96U);
    EXPECT_EQ(handle.bytes[64], 2) << "a bus";
    EXPECT_STREQ(reinterpret_cast<const char*>(handle.bytes + 65), "0000:04:00.0");
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    IpcMapping mapping;
    // The device is found: HIP only rejects handles of the same process.
    EXPECT_EQ(Import(handle, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, "hipIpcOpenMemHandle failed with 201")) << error.message;
  }));
}

TEST(HipIpc, CloseInAForkedChildCallsNothing) {
  WithExporter(DLBRIDGE_FAKE_HIP6, [](const FakeHip& fake, const IpcHandle& handle) {
    StartHip(fake);
    IpcMapping mapping;
    ASSERT_EQ(Import(handle, &mapping, nullptr), DLBRIDGE_OK);
    EXPECT_TRUE(InChild([&] {
      fake.clear_log();
      kHipBackend.ipc_close(mapping);
      EXPECT_STREQ(fake.log(), "");
    }));
    kHipBackend.ipc_close(mapping);
  });
}

// Neither an import nor its end forbids or breaks the capture of another thread.
TEST(HipIpc, DuringACapture) {
  WithExporter(DLBRIDGE_FAKE_HIP6, [](const FakeHip& fake, const IpcHandle& handle) {
    StartHip(fake);
    for (const int mode : {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal,
                           hipStreamCaptureModeRelaxed}) {
      void* capturing = fake.stream(0);
      std::thread([&] { fake.capture(capturing, 1, 5); }).join();
      fake.set_thread_mode(mode);
      IpcMapping mapping;
      DLBridgeError error = DLBRIDGE_ERROR_INIT;
      ASSERT_EQ(Import(handle, &mapping, &error), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(fake.thread_mode(), mode);
      kHipBackend.ipc_close(mapping);
      EXPECT_EQ(fake.thread_mode(), mode);
      EXPECT_EQ(fake.capture_state(capturing), 1) << mode;
      fake.capture(capturing, 0, 0);
      fake.set_thread_mode(hipStreamCaptureModeGlobal);
    }
  });
}

TEST(HipIpc, CallsOfAnImportThatFail) {
  WithExporter(DLBRIDGE_FAKE_HIP6, [](const FakeHip& fake, const IpcHandle& handle) {
    StartHip(fake);
    IpcMapping mapping;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    for (const char* function :
         {"hipDeviceGetUuid", "hipGetDevice", "hipSetDevice", "hipThreadExchangeStreamCaptureMode",
          "hipIpcOpenMemHandle", "hipMemGetAddressRange"}) {
      fake.fail(function, 999, 1);
      EXPECT_EQ(Import(handle, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
      EXPECT_TRUE(Contains(error.message, function)) << error.message;
      fake.settle(0, 0, 0);
      EXPECT_STREQ(fake.violations(), "") << function;
    }
    ASSERT_EQ(Import(handle, &mapping, &error), DLBRIDGE_OK);
    EXPECT_EQ(fake.last_error(), 0);
    fake.fail("hipIpcCloseMemHandle", 999, 1);
    kHipBackend.ipc_close(mapping);
    EXPECT_EQ(fake.last_error(), 0);
    fake.fail("hipGetDevice", 999, 1);
    kHipBackend.ipc_close(mapping);
    kHipBackend.ipc_close(mapping);
  });
}

TEST(HipIpc, AlteredDescriptors) {
  WithExporter(DLBRIDGE_FAKE_HIP6, [](const FakeHip& fake, const IpcHandle& handle) {
    StartHip(fake);
    IpcMapping mapping;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    IpcHandle altered = handle;
    for (const uint32_t length : {0U, 95U, 97U, 256U}) {
      altered.length = length;
      EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR) << length;
      EXPECT_TRUE(Contains(error.message, "expected 96 bytes")) << error.message;
    }
    altered = handle;
    altered.fd_count = 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    altered = handle;
    altered.bytes[64] = 3;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    altered = handle;
    altered.size = kSize + 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
    EXPECT_TRUE(Contains(error.message, "a larger size")) << error.message;
    altered = handle;
    altered.bytes[70] ^= 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_UNAVAILABLE);
    EXPECT_TRUE(Contains(error.message, "HIP_VISIBLE_DEVICES")) << error.message;
    altered = handle;
    altered.bytes[0] ^= 1;
    EXPECT_EQ(Import(altered, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
  });
}

TEST(HipIpc, AnEndedExporter) {
  Post* post = MapPost();
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP6, [=](const FakeHip& fake) {
    StartHip(fake);
    void* memory = fake.allocate(kFakeDevice, 0, kSize);
    EXPECT_EQ(Export(memory, &post->handle, nullptr), DLBRIDGE_OK);
  }));
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP6, [=](const FakeHip& fake) {
    StartHip(fake);
    IpcMapping mapping;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Import(post->handle, &mapping, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, "hipIpcOpenMemHandle failed with 17")) << error.message;
  }));
}

HIP_TEST(HipIpc, MemoryThatCannotBeShared) {
  StartHip(fake);
  IpcHandle handle;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  int local = 0;
  for (void* memory : {fake.allocate(kFakeHost, 0, 64), fake.allocate(kFakeManaged, 0, 64),
                       static_cast<void*>(&local)}) {
    EXPECT_EQ(Export(memory, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(Contains(error.message, "is not in device memory")) << error.message;
  }
  void* hidden = fake.allocate(kFakeDevice, 0, 64);
  fake.hide_range(hidden);
  EXPECT_EQ(Export(hidden, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(Contains(error.message, "whose start HIP does not report")) << error.message;
  void* mapped = fake.allocate(kFakeDevice, 0, 64);
  fake.unshareable(mapped);
  EXPECT_EQ(Export(mapped, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(Contains(error.message, "as it does memory of hipMemMap")) << error.message;
  EXPECT_TRUE(Contains(error.message, "copy it to memory of hipMalloc, and export the copy"))
      << error.message;
  EXPECT_EQ(error.native_code, 1);
  EXPECT_EQ(fake.last_error(), 0);
}

// HIP's events cannot order the work of two processes.
HIP_TEST(HipIpc, AStreamIsRejected) {
  StartHip(fake);
  void* memory = fake.allocate(kFakeDevice, 0, 64);
  const DLBridgeStream stream = dlbridge_stream_hip(nullptr, 0);
  IpcHandle handle = {};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.ipc_export(dlbridge_buffer_hip(memory), dlbridge_device_hip(0),
                                   {0, 4, &stream}, &handle, &error),
            DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(Contains(error.message, "dlbridge_stream_synchronize")) << error.message;
  EXPECT_EQ(handle.length, 0U);
}

// Format 2 is CUDA's.
HIP_TEST(HipIpc, AnotherFormatIsRejected) {
  StartHip(fake);
  IpcHandle handle = {};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  ASSERT_EQ(Export(fake.allocate(kFakeDevice, 0, 64), &handle, &error), DLBRIDGE_OK);
  EXPECT_EQ(handle.format, 1U);
  handle.format = 2;
  IpcMapping mapping;
  EXPECT_EQ(Import(handle, &mapping, &error), DLBRIDGE_ERROR_DESCRIPTOR);
}

HIP_TEST(HipIpc, CallsOfAnExportThatFail) {
  StartHip(fake);
  void* memory = fake.allocate(kFakeDevice, 1, 64);
  IpcHandle handle;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  for (const char* function :
       {"hipPointerGetAttributes", "hipMemGetAddressRange", "hipDeviceGetUuid", "hipGetDevice",
        "hipSetDevice", "hipThreadExchangeStreamCaptureMode", "hipIpcGetMemHandle"}) {
    fake.fail(function, 999, 1);
    EXPECT_EQ(Export(memory, &handle, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    EXPECT_EQ(fake.last_error(), 0);
  }
  fake.set_uuids(false);
  fake.fail("hipDeviceGetPCIBusId", 999, 1);
  EXPECT_EQ(Export(memory, &handle, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(Contains(error.message, "hipDeviceGetPCIBusId")) << error.message;
}

TEST(HipIpc, TheMinimalRuntimeCannotShareMemory) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    IpcHandle handle = {};
    IpcMapping mapping;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Export(fake.allocate(kFakeDevice, 0, 64), &handle, &error),
              DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(Contains(error.message, "has no hipIpc functions")) << error.message;
    EXPECT_EQ(Import(handle, &mapping, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  }));
}

}  // namespace
}  // namespace dlbridge_test
