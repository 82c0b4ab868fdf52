// SPDX-License-Identifier: Apache-2.0
// Tests of the fake libamdhip64 itself: each rule in tests/fakes/README.md is violated once.
#include <cstring>

#include "hip_world.h"

namespace dlbridge_test {
namespace {

// The fake's functions with AMD's prototypes.
#define FAKE(name) reinterpret_cast<decltype(&::name)>(Symbol(#name))

void* Symbol(const char* name) {
  static void* const library = dlopen(DLBRIDGE_FAKE_HIP6, RTLD_NOW | RTLD_LOCAL);
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    ADD_FAILURE() << name;
    std::abort();
  }
  return symbol;
}

void Init() { EXPECT_EQ(FAKE(hipInit)(0), hipSuccess); }

void SetDevice(int device) { EXPECT_EQ(FAKE(hipSetDevice)(device), hipSuccess); }

// A violation with this text was recorded.
void ExpectRefused(const FakeHip& fake, const char* words) {
  EXPECT_TRUE(Contains(fake.violations(), words)) << fake.violations();
  fake.clear_violations();
  fake.set_last_error(0);
}

hipStream_t Stream(const FakeHip& fake, int device) {
  return static_cast<hipStream_t>(fake.stream(device));
}

hipEvent_t Event() {
  hipEvent_t event = nullptr;
  EXPECT_EQ(FAKE(hipEventCreateWithFlags)(&event, hipEventDisableTiming), hipSuccess);
  return event;
}

HIP_TEST(HipFake, CallsBeforeInit) {
  int device = 0;
  EXPECT_EQ(FAKE(hipGetDevice)(&device), hipSuccess);
  ExpectRefused(fake, "hipGetDevice: before hipInit");
}

HIP_TEST(HipFake, CallsInAForkedChild) {
  Init();
  EXPECT_TRUE(InChild([&] {
    int device = 0;
    EXPECT_EQ(FAKE(hipGetDevice)(&device), hipSuccess);
    ExpectRefused(fake, "hipGetDevice: in a forked child");
  }));
}

HIP_TEST(HipFake, DevicesThatDoNotExist) {
  Init();
  for (const int device : {-1, 2}) {
    EXPECT_EQ(FAKE(hipSetDevice)(device), hipErrorInvalidDevice);
    ExpectRefused(fake, "hipSetDevice: no such device");
    hipUUID uuid;
    EXPECT_EQ(FAKE(hipDeviceGetUuid)(&uuid, device), hipErrorInvalidDevice);
    ExpectRefused(fake, "hipDeviceGetUuid: no such device");
    char bus[13];
    EXPECT_EQ(FAKE(hipDeviceGetPCIBusId)(bus, sizeof bus, device), hipErrorInvalidDevice);
    ExpectRefused(fake, "hipDeviceGetPCIBusId: no such device");
  }
  char bus[12];
  EXPECT_EQ(FAKE(hipDeviceGetPCIBusId)(bus, sizeof bus, 0), hipErrorInvalidValue);
  ExpectRefused(fake, "no room");
}

HIP_TEST(HipFake, ADeviceThatIsNotRestored) {
  Init();
  SetDevice(1);
  fake.settle(0, 0, 0);
  ExpectRefused(fake, "the thread's is not the application's any more");
  SetDevice(0);
}

HIP_TEST(HipFake, AnErrorThatIsNotCleared) {
  Init();
  fake.fail("hipSetDevice", 999, 1);
  EXPECT_EQ(static_cast<int>(FAKE(hipSetDevice)(0)), 999);
  fake.settle(0, 0, 0);
  ExpectRefused(fake, "last error: 999 is left behind");
}

HIP_TEST(HipFake, LeakedHandles) {
  Init();
  Event();
  hipStream_t stream = nullptr;
  EXPECT_EQ(FAKE(hipStreamCreateWithFlags)(&stream, hipStreamNonBlocking), hipSuccess);
  fake.settle(0, 0, 0);
  EXPECT_STREQ(fake.violations(), "events: 1 are left, 0 may be\nstreams: 1 are left, 0 may be\n");
  fake.clear_violations();
}

HIP_TEST(HipFake, HandlesOneAndTwo) {
  Init();
  for (const uintptr_t handle : {1, 2}) {
    EXPECT_NE(FAKE(hipStreamSynchronize)(reinterpret_cast<hipStream_t>(handle)), hipSuccess);
    ExpectRefused(fake, "hipStreamSynchronize: the handle 1 or 2");
  }
}

HIP_TEST(HipFake, InvalidStreams) {
  Init();
  int local = 0;
  EXPECT_NE(FAKE(hipStreamSynchronize)(reinterpret_cast<hipStream_t>(&local)), hipSuccess);
  ExpectRefused(fake, "hipStreamSynchronize: no stream");
  hipStream_t stream = Stream(fake, 0);
  fake.destroy_stream(stream);
  hipStreamCaptureStatus status;
  unsigned long long graph = 0;
  EXPECT_NE(FAKE(hipStreamSynchronize)(stream), hipSuccess);
  ExpectRefused(fake, "hipStreamSynchronize: a stream that was destroyed");
  EXPECT_NE(FAKE(hipStreamIsCapturing)(stream, &status), hipSuccess);
  ExpectRefused(fake, "hipStreamIsCapturing: a stream that was destroyed");
  EXPECT_NE(FAKE(hipStreamGetCaptureInfo)(stream, &status, &graph), hipSuccess);
  ExpectRefused(fake, "hipStreamGetCaptureInfo: a stream that was destroyed");
  EXPECT_EQ(FAKE(hipGetStreamDeviceId)(stream), -1);
  ExpectRefused(fake, "hipGetStreamDeviceId: a stream that was destroyed");
  EXPECT_NE(FAKE(hipStreamDestroy)(stream), hipSuccess);
  ExpectRefused(fake, "hipStreamDestroy: a stream that was destroyed");
  EXPECT_NE(FAKE(hipStreamDestroy)(nullptr), hipSuccess);
  ExpectRefused(fake, "nothing to destroy");
}

HIP_TEST(HipFake, BlockingStreams) {
  Init();
  hipStream_t stream = nullptr;
  EXPECT_NE(FAKE(hipStreamCreateWithFlags)(&stream, hipStreamDefault), hipSuccess);
  ExpectRefused(fake, "a stream that the default stream waits for");
}

HIP_TEST(HipFake, WaitsDuringACapture) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  fake.capture(stream, hipStreamCaptureStatusActive, 5);
  EXPECT_EQ(FAKE(hipStreamSynchronize)(nullptr), hipErrorStreamCaptureImplicit);
  ExpectRefused(fake, "the default stream during a capture");
  EXPECT_EQ(FAKE(hipStreamSynchronize)(stream), hipErrorStreamCaptureUnsupported);
  ExpectRefused(fake, "a stream that is capturing");
  EXPECT_EQ(fake.capture_state(stream), hipStreamCaptureStatusInvalidated);
}

HIP_TEST(HipFake, EventsWithTiming) {
  Init();
  hipEvent_t event = nullptr;
  EXPECT_NE(FAKE(hipEventCreateWithFlags)(&event, hipEventDefault), hipSuccess);
  ExpectRefused(fake, "an event that keeps time");
}

HIP_TEST(HipFake, InvalidEvents) {
  Init();
  int local = 0;
  hipStream_t stream = Stream(fake, 0);
  EXPECT_NE(FAKE(hipEventRecord)(reinterpret_cast<hipEvent_t>(&local), stream), hipSuccess);
  ExpectRefused(fake, "hipEventRecord: no event");
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventDestroy)(event), hipSuccess);
  EXPECT_NE(FAKE(hipEventDestroy)(event), hipSuccess);
  ExpectRefused(fake, "hipEventDestroy: an event that was destroyed");
  EXPECT_NE(FAKE(hipEventRecord)(event, stream), hipSuccess);
  ExpectRefused(fake, "hipEventRecord: an event that was destroyed");
  EXPECT_NE(FAKE(hipStreamWaitEvent)(stream, event, 0), hipSuccess);
  ExpectRefused(fake, "hipStreamWaitEvent: an event that was destroyed");
}

// An event of one device on a stream of another, also where that is the default stream of a device
// that is no longer the thread's.
HIP_TEST(HipFake, EventsOfAnotherDevice) {
  Init();
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(event, Stream(fake, 1)), hipErrorInvalidHandle);
  ExpectRefused(fake, "event and stream are of two devices");
  SetDevice(1);
  EXPECT_EQ(FAKE(hipEventRecord)(event, nullptr), hipErrorInvalidHandle);
  ExpectRefused(fake, "event and stream are of two devices");
  SetDevice(0);
}

HIP_TEST(HipFake, WaitsWithFlags) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(event, stream), hipSuccess);
  EXPECT_EQ(FAKE(hipStreamWaitEvent)(stream, event, 1), hipErrorInvalidValue);
  ExpectRefused(fake, "hipStreamWaitEvent: flags");
}

HIP_TEST(HipFake, WaitsForUnrecordedEvents) {
  Init();
  EXPECT_EQ(FAKE(hipStreamWaitEvent)(Stream(fake, 0), Event(), 0), hipSuccess);
  ExpectRefused(fake, "an event that was never recorded");
}

HIP_TEST(HipFake, GraphsAndEventsFromOutside) {
  Init();
  hipStream_t capturing = Stream(fake, 0);
  hipStream_t plain = Stream(fake, 0);
  hipStream_t other = Stream(fake, 0);
  fake.capture(capturing, hipStreamCaptureStatusActive, 5);
  fake.capture(other, hipStreamCaptureStatusActive, 6);
  hipEvent_t outside = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(outside, plain), hipSuccess);
  EXPECT_EQ(FAKE(hipStreamWaitEvent)(capturing, outside, 0), hipErrorStreamCaptureIsolation);
  ExpectRefused(fake, "a graph that waits for what is outside");
  hipEvent_t inside = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(inside, capturing), hipSuccess);
  EXPECT_EQ(FAKE(hipStreamWaitEvent)(other, inside, 0), hipErrorStreamCaptureMerge);
  ExpectRefused(fake, "an event of another graph");
  EXPECT_EQ(FAKE(hipEventRecord)(inside, plain), hipErrorInvalidHandle);
  ExpectRefused(fake, "an event that a graph has seen");
}

hipError_t Copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return FAKE(hipMemcpyAsync)(to, from, bytes, kind, stream);
}

HIP_TEST(HipFake, InvalidCopies) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  void* device = fake.allocate(kFakeDevice, 0, 64);
  char host[128] = {};
  EXPECT_NE(Copy(host, host, 64, hipMemcpyHostToDevice, stream), hipSuccess);
  ExpectRefused(fake, "a side that is no memory of a device");
  EXPECT_NE(Copy(device, device, 64, hipMemcpyHostToDevice, stream), hipSuccess);
  ExpectRefused(fake, "memory of a device as the host's");
  EXPECT_NE(Copy(device, host, 65, hipMemcpyHostToDevice, stream), hipSuccess);
  ExpectRefused(fake, "a copy that leaves the allocation");
  for (const hipMemcpyKind kind : {hipMemcpyDefault, hipMemcpyHostToHost}) {
    EXPECT_EQ(Copy(device, host, 64, kind, stream), hipErrorInvalidMemcpyDirection);
    ExpectRefused(fake, "a direction that says nothing");
  }
  fake.capture(stream, hipStreamCaptureStatusActive, 5);
  EXPECT_NE(Copy(device, host, 64, hipMemcpyHostToDevice, stream), hipSuccess);
  ExpectRefused(fake, "a copy that a graph would keep");
}

HIP_TEST(HipFake, InvalidPitches) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  void* device = fake.allocate(kFakeDevice, 0, 4096);
  static char host[4096];
  const auto copy = [&](size_t to_pitch, size_t from_pitch) {
    return FAKE(hipMemcpy2DAsync)(device, to_pitch, host, from_pitch, 16, 2, hipMemcpyHostToDevice,
                                  stream);
  };
  for (const size_t pitch : {size_t{15}, size_t{1} << 31}) {
    EXPECT_EQ(copy(pitch, 16), hipErrorInvalidPitchValue);
    ExpectRefused(fake, "a pitch that holds no row");
    EXPECT_EQ(copy(16, pitch), hipErrorInvalidPitchValue);
    ExpectRefused(fake, "a pitch that holds no row");
  }
}

HIP_TEST(HipFake, InvalidVolumes) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  void* device = fake.allocate(kFakeDevice, 0, 4096);
  static char host[4096];
  hipMemcpy3DParms good = {};
  good.dstPtr = {device, 16, 16, 2};
  good.srcPtr = {host, 16, 16, 2};
  good.extent = {16, 2, 2};
  good.kind = hipMemcpyHostToDevice;
  EXPECT_EQ(FAKE(hipMemcpy3DAsync)(&good, stream), hipSuccess);
  hipMemcpy3DParms bad = good;
  bad.srcPtr.pitch = 15;
  EXPECT_EQ(FAKE(hipMemcpy3DAsync)(&bad, stream), hipErrorInvalidPitchValue);
  ExpectRefused(fake, "a pitch that holds no row");
  bad = good;
  bad.dstPtr.ysize = 1;
  EXPECT_NE(FAKE(hipMemcpy3DAsync)(&bad, stream), hipSuccess);
  ExpectRefused(fake, "planes that overlap");
  bad = good;
  bad.srcArray = reinterpret_cast<hipArray_t>(host);
  EXPECT_NE(FAKE(hipMemcpy3DAsync)(&bad, stream), hipSuccess);
  ExpectRefused(fake, "an array and a pointer");
}

HIP_TEST(HipFake, InvalidMemoryHandles) {
  Init();
  void* device = fake.allocate(kFakeDevice, 0, 64);
  hipIpcMemHandle_t handle;
  EXPECT_NE(FAKE(hipIpcGetMemHandle)(&handle, static_cast<char*>(device) + 1), hipSuccess);
  ExpectRefused(fake, "not the start of an allocation");
  EXPECT_NE(FAKE(hipIpcGetMemHandle)(&handle, fake.allocate(kFakeHost, 0, 64)), hipSuccess);
  ExpectRefused(fake, "no memory of a device");
  EXPECT_EQ(FAKE(hipIpcGetMemHandle)(&handle, device), hipSuccess);
  void* opened = nullptr;
  EXPECT_NE(FAKE(hipIpcOpenMemHandle)(&opened, handle, 1), hipSuccess);
  ExpectRefused(fake, "hipIpcOpenMemHandle: flags");
  EXPECT_NE(FAKE(hipIpcCloseMemHandle)(device), hipSuccess);
  ExpectRefused(fake, "nothing that was opened");
  fake.set_last_error(0);
}

// Runs in the process of an importer.
TEST(HipFake, MappingsOfAnotherDevice) {
  const FakeHip& fake = *LoadFakeHip(DLBRIDGE_FAKE_HIP6);
  Init();
  hipIpcMemHandle_t handle;
  EXPECT_EQ(FAKE(hipIpcGetMemHandle)(&handle, fake.allocate(kFakeDevice, 0, 64)), hipSuccess);
  EXPECT_TRUE(InChild([&] {
    Init();  // the child stands for another process
    ExpectRefused(fake, "hipInit: in a forked child");
    void* opened = nullptr;
    SetDevice(1);
    EXPECT_NE(FAKE(hipIpcOpenMemHandle)(&opened, handle, 0), hipSuccess);
    EXPECT_TRUE(Contains(fake.violations(), "memory of another device than the thread's"));
    SetDevice(0);
    fake.clear_violations();
    EXPECT_EQ(FAKE(hipIpcOpenMemHandle)(&opened, handle, 0), hipSuccess);
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "mappings: 1 are left, 0 may be\n");
    SetDevice(1);
    fake.clear_violations();
    EXPECT_NE(FAKE(hipIpcCloseMemHandle)(opened), hipSuccess);
    ExpectRefused(fake, "memory of another device than the thread's");
  }));
}

}  // namespace
}  // namespace dlbridge_test
