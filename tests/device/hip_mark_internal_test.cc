// SPDX-License-Identifier: Apache-2.0
// Marks of HIP streams, and copies that end with one.
#include <cstring>
#include <string>
#include <thread>

#include "hip_world.h"
#include "native/backend.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::CopySide;
using dlbridge::kHipBackend;
using dlbridge::StreamMark;

DLBridgeStream On(void* stream, int device) {
  return dlbridge_stream_hip(static_cast<hipStream_t>(stream), device);
}

void Increase(void* number) { ++*static_cast<int*>(number); }

StreamMark Mark(const DLBridgeStream& stream) {
  StreamMark mark = {};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.mark(stream, "stream", &mark, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(mark.backend, DLBRIDGE_BACKEND_HIP);
  return mark;
}

bool IsOver(const StreamMark& mark) {
  bool over = false;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.mark_query(mark, &over, &error), DLBRIDGE_OK) << error.message;
  return over;
}

void Wait(const StreamMark& mark) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.mark_wait(mark, &error), DLBRIDGE_OK) << error.message;
}

// The streams of the checks below: created, default, legacy, the thread's own.
constexpr uintptr_t kSpecial[] = {0, 1, 2};

HIP_TEST(HipMark, IsOverWhenTheWorkIs) {
  StartHip(fake);
  for (int i = 0; i < 4; ++i) {
    void* stream = i == 3 ? fake.stream(1) : reinterpret_cast<void*>(kSpecial[i]);
    void* queue = i == 1 ? nullptr : stream;
    int done = 0;
    fake.enqueue(queue, 1, Increase, &done);
    const StreamMark mark = Mark(On(stream, 1));
    fake.enqueue(queue, 1, Increase, &done);
    EXPECT_FALSE(IsOver(mark)) << i;
    EXPECT_EQ(done, 0) << "a query does not wait";
    EXPECT_EQ(fake.last_error(), 0) << "not ready is no error";
    Wait(mark);
    EXPECT_EQ(done, 1) << "only the marked work is waited for";
    EXPECT_TRUE(IsOver(mark)) << i;
    kHipBackend.mark_free(mark);
    fake.run(queue, 1);
  }
}

HIP_TEST(HipMark, Calls) {
  StartHip(fake);
  void* stream = fake.stream(1);
  int done = 0;
  fake.enqueue(stream, 1, Increase, &done);
  kHipBackend.mark_free(Mark(On(stream, 1)));
  fake.clear_log();
  const StreamMark mark = Mark(On(stream, 1));
  EXPECT_STREQ(fake.log(), "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipEventRecord(e1,s1)");
  fake.clear_log();
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(fake.log(), "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) " +
                            Relaxed("hipEventQuery(e1) hipGetLastError()"));
  fake.clear_log();
  Wait(mark);
  EXPECT_EQ(fake.log(), "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) " +
                            Relaxed("hipEventSynchronize(e1)"));
  fake.clear_log();
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(fake.log(),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) " + Relaxed("hipEventQuery(e1)"));
  fake.clear_log();
  kHipBackend.mark_free(mark);
  EXPECT_STREQ(fake.log(), "");
}

HIP_TEST(HipMark, CallsOfSpecialStreams) {
  StartHip(fake);
  for (const uintptr_t handle : kSpecial) {
    const StreamMark mark = Mark(On(reinterpret_cast<void*>(handle), 1));
    fake.clear_log();
    Wait(mark);
    EXPECT_EQ(fake.log(), Relaxed("hipEventSynchronize(e1)"));
    fake.clear_log();
    EXPECT_TRUE(IsOver(mark));
    EXPECT_EQ(fake.log(), Relaxed("hipEventQuery(e1)")) << "no stream is asked about";
    kHipBackend.mark_free(mark);
  }
  fake.clear_log();
  kHipBackend.mark_free(Mark(On(nullptr, 1)));
  EXPECT_STREQ(fake.log(),
               "hipStreamIsCapturing(NULL) hipGetDevice() hipSetDevice(1) "
               "hipEventRecord(e1,NULL) hipSetDevice(0)");
  fake.clear_log();
  kHipBackend.mark_free(Mark(On(hipStreamPerThread, 1)));
  const std::string log = fake.log();
  EXPECT_TRUE(Contains(log.c_str(),
                       "hipGetDevice() hipSetDevice(1) hipStreamIsCapturing(2) "
                       "hipEventRecord(e1,2) hipStreamWaitEvent(s"))
      << log;
  fake.settle(1, 1, 0);
}

// A mark of the thread's stream is used by other threads, also after that thread has ended.
HIP_TEST(HipMark, OfAnotherThreadsStream) {
  StartHip(fake);
  int done = 0;
  StreamMark mark;
  std::thread([&] {
    mark = Mark(On(hipStreamPerThread, 1));
    Wait(mark);
    EXPECT_TRUE(IsOver(mark));
    kHipBackend.mark_free(mark);
    fake.enqueue(hipStreamPerThread, 1, Increase, &done);
    mark = Mark(On(hipStreamPerThread, 1));
    std::thread([&] { EXPECT_FALSE(IsOver(mark)); }).join();
    EXPECT_EQ(done, 0);
  }).join();
  Wait(mark);
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(IsOver(mark));
  kHipBackend.mark_free(mark);
}

// Freed before it is over: its event is recorded again, and means the new work.
HIP_TEST(HipMark, FreedBeforeItIsOver) {
  StartHip(fake);
  void* stream = fake.stream(1);
  int done = 0;
  fake.enqueue(stream, 1, Increase, &done);
  kHipBackend.mark_free(Mark(On(stream, 1)));
  EXPECT_EQ(done, 0) << "freeing does not wait";
  void* other = fake.stream(1);
  const StreamMark mark = Mark(On(other, 1));
  fake.run(other, 1);
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(done, 0);
  kHipBackend.mark_free(mark);
  EXPECT_EQ(fake.live_events(), 1U);
  fake.run(stream, 1);
}

HIP_TEST(HipMark, MoreThanThePoolHolds) {
  StartHip(fake);
  StreamMark marks[20];
  for (int i = 0; i < 20; ++i) {
    marks[i] = Mark(On(i % 2 == 0 ? hipStreamPerThread : fake.stream(1), 1));
  }
  for (const StreamMark& mark : marks) {
    kHipBackend.mark_free(mark);
  }
  fake.settle(8, 8, 0);
}

HIP_TEST(HipMark, RejectsACapturingStream) {
  StartHip(fake);
  for (const int state : {hipStreamCaptureStatusActive, hipStreamCaptureStatusInvalidated}) {
    void* stream = fake.stream(1);
    fake.capture(stream, state, 5);
    StreamMark mark = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.clear_log();
    EXPECT_EQ(kHipBackend.mark(On(stream, 1), "stream", &mark, &error), DLBRIDGE_ERROR_CAPTURE);
    EXPECT_TRUE(Contains(error.message, "stream is capturing a graph")) << error.message;
    EXPECT_EQ(kHipBackend.mark(On(nullptr, 1), "stream", &mark, &error),
              state == hipStreamCaptureStatusActive ? DLBRIDGE_ERROR_CAPTURE : DLBRIDGE_OK);
    EXPECT_EQ(fake.capture_state(stream), state);
    EXPECT_EQ(Contains(fake.log(), "hipEventRecord"), state != hipStreamCaptureStatusActive);
    if (state != hipStreamCaptureStatusActive) {
      kHipBackend.mark_free(mark);
    }
    fake.capture(stream, 0, 0);
  }
}

// The runtime would invalidate a capture that began after the mark.
HIP_TEST(HipMark, AStreamThatCapturesLater) {
  StartHip(fake);
  void* stream = fake.stream(1);
  const StreamMark mark = Mark(On(stream, 1));
  fake.run(stream, 1);
  fake.capture(stream, hipStreamCaptureStatusActive, 5);
  EXPECT_FALSE(IsOver(mark)) << "not known before the capture ends";
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.mark_wait(mark, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(Contains(error.message, "end the capture first")) << error.message;
  EXPECT_EQ(fake.capture_state(stream), hipStreamCaptureStatusActive);
  fake.capture(stream, 0, 0);
  EXPECT_TRUE(IsOver(mark));
  kHipBackend.mark_free(mark);
}

// The runtime would read freed memory. It destroyed the stream after its work.
TEST(HipMark, AStreamThatWasDestroyed) {
  for (const char* library : {DLBRIDGE_FAKE_HIP5, DLBRIDGE_FAKE_HIP6}) {
    EXPECT_TRUE(WithFakeHip(library, [](const FakeHip& fake) {
      StartHip(fake);
      void* stream = fake.stream(1);
      int done = 0;
      fake.enqueue(stream, 1, Increase, &done);
      const StreamMark mark = Mark(On(stream, 1));
      EXPECT_FALSE(IsOver(mark));
      fake.destroy_stream(stream);
      EXPECT_EQ(done, 1);
      EXPECT_TRUE(IsOver(mark));
      EXPECT_EQ(fake.last_error(), 0);
      Wait(mark);
      kHipBackend.mark_free(mark);
      const StreamMark next = Mark(On(fake.stream(1), 1));  // the same event
      EXPECT_FALSE(IsOver(next));
      Wait(next);
      kHipBackend.mark_free(next);
    }));
  }
}

TEST(HipMark, ByTheLeastRuntime) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    void* stream = fake.stream(1);
    int done = 0;
    fake.enqueue(stream, 1, Increase, &done);
    const StreamMark mark = Mark(On(stream, 1));
    EXPECT_FALSE(IsOver(mark));
    Wait(mark);
    EXPECT_EQ(done, 1);
    EXPECT_TRUE(IsOver(mark));
    kHipBackend.mark_free(mark);
  }));
}

// A pending error of the application: HIP 7 keeps it during a query of work that is not over.
HIP_TEST(HipMark, TheApplicationsErrorInHip7) {
  fake.set_version(kHip7);
  StartHip(fake);
  void* stream = fake.stream(1);
  int done = 0;
  fake.enqueue(stream, 1, Increase, &done);
  const StreamMark mark = Mark(On(stream, 1));
  fake.set_last_error(2);
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(fake.last_error(), 2);
  fake.set_last_error(0);
  Wait(mark);
  kHipBackend.mark_free(mark);
}

// After a fault each call returns it.
HIP_TEST(HipMark, AFaultEndsTheWork) {
  fake.set_version(kHip7);
  StartHip(fake);
  for (const bool special : {false, true}) {
    for (const int code : {214, 218, 300, 700, 702, 710, 719, 999}) {
      void* stream = special ? nullptr : fake.stream(1);
      int done = 0;
      fake.enqueue(stream, 1, Increase, &done);
      const StreamMark mark = Mark(On(stream, 1));
      fake.fault(code);
      EXPECT_TRUE(IsOver(mark)) << code;
      Wait(mark);
      fake.fault(0);
      // The fault may show at the event only.
      for (const char* function : {"hipEventQuery", "hipEventSynchronize"}) {
        fake.fail(function, code, 1);
      }
      EXPECT_TRUE(IsOver(mark)) << code;
      Wait(mark);
      EXPECT_EQ(fake.last_error(), 0);
      kHipBackend.mark_free(mark);
      fake.run(stream, 1);
    }
  }
}

HIP_TEST(HipMark, EachCallThatFails) {
  StartHip(fake);
  for (const char* function :
       {"hipStreamGetDevice", "hipStreamIsCapturing", "hipGetDevice", "hipSetDevice",
        "hipThreadExchangeStreamCaptureMode", "hipEventCreateWithFlags", "hipEventRecord"}) {
    StreamMark mark = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.fail(function, 998, 1);
    const DLBridgeStream stream = On(fake.stream(1), 1);
    const DLBridgeStatus status = kHipBackend.mark(stream, "stream", &mark, &error);
    if (status == DLBRIDGE_OK) {  // an event was pooled by the failing call before
      kHipBackend.mark_free(mark);
      fake.fail("", 0, 0);
      continue;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.native_code, 998);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    fake.settle(1, 0, 0);
    EXPECT_STREQ(fake.violations(), "") << function;
  }
  for (const char* function :
       {"hipStreamCreateWithFlags", "hipStreamWaitEvent", "hipEventRecord"}) {
    StreamMark mark = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.fail(function, 998, 1);
    EXPECT_EQ(kHipBackend.mark(On(hipStreamPerThread, 1), "stream", &mark, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    fake.settle(1, 1, 0);
    EXPECT_STREQ(fake.violations(), "") << "nothing is lost";
  }
  const StreamMark mark = Mark(On(fake.stream(1), 1));
  for (const char* function : {"hipStreamGetDevice", "hipStreamIsCapturing",
                               "hipThreadExchangeStreamCaptureMode", "hipEventQuery"}) {
    bool over = true;
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.fail(function, 998, 1);
    EXPECT_EQ(kHipBackend.mark_query(mark, &over, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_FALSE(over);
    EXPECT_EQ(error.native_code, 998);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
  }
  for (const char* function : {"hipStreamGetDevice", "hipStreamIsCapturing",
                               "hipThreadExchangeStreamCaptureMode", "hipEventSynchronize"}) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.fail(function, 998, 1);
    EXPECT_EQ(kHipBackend.mark_wait(mark, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    EXPECT_EQ(fake.last_error(), 0);
  }
  kHipBackend.mark_free(mark);
}

// A forked child must not call the runtime, not even to destroy what the pools cannot hold.
HIP_TEST(HipMark, InAForkedChild) {
  StartHip(fake);
  StreamMark marks[20];
  for (int i = 0; i < 20; ++i) {
    marks[i] = Mark(On(i % 2 == 0 ? hipStreamPerThread : fake.stream(1), 1));
  }
  const auto free_all = [&] {
    for (const StreamMark& mark : marks) {
      kHipBackend.mark_free(mark);
    }
  };
  EXPECT_TRUE(InChild([&] {
    fake.clear_log();
    free_all();
    EXPECT_STREQ(fake.log(), "");
  }));
  free_all();
}

// ------------------------------------------------------------------------- copies with a mark

constexpr size_t kBytes = 64;

CopyJob Begin(const CopySide& from, const CopySide& to, const DLBridgeStream& stream) {
  CopyJob job = {from, to, stream, false, false, false, {}};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  const CopyBox box = {kBytes, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(kHipBackend.copy_box(&job, box, &error), DLBRIDGE_OK) << error.message;
  return job;
}

CopySide MemoryOf(const FakeHip& fake, void** bytes) {
  void* memory = fake.allocate(kFakeDevice, 1, kBytes);
  *bytes = fake.bytes(memory);
  return {false, dlbridge_device_hip(1), dlbridge_buffer_hip(memory)};
}

HIP_TEST(HipCopySubmit, DoesNotWait) {
  StartHip(fake);
  for (const uintptr_t handle : {uintptr_t{0}, uintptr_t{2}, uintptr_t{3}}) {
    void* stream = handle == 3 ? fake.stream(1) : reinterpret_cast<void*>(handle);
    void* from = nullptr;
    void* to = nullptr;
    const CopySide source = MemoryOf(fake, &from);
    const CopySide target = MemoryOf(fake, &to);
    std::memset(to, 0, kBytes);
    fake.enqueue(
        stream, 1, [](void* bytes) { std::memset(bytes, 42, kBytes); }, from);
    CopyJob job = Begin(source, target, On(stream, 1));
    StreamMark mark = {};
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    fake.clear_log();
    EXPECT_EQ(kHipBackend.copy_submit(&job, &mark, &error), DLBRIDGE_OK) << error.message;
    EXPECT_FALSE(Contains(fake.log(), "Synchronize")) << fake.log();
    EXPECT_FALSE(IsOver(mark));
    EXPECT_EQ(static_cast<char*>(to)[0], 0);
    Wait(mark);
    EXPECT_EQ(static_cast<char*>(to)[kBytes - 1], 42);
    EXPECT_TRUE(IsOver(mark));
    kHipBackend.mark_free(mark);
  }
}

// The memory may be freed after a failure.
HIP_TEST(HipCopySubmit, WaitsIfItCannotMark) {
  StartHip(fake);
  void* from = nullptr;
  void* to = nullptr;
  const CopySide source = MemoryOf(fake, &from);
  const CopySide target = MemoryOf(fake, &to);
  std::memset(from, 42, kBytes);
  CopyJob job = Begin(source, target, On(fake.stream(1), 1));
  fake.fail("hipEventRecord", 998, 1);
  StreamMark mark = {};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(kHipBackend.copy_submit(&job, &mark, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(Contains(error.message, "hipEventRecord")) << error.message;
  EXPECT_EQ(static_cast<char*>(to)[kBytes - 1], 42);
}

}  // namespace
}  // namespace dlbridge_test
