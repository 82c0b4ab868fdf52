// SPDX-License-Identifier: Apache-2.0
// A graph capture of another thread neither forbids a call of the library nor breaks by it.
#include <future>
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

constexpr size_t kBytes = 256;

DLBridgeStream On(void* stream, int device) {
  return dlbridge_stream_hip(static_cast<hipStream_t>(stream), device);
}

// Runs `body` while another thread has a capture in the global mode.
template <class Body>
void DuringACapture(const FakeHip& fake, const Body& body) {
  // Not a blocking stream, because no default stream may be used during the capture of one.
  hipStream_t capturing = static_cast<hipStream_t>(fake.non_blocking_stream(0));
  std::promise<void> began;
  std::promise<void> end;
  std::thread other([&] {
    fake.capture(capturing, hipStreamCaptureStatusActive, 7);
    began.set_value();
    end.get_future().wait();
  });
  began.get_future().wait();
  body();
  EXPECT_EQ(fake.capture_state(capturing), hipStreamCaptureStatusActive)
      << "the capture was broken";
  fake.capture(capturing, 0, 0);
  end.set_value();
  other.join();
}

struct Operation {
  const char* name;
  DLBridgeStatus (*call)(const FakeHip& fake, DLBridgeError* error);
};

DLBridgeStatus Copy(const FakeHip& fake, const DLBridgeStream& stream, DLBridgeError* error) {
  static char host[kBytes];
  void* memory = fake.allocate(kFakeDevice, 1, kBytes);
  const CopySide from = {true, {kDLCPU, 0}, dlbridge_buffer_address(host)};
  const CopySide to = {false, dlbridge_device_hip(1), dlbridge_buffer_hip(memory)};
  CopyJob job = {from, to, stream, false, false, false, {}};
  const CopyBox box = {kBytes, 1, 1, 0, 0, 0, 0, 0, 0};
  const DLBridgeStatus began = kHipBackend.copy_begin(&job, error);
  if (began != DLBRIDGE_OK) {
    return began;
  }
  EXPECT_EQ(kHipBackend.copy_box(&job, box, error), DLBRIDGE_OK);
  host[0] = static_cast<char>(host[0] + 1);
  const DLBridgeStatus finished = kHipBackend.copy_finish(&job, error);
  const bool copied = static_cast<char*>(fake.bytes(memory))[0] == host[0];
  EXPECT_TRUE(finished != DLBRIDGE_OK || copied) << "the copy was not waited for";
  return finished;
}

DLBridgeStatus Mark(const FakeHip& fake, const DLBridgeStream& stream, bool run,
                    DLBridgeError* error) {
  StreamMark mark;
  const DLBridgeStatus marked = kHipBackend.mark(stream, "stream", &mark, error);
  if (marked != DLBRIDGE_OK) {
    return marked;
  }
  bool over = false;
  if (run) {
    fake.run(reinterpret_cast<void*>(static_cast<uintptr_t>(stream.handle)), 1);
  }
  DLBridgeStatus status = kHipBackend.mark_query(mark, &over, error);
  status = status == DLBRIDGE_OK ? kHipBackend.mark_wait(mark, error) : status;
  kHipBackend.mark_free(mark);
  return status;
}

// Each operation leaves objects in the pools for the next round.
const Operation kOperations[] = {
    {"hand-off",
     [](const FakeHip& fake, DLBridgeError* error) {
       const DLBridgeStream producer = On(fake.stream(1), 1);
       const DLBridgeStream consumer = On(fake.stream(0), 0);
       return dlbridge_stream_handoff(&producer, &consumer, 0, error);
     }},
    {"hand-off of the default stream",
     [](const FakeHip& fake, DLBridgeError* error) {
       const DLBridgeStream producer = On(nullptr, 1);
       const DLBridgeStream consumer = On(fake.stream(0), 0);
       return dlbridge_stream_handoff(&producer, &consumer, 0, error);
     }},
    {"synchronize",
     [](const FakeHip& fake, DLBridgeError* error) {
       const DLBridgeStream stream = On(fake.stream(1), 1);
       return dlbridge_stream_synchronize(&stream, error);
     }},
    {"synchronize the default stream",
     [](const FakeHip&, DLBridgeError* error) {
       const DLBridgeStream stream = On(nullptr, 1);
       return dlbridge_stream_synchronize(&stream, error);
     }},
    {"synchronize the per-thread stream",
     [](const FakeHip&, DLBridgeError* error) {
       const DLBridgeStream stream = On(hipStreamPerThread, 1);
       return dlbridge_stream_synchronize(&stream, error);
     }},
    {"copy", [](const FakeHip& fake,
                DLBridgeError* error) { return Copy(fake, On(fake.stream(1), 1), error); }},
    {"copy without a stream",
     [](const FakeHip& fake, DLBridgeError* error) { return Copy(fake, {}, error); }},
    {"pointer info",
     [](const FakeHip& fake, DLBridgeError* error) {
       const DLBridgeBuffer buffer = dlbridge_buffer_hip(fake.allocate(kFakeDevice, 1, kBytes));
       DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
       return dlbridge_pointer_info(&buffer, dlbridge_device_hip(1), &info, error);
     }},
    {"IPC export",
     [](const FakeHip& fake, DLBridgeError* error) {
       const DLBridgeBuffer buffer = dlbridge_buffer_hip(fake.allocate(kFakeDevice, 1, kBytes));
       dlbridge::IpcHandle handle;
       const dlbridge::IpcRequest request = {0, kBytes, nullptr};
       return kHipBackend.ipc_export(buffer, dlbridge_device_hip(1), request, &handle, error);
     }},
    {"mark", [](const FakeHip& fake,
                DLBridgeError* error) { return Mark(fake, On(fake.stream(1), 1), true, error); }},
    {"mark of work that is not over",
     [](const FakeHip& fake, DLBridgeError* error) {
       void* stream = fake.stream(1);
       fake.enqueue(
           stream, 1, [](void*) {}, nullptr);
       return Mark(fake, On(stream, 1), false, error);
     }},
    {"mark of the per-thread stream", [](const FakeHip& fake, DLBridgeError* error) {
       return Mark(fake, On(hipStreamPerThread, 1), false, error);
     }}};

void ExpectUndisturbed(const FakeHip& fake, const Operation& operation, int mode) {
  DuringACapture(fake, [&] {
    fake.set_thread_mode(mode);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(operation.call(fake, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(fake.thread_mode(), mode);
    EXPECT_STREQ(fake.violations(), "");
    EXPECT_EQ(fake.last_error(), 0);
    fake.set_thread_mode(hipStreamCaptureModeGlobal);
  });
}

void ExpectAllUndisturbed(const FakeHip& fake) {
  StartHip(fake);
  for (const int mode :
       {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed}) {
    for (const Operation& operation : kOperations) {
      SCOPED_TRACE(operation.name);
      SCOPED_TRACE(mode);
      ExpectUndisturbed(fake, operation, mode);
    }
  }
}

HIP_TEST(HipCapture, OfAnotherThread) { ExpectAllUndisturbed(fake); }

// These runtimes check waits in every mode, but not queries of events.
HIP_TEST(HipCapture, OfAnotherThreadBefore61) {
  fake.set_version(kHip60);
  fake.run_after_queries();
  ExpectAllUndisturbed(fake);
  EXPECT_TRUE(Contains(fake.log(), "hipEventQuery")) << fake.log();
}

// A runtime without modes has no captures that a wait could break.
TEST(HipCapture, ARuntimeWithoutModes) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Copy(fake, {}, &error), DLBRIDGE_OK) << error.message;
    EXPECT_FALSE(Contains(fake.log(), "hipThreadExchangeStreamCaptureMode"));
  }));
}

// A thread that captures on one stream waits for another. Its own capture may be thread-local.
HIP_TEST(HipCapture, OfTheThread) {
  StartHip(fake);
  for (const int mode :
       {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed}) {
    void* capturing = fake.non_blocking_stream(0);
    fake.capture_in_mode(capturing, mode, 7);
    for (const Operation& operation : kOperations) {
      SCOPED_TRACE(operation.name);
      DLBridgeError error = DLBRIDGE_ERROR_INIT;
      EXPECT_EQ(operation.call(fake, &error), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(fake.capture_state(capturing), hipStreamCaptureStatusActive);
    }
    fake.capture(capturing, 0, 0);
  }
}

// The mode is restored after a failure, too.
HIP_TEST(HipCapture, TheModeAfterAFailure) {
  StartHip(fake);
  fake.set_thread_mode(hipStreamCaptureModeThreadLocal);
  for (const char* function :
       {"hipStreamCreateWithFlags", "hipStreamSynchronize", "hipEventCreateWithFlags",
        "hipEventQuery", "hipEventSynchronize", "hipIpcGetMemHandle"}) {
    for (const Operation& operation : kOperations) {
      fake.fail(function, 998, 1);
      DLBridgeError error = DLBRIDGE_ERROR_INIT;
      operation.call(fake, &error);
      fake.fail("", 0, 0);
      EXPECT_EQ(fake.thread_mode(), hipStreamCaptureModeThreadLocal) << operation.name;
    }
  }
  // Nothing can be done if the mode cannot be restored.
  const DLBridgeStream stream = On(fake.stream(1), 1);
  fake.fail("hipThreadExchangeStreamCaptureMode", 998, 2);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.last_error(), 0);
  fake.set_thread_mode(hipStreamCaptureModeGlobal);
}

}  // namespace
}  // namespace dlbridge_test
