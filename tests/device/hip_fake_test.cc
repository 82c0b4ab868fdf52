// SPDX-License-Identifier: Apache-2.0
// Tests of the fake libamdhip64 itself: each rule in tests/fakes/README.md is violated once.
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "device/hip/driver.h"
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

// The headers of 5.2 do not declare it.
using GetDeviceFunction = hipError_t(hipStream_t, hipDevice_t*);
GetDeviceFunction* GetDevice() {
  return reinterpret_cast<GetDeviceFunction*>(Symbol("hipStreamGetDevice"));
}

hipStream_t Stream(const FakeHip& fake, int device) {
  return static_cast<hipStream_t>(fake.stream(device));
}

hipEvent_t Event() {
  hipEvent_t event = nullptr;
  EXPECT_EQ(FAKE(hipEventCreateWithFlags)(&event, hipEventDisableTiming), hipSuccess);
  return event;
}

// Without a function that runtimes may lack, the library would take the way for older runtimes.
TEST(HipFake, HasEachFunctionThatTheLibraryCalls) {
  void* fake = dlopen(DLBRIDGE_FAKE_HIP6, RTLD_NOW);
#define EXPECT_FUNCTION(name, needed, result, parameters) \
  EXPECT_NE(dlsym(fake, #name), nullptr) << "tests/fakes/hip has no " #name;
  DLBRIDGE_HIP_FUNCTIONS(EXPECT_FUNCTION)
#undef EXPECT_FUNCTION
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

HIP_TEST(HipFake, HandleOne) {
  fake.set_version(kHip62);
  Init();
  auto* const legacy = reinterpret_cast<hipStream_t>(uintptr_t{1});
  EXPECT_NE(FAKE(hipStreamSynchronize)(legacy), hipSuccess);
  ExpectRefused(fake, "hipStreamSynchronize: the handle 1");
  fake.set_version(kHip6);
  EXPECT_EQ(FAKE(hipStreamSynchronize)(legacy), hipSuccess);
  hipDevice_t device = 0;
  EXPECT_NE(GetDevice()(legacy, &device), hipSuccess);
  ExpectRefused(fake, "hipStreamGetDevice: the handle 1");
}

// The per-thread stream is one of the thread and of its current device, and ends with the thread.
HIP_TEST(HipFake, HandleTwo) {
  Init();
  int done = 0;
  const auto enqueue = [&] {
    fake.enqueue(
        hipStreamPerThread, 1, [](void* work) { ++*static_cast<int*>(work); }, &done);
  };
  enqueue();
  EXPECT_EQ(FAKE(hipStreamSynchronize)(hipStreamPerThread), hipSuccess);
  SetDevice(1);
  std::thread([&] {
    SetDevice(1);
    EXPECT_EQ(FAKE(hipStreamSynchronize)(hipStreamPerThread), hipSuccess);
    EXPECT_EQ(done, 0);
    enqueue();
  }).join();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(FAKE(hipStreamSynchronize)(hipStreamPerThread), hipSuccess);
  EXPECT_EQ(done, 2);
  EXPECT_NE(FAKE(hipStreamDestroy)(hipStreamPerThread), hipSuccess);
  ExpectRefused(fake, "nothing to destroy");
  SetDevice(0);
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
  hipDevice_t device = 0;
  EXPECT_EQ(FAKE(hipGetStreamDeviceId)(stream), -1);
  EXPECT_EQ(GetDevice()(stream, &device), hipErrorContextIsDestroyed);
  EXPECT_STREQ(fake.violations(), "") << "these two functions check the handle";
  EXPECT_EQ(FAKE(hipGetStreamDeviceId)(reinterpret_cast<hipStream_t>(&local)), -1);
  ExpectRefused(fake, "hipGetStreamDeviceId: no stream");
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

constexpr int kModes[] = {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal,
                          hipStreamCaptureModeRelaxed};

// Calls `function` in each mode of the thread while a capture in each mode is in progress, on this
// thread or on another. Expects that RELAXED alone keeps a capture that concerns the thread.
template <class Function>
void ExpectInRelaxedModeOnly(const FakeHip& fake, const char* name, const Function& function) {
  for (const int capture : kModes) {
    for (const int mode : kModes) {
      for (const bool own : {true, false}) {
        auto* stream = static_cast<hipStream_t>(fake.non_blocking_stream(0));
        const auto begin = [&] { fake.capture_in_mode(stream, capture, 5); };
        std::promise<void> end;
        std::promise<void> began;
        std::thread other([&] {
          own ? void() : begin();
          began.set_value();
          end.get_future().wait();
        });
        began.get_future().wait();
        own ? begin() : void();
        const bool concerned = capture == hipStreamCaptureModeGlobal ||
                               (own && capture == hipStreamCaptureModeThreadLocal);
        const bool fails = concerned && mode != hipStreamCaptureModeRelaxed;
        fake.set_thread_mode(mode);
        EXPECT_EQ(function(), fails ? hipErrorStreamCaptureUnsupported : hipSuccess) << name;
        EXPECT_EQ(fake.capture_state(stream),
                  fails ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive)
            << name << capture << mode << own;
        EXPECT_EQ(Contains(fake.violations(), "during a capture, in a mode other than RELAXED"),
                  fails);
        fake.set_thread_mode(hipStreamCaptureModeGlobal);
        fake.capture(stream, 0, 0);
        fake.clear_violations();
        fake.set_last_error(0);
        end.set_value();
        other.join();
      }
    }
  }
}

HIP_TEST(HipFake, UnsafeCallsDuringACapture) {
  Init();
  hipStream_t idle = Stream(fake, 0);
  ExpectInRelaxedModeOnly(fake, "hipStreamSynchronize",
                          [&] { return FAKE(hipStreamSynchronize)(idle); });
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(event, idle), hipSuccess);
  fake.run(idle, 0);
  ExpectInRelaxedModeOnly(fake, "hipEventSynchronize",
                          [&] { return FAKE(hipEventSynchronize)(event); });
  ExpectInRelaxedModeOnly(fake, "hipEventQuery", [&] { return FAKE(hipEventQuery)(event); });
  ExpectInRelaxedModeOnly(fake, "hipEventCreateWithFlags", [&] {
    hipEvent_t created = nullptr;
    return FAKE(hipEventCreateWithFlags)(&created, hipEventDisableTiming);
  });
  std::vector<hipEvent_t> events(13);
  for (hipEvent_t& one : events) {
    one = Event();
  }
  ExpectInRelaxedModeOnly(fake, "hipEventDestroy", [&] {
    const hipError_t result = FAKE(hipEventDestroy)(events.back());
    events.resize(events.size() - (result == hipSuccess ? 1 : 0));
    return result;
  });
  std::vector<hipStream_t> streams;
  ExpectInRelaxedModeOnly(fake, "hipStreamCreateWithFlags", [&] {
    hipStream_t created = nullptr;
    const hipError_t result = FAKE(hipStreamCreateWithFlags)(&created, hipStreamNonBlocking);
    if (result == hipSuccess) {
      streams.push_back(created);
    }
    return result;
  });
  ExpectInRelaxedModeOnly(fake, "hipStreamDestroy", [&] {
    const hipError_t result = FAKE(hipStreamDestroy)(streams.back());
    streams.resize(streams.size() - (result == hipSuccess ? 1 : 0));
    return result;
  });
  void* device = fake.allocate(kFakeDevice, 0, 64);
  ExpectInRelaxedModeOnly(fake, "hipIpcGetMemHandle", [&] {
    hipIpcMemHandle_t handle;
    return FAKE(hipIpcGetMemHandle)(&handle, device);
  });
}

// Runtimes before 6.1 look at no mode, and break no capture.
HIP_TEST(HipFake, WaitsDuringACaptureBefore61) {
  fake.set_version(kHip60);
  Init();
  auto* capturing = static_cast<hipStream_t>(fake.non_blocking_stream(0));
  hipStream_t idle = Stream(fake, 0);
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(event, idle), hipSuccess);
  fake.run(idle, 0);
  fake.capture(capturing, hipStreamCaptureStatusActive, 5);
  fake.set_thread_mode(hipStreamCaptureModeRelaxed);
  EXPECT_EQ(FAKE(hipStreamSynchronize)(idle), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(FAKE(hipEventSynchronize)(event), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(FAKE(hipEventQuery)(event), hipSuccess);
  EXPECT_EQ(fake.capture_state(capturing), hipStreamCaptureStatusActive);
  fake.set_thread_mode(hipStreamCaptureModeGlobal);
}

HIP_TEST(HipFake, AModeThatIsNotRestored) {
  Init();
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  EXPECT_EQ(FAKE(hipThreadExchangeStreamCaptureMode)(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeGlobal);
  fake.settle(0, 0, 0);
  ExpectRefused(fake, "capture mode: the thread's is not the application's any more");
  EXPECT_EQ(FAKE(hipThreadExchangeStreamCaptureMode)(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeRelaxed);
}

HIP_TEST(HipFake, EventsOfAStreamThatCapturesOrIsDestroyed) {
  Init();
  fake.set_thread_mode(hipStreamCaptureModeRelaxed);
  for (const auto& function : {FAKE(hipEventQuery), FAKE(hipEventSynchronize)}) {
    hipStream_t stream = Stream(fake, 0);
    hipEvent_t event = Event();
    EXPECT_NE(function(event), hipSuccess);
    ExpectRefused(fake, "an event that was never recorded");
    EXPECT_EQ(FAKE(hipEventRecord)(event, stream), hipSuccess);
    fake.run(stream, 0);
    EXPECT_EQ(function(event), hipSuccess);
    fake.capture(stream, hipStreamCaptureStatusActive, 5);
    EXPECT_EQ(function(event), hipErrorCapturedEvent);
    ExpectRefused(fake, "an event of a stream that is capturing");
    EXPECT_EQ(fake.capture_state(stream), hipStreamCaptureStatusInvalidated);
    fake.capture(stream, 0, 0);
    fake.destroy_stream(stream);
    EXPECT_NE(function(event), hipSuccess);
    ExpectRefused(fake, "an event of a stream that was destroyed");
  }
  fake.set_thread_mode(hipStreamCaptureModeGlobal);
}

// Work that is not over: the last error until HIP 6, none from 7 on.
HIP_TEST(HipFake, EventsThatAreNotReady) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  hipEvent_t event = Event();
  EXPECT_EQ(FAKE(hipEventRecord)(event, stream), hipSuccess);
  EXPECT_EQ(FAKE(hipEventQuery)(event), hipErrorNotReady);
  EXPECT_EQ(fake.last_error(), hipErrorNotReady);
  fake.set_version(kHip7);
  fake.set_last_error(5);
  EXPECT_EQ(FAKE(hipEventQuery)(event), hipErrorNotReady);
  EXPECT_EQ(fake.last_error(), 5);
  fake.set_last_error(0);
  fake.run(stream, 0);
  EXPECT_EQ(FAKE(hipEventQuery)(event), hipSuccess);
}

HIP_TEST(HipFake, CallsAfterAFault) {
  Init();
  fake.fault(700);
  int device = 0;
  EXPECT_EQ(static_cast<int>(FAKE(hipGetDevice)(&device)), 700);
  EXPECT_EQ(static_cast<int>(FAKE(hipStreamSynchronize)(nullptr)), 700);
  fake.fault(0);
  EXPECT_EQ(FAKE(hipGetDevice)(&device), hipSuccess);
}

HIP_TEST(HipFake, PeersThatDoNotExist) {
  Init();
  int can = 0;
  EXPECT_EQ(FAKE(hipDeviceCanAccessPeer)(&can, 0, 2), hipErrorInvalidDevice);
  ExpectRefused(fake, "hipDeviceCanAccessPeer: no such device");
  EXPECT_EQ(FAKE(hipDeviceCanAccessPeer)(&can, 0, 0), hipSuccess);
  EXPECT_EQ(can, 0);
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
  hipEvent_t outside = Event();
  hipEvent_t inside = Event();
  fake.capture(capturing, hipStreamCaptureStatusActive, 5);
  fake.capture(other, hipStreamCaptureStatusActive, 6);
  EXPECT_EQ(FAKE(hipEventRecord)(outside, plain), hipSuccess);
  EXPECT_EQ(FAKE(hipStreamWaitEvent)(capturing, outside, 0), hipErrorStreamCaptureIsolation);
  ExpectRefused(fake, "a graph that waits for what is outside");
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

// The last plane may be cut off in the allocation, but not for the runtimes from 5.7 on.
HIP_TEST(HipFake, VolumesWithoutTheEndOfTheLastPlane) {
  Init();
  hipStream_t stream = Stream(fake, 0);
  void* device = fake.allocate(kFakeDevice, 0, 2112 + 1984);
  static char host[4096];
  hipMemcpy3DParms copy = {};
  copy.dstPtr = {device, 64, 64, 33};
  copy.srcPtr = {host, 64, 64, 31};
  copy.extent = {64, 31, 2};
  copy.kind = hipMemcpyHostToDevice;
  EXPECT_EQ(FAKE(hipMemcpy3DAsync)(&copy, stream), hipErrorInvalidValue);
  fake.set_version(kHip5);
  EXPECT_EQ(FAKE(hipMemcpy3DAsync)(&copy, stream), hipSuccess);
}

HIP_TEST(HipFake, InvalidMemoryHandles) {
  Init();
  void* device = fake.allocate(kFakeDevice, 0, 64);
  hipIpcMemHandle_t handle;
  EXPECT_NE(FAKE(hipIpcGetMemHandle)(&handle, static_cast<char*>(device) + 1), hipSuccess);
  ExpectRefused(fake, "not the start of an allocation");
  EXPECT_NE(FAKE(hipIpcGetMemHandle)(&handle, fake.allocate(kFakeHost, 0, 64)), hipSuccess);
  ExpectRefused(fake, "no memory of a device");
  EXPECT_NE(FAKE(hipIpcGetMemHandle)(&handle, fake.allocate(kFakeDevice, 1, 64)), hipSuccess);
  ExpectRefused(fake, "memory of another device than the thread's");
  void* mapped = fake.allocate(kFakeDevice, 0, 64);
  fake.unshareable(mapped);
  EXPECT_EQ(FAKE(hipIpcGetMemHandle)(&handle, mapped), hipErrorInvalidValue);
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
