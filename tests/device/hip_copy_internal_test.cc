// SPDX-License-Identifier: Apache-2.0
// Copies of the HIP backend: the calls and the bytes of each box, and no leaks.
#include <cstring>
#include <vector>

#include "hip_world.h"
#include "native/backend.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::CopySide;
using dlbridge::kHipBackend;

constexpr size_t kBytes = 4096;

CopySide Device(void* memory, int device) {
  return {false, dlbridge_device_hip(device), dlbridge_buffer_hip(memory)};
}

CopySide Host(void* memory) { return {true, {kDLCPU, 0}, dlbridge_buffer_address(memory)}; }

DLBridgeStatus Transfer(const CopySide& from, const CopySide& to, const CopyBox& box,
                        const DLBridgeStream& stream, DLBridgeError* error) {
  CopyJob job = {from, to, stream, false, false, false, {}};
  const DLBridgeStatus began = kHipBackend.copy_begin(&job, error);
  if (began != DLBRIDGE_OK) {
    return began;
  }
  const DLBridgeStatus copied = kHipBackend.copy_box(&job, box, error);
  const DLBridgeStatus finished =
      kHipBackend.copy_finish(&job, copied == DLBRIDGE_OK ? error : nullptr);
  return copied != DLBRIDGE_OK ? copied : finished;
}

struct Memory {
  char* host;
  void* device;
  char* device_bytes;
};

Memory MakeMemory(const FakeHip& fake, int device) {
  static char host[kBytes];
  void* memory = fake.allocate(kFakeDevice, device, kBytes);
  auto* bytes = static_cast<char*>(fake.bytes(memory));
  for (size_t i = 0; i < kBytes; ++i) {
    host[i] = static_cast<char>(i * 7 + i / 256);
    bytes[i] = static_cast<char>(i * 13 + i / 256 + 1);
  }
  return {host, memory, bytes};
}

// Copies the box byte by byte.
void CopyPlainly(char* to, const char* from, const CopyBox& box) {
  for (uint64_t plane = 0; plane < box.planes; ++plane) {
    for (uint64_t row = 0; row < box.rows; ++row) {
      std::memcpy(to + box.to_offset + plane * box.to_plane_pitch + row * box.to_row_pitch,
                  from + box.from_offset + plane * box.from_plane_pitch + row * box.from_row_pitch,
                  box.bytes);
    }
  }
}

struct Case {
  const char* name;
  CopyBox box;
  const char* calls;  // to the device (direction 1), between begin and finish
};

// bytes, rows, planes, offset/row pitch/plane pitch of the source, then of the target.
const Case kCases[] = {
    {"one run", {100, 1, 1, 8, 0, 0, 16, 0, 0}, "hipMemcpyAsync(100,1,s)"},
    {"nothing", {0, 3, 1, 0, 8, 8, 0, 8, 8}, ""},
    {"no rows", {8, 0, 1, 0, 8, 8, 0, 8, 8}, ""},
    {"no planes", {8, 1, 0, 0, 8, 8, 0, 8, 8}, ""},
    {"rows", {10, 3, 1, 0, 32, 0, 4, 10, 0}, "hipMemcpy2DAsync(10,32,10,3,1,s)"},
    {"compact rows", {10, 3, 1, 0, 10, 0, 4, 10, 0}, "hipMemcpyAsync(30,1,s)"},
    {"planes of one row", {10, 1, 3, 0, 0, 32, 0, 0, 10}, "hipMemcpy2DAsync(10,32,10,3,1,s)"},
    {"a volume", {10, 3, 4, 0, 32, 128, 0, 10, 30}, "hipMemcpy3DAsync(10,3,4,1,s)"}};

std::string WithStream(std::string calls, const std::string& stream) {
  for (size_t at = calls.find(",s)"); at != std::string::npos; at = calls.find(",s)", at + 1)) {
    calls.replace(at, 3, "," + stream + ")");
  }
  return calls;
}

HIP_TEST(HipCopy, EachBoxToTheDevice) {
  StartHip(fake);
  const DLBridgeStream stream = dlbridge_stream_hip(static_cast<hipStream_t>(fake.stream(0)), 0);
  for (const Case& entry : kCases) {
    const Memory memory = MakeMemory(fake, 0);
    std::vector<char> expected(memory.device_bytes, memory.device_bytes + kBytes);
    CopyPlainly(expected.data(), memory.host, entry.box);
    fake.clear_log();
    EXPECT_EQ(Transfer(Host(memory.host), Device(memory.device, 0), entry.box, stream, nullptr),
              DLBRIDGE_OK);
    const std::string calls = WithStream(entry.calls, "s1");
    EXPECT_EQ(fake.log(), "hipStreamIsCapturing(s1) " + calls + (calls.empty() ? "" : " ") +
                              Relaxed("hipStreamSynchronize(s1)"))
        << entry.name;
    EXPECT_EQ(std::memcmp(expected.data(), memory.device_bytes, kBytes), 0) << entry.name;
  }
}

TEST(HipCopy, EachBoxByTheLeastRuntime) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    for (const Case& entry : kCases) {
      const Memory memory = MakeMemory(fake, 1);
      std::vector<char> expected(memory.host, memory.host + kBytes);
      CopyPlainly(expected.data(), memory.device_bytes, entry.box);
      EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), entry.box, {}, nullptr),
                DLBRIDGE_OK);
      EXPECT_EQ(std::memcmp(expected.data(), memory.host, kBytes), 0) << entry.name;
    }
  }));
}

// Without a stream: the library creates one on the device of the memory and keeps it.
HIP_TEST(HipCopy, WithoutAStreamTheLibraryMakesOne) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 1);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), box, {}, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.log(), "hipGetDevice() hipSetDevice(1) " + Relaxed("hipStreamCreateWithFlags(1)") +
                            " hipSetDevice(0) hipMemcpyAsync(64,2,s1) " +
                            Relaxed("hipStreamSynchronize(s1)"));
  EXPECT_EQ(std::memcmp(memory.host, memory.device_bytes, 64), 0);
  fake.clear_log();
  EXPECT_EQ(Transfer(Host(memory.host), Device(memory.device, 1), box, {}, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.log(), "hipMemcpyAsync(64,1,s1) " + Relaxed("hipStreamSynchronize(s1)"));
  fake.settle(0, 1, 0);
}

HIP_TEST(HipCopy, BetweenDevices) {
  StartHip(fake);
  const Memory from = MakeMemory(fake, 0);
  const Memory to = MakeMemory(fake, 1);
  std::memset(to.device_bytes, 0, kBytes);
  const CopyBox box = {64, 2, 1, 0, 128, 0, 0, 64, 0};
  EXPECT_EQ(Transfer(Device(from.device, 0), Device(to.device, 1), box, {}, nullptr), DLBRIDGE_OK);
  EXPECT_TRUE(Contains(fake.log(),
                       "hipSetDevice(1) hipThreadExchangeStreamCaptureMode(2) "
                       "hipStreamCreateWithFlags(1)"))
      << fake.log();
  EXPECT_TRUE(Contains(fake.log(), "hipMemcpy2DAsync(64,128,64,2,3,s1)")) << fake.log();
  EXPECT_EQ(std::memcmp(to.device_bytes + 64, from.device_bytes + 128, 64), 0);
}

// Work that was enqueued on the caller's stream before is done before.
HIP_TEST(HipCopy, AfterTheWorkOnTheStream) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 1);
  void* native = fake.stream(1);
  fake.enqueue(
      native, 1, [](void* bytes) { std::memset(bytes, 42, 64); }, memory.device_bytes);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), box,
                     dlbridge_stream_hip(static_cast<hipStream_t>(native), 1), nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(memory.host[0], 42);
  EXPECT_EQ(memory.host[63], 42);
}

HIP_TEST(HipCopy, OnTheDefaultStream) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 1);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), box,
                     dlbridge_stream_hip(nullptr, 1), nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(fake.log(),
            "hipStreamIsCapturing(NULL) hipGetDevice() hipSetDevice(1) "
            "hipMemcpyAsync(64,2,NULL) hipSetDevice(0) hipGetDevice() hipSetDevice(1) " +
                Relaxed("hipStreamSynchronize(NULL)") + " hipSetDevice(0)");
}

HIP_TEST(HipCopy, OnThePerThreadStream) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 1);
  fake.enqueue(
      hipStreamPerThread, 1, [](void* bytes) { std::memset(bytes, 42, 64); }, memory.device_bytes);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), box,
                     dlbridge_stream_hip(hipStreamPerThread, 1), nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(memory.host[63], 42);
  EXPECT_EQ(fake.log(),
            "hipGetDevice() hipSetDevice(1) hipStreamIsCapturing(2) hipSetDevice(0) "
            "hipGetDevice() hipSetDevice(1) hipMemcpyAsync(64,2,2) hipSetDevice(0) "
            "hipGetDevice() hipSetDevice(1) " +
                Relaxed("hipStreamSynchronize(2)") + " hipSetDevice(0)");
}

// The runtime counts whole planes, of which the allocation holds one less.
HIP_TEST(HipCopy, AVolumeThatTheRuntimeRejects) {
  for (const bool to_device : {true, false}) {
    StartHip(fake);
    const Memory memory = MakeMemory(fake, 0);
    const CopyBox box = {64, 31, 2, 0, 64, 2112, 0, 64, 2112};
    const CopySide device = Device(memory.device, 0);
    const CopySide host = Host(memory.host);
    std::vector<char> expected(to_device ? memory.device_bytes : memory.host,
                               (to_device ? memory.device_bytes : memory.host) + kBytes);
    CopyPlainly(expected.data(), to_device ? memory.host : memory.device_bytes, box);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Transfer(to_device ? host : device, to_device ? device : host, box, {}, &error),
              DLBRIDGE_OK)
        << error.message;
    EXPECT_TRUE(Contains(fake.log(), "hipMemcpy3DAsync(64,31,2")) << fake.log();
    EXPECT_TRUE(Contains(fake.log(), "hipMemcpyAsync(1984")) << fake.log();
    EXPECT_EQ(std::memcmp(expected.data(), to_device ? memory.device_bytes : memory.host, kBytes),
              0);
    EXPECT_EQ(fake.last_error(), 0);
  }
}

HIP_TEST(HipCopy, RejectsACapturingStream) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 0);
  void* native = fake.stream(0);
  fake.capture(native, 1, 5);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Transfer(Device(memory.device, 0), Host(memory.host), box,
                     dlbridge_stream_hip(static_cast<hipStream_t>(native), 0), &error),
            DLBRIDGE_ERROR_CAPTURE);
  EXPECT_EQ(Transfer(Device(memory.device, 0), Host(memory.host), box,
                     dlbridge_stream_hip(nullptr, 0), &error),
            DLBRIDGE_ERROR_CAPTURE);
  EXPECT_EQ(fake.capture_state(native), 1);
  // A stream of the library is independent of captures.
  EXPECT_EQ(Transfer(Device(memory.device, 0), Host(memory.host), box, {}, &error), DLBRIDGE_OK)
      << error.message;
  fake.capture(native, 0, 0);
}

HIP_TEST(HipCopy, DevicesThatDoNotExist) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 0);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  for (const int id : {-1, 2}) {
    EXPECT_EQ(Transfer(Device(memory.device, id), Host(memory.host), box, {}, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(Contains(error.message, "source names device")) << error.message;
    EXPECT_EQ(Transfer(Host(memory.host), Device(memory.device, id), box, {}, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(Contains(error.message, "target names device")) << error.message;
    EXPECT_EQ(Transfer(Host(memory.host), Device(memory.device, id), box,
                       dlbridge_stream_hip(nullptr, 0), &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(Contains(error.message, "spec.target names device")) << error.message;
    EXPECT_EQ(Transfer(Host(memory.host), Device(memory.device, 0), box,
                       dlbridge_stream_hip(nullptr, id), &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_STREQ(fake.log(), "");
}

HIP_TEST(HipCopy, EachCallThatFails) {
  StartHip(fake);
  const CopyBox run = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  const CopyBox rows = {10, 3, 1, 0, 32, 0, 0, 10, 0};
  const CopyBox volume = {10, 3, 4, 0, 32, 128, 0, 10, 30};
  struct Failing {
    const char* function;
    const CopyBox* box;
  };
  const Failing failing[] = {{"hipGetDevice", &run},
                             {"hipSetDevice", &run},
                             {"hipThreadExchangeStreamCaptureMode", &run},
                             {"hipStreamCreateWithFlags", &run},
                             {"hipMemcpyAsync", &run},
                             {"hipMemcpy2DAsync", &rows},
                             {"hipMemcpy3DAsync", &volume},
                             {"hipStreamSynchronize", &run}};
  for (const Failing& entry : failing) {
    const Memory memory = MakeMemory(fake, 1);
    fake.fail(entry.function, 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), *entry.box, {}, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, entry.function)) << error.message;
    fake.settle(0, 1, 0);
    EXPECT_STREQ(fake.violations(), "") << entry.function;
  }
}

HIP_TEST(HipCopy, CallsOfTheDefaultStreamThatFail) {
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 1);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  for (const char* function : {"hipStreamIsCapturing", "hipGetDevice", "hipSetDevice",
                               "hipMemcpyAsync", "hipStreamSynchronize"}) {
    fake.fail(function, 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Transfer(Device(memory.device, 1), Host(memory.host), box,
                       dlbridge_stream_hip(nullptr, 1), &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "") << function;
  }
}

HIP_TEST(HipCopy, DevicesWithoutAPool) {
  fake.set_device_count(40);
  StartHip(fake);
  const Memory memory = MakeMemory(fake, 39);
  const CopyBox box = {64, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Transfer(Device(memory.device, 39), Host(memory.host), box, {}, nullptr), DLBRIDGE_OK);
  fake.settle(0, 0, 0);
  fake.fail("hipStreamDestroy", 999, 1);
  EXPECT_EQ(Transfer(Device(memory.device, 39), Host(memory.host), box, {}, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.last_error(), 0);
}

}  // namespace
}  // namespace dlbridge_test
