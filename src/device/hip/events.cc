// SPDX-License-Identifier: Apache-2.0
// Events, and marks of streams, which are events.
//
// An event that was recorded remembers its stream. Runtimes read that stream when the event is
// queried or waited for: from 6.2 on, they invalidate its capture if one has begun meanwhile, and
// access freed memory if it was destroyed. So a mark keeps the stream's handle too, and asks about
// the stream first. The per-thread stream of another thread has no handle; the library orders a
// stream of its own after it and marks that.
#include "device/hip/events.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <ctime>
#endif

#include "device/handle_pool.h"
#include "device/hip/capture.h"

namespace dlbridge::hip {
namespace {

// The events of devices beyond these are created for each call.
constexpr int32_t kPooledDevices = 32;
HandlePool g_events[kPooledDevices];

// The streams that follow per-thread streams. They may still have work when they are taken again,
// which only makes a mark wait for more than it marks.
HandlePool g_followers[kPooledDevices];

bool IsPooled(int32_t device) { return device < kPooledDevices; }

// An event belongs to the thread's device at its creation.
DLBridgeStatus CreateEvent(int32_t device, DeviceScope* scope, Event* event, DLBridgeError* error) {
  DLBRIDGE_TRY(scope->Enter(device, error));
  RelaxedScope relaxed;
  DLBRIDGE_TRY(relaxed.Enter(error));
  DLBRIDGE_HIP_TRY(hipEventCreateWithFlags, event, kEventDisableTiming);
  return DLBRIDGE_OK;
}

void DestroyEvent(Event event) {
  RelaxedScope relaxed;
  static_cast<void>(relaxed.Enter(nullptr));
  if (g_hip.driver.hipEventDestroy(event) != kSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

void SleepBriefly() {
#ifdef _WIN32
  Sleep(1);
#else
  const timespec time = {0, 50000};
  nanosleep(&time, nullptr);
#endif
}

// Queries an event in the RELAXED capture mode. The application must not find "not ready" as the
// thread's last error, which HIP up to 6 sets; from 7 on, HIP leaves it unchanged.
Result QueryEvent(Event event) {
  const Result code = g_hip.driver.hipEventQuery(event);
  if (code == kNotReady && g_hip.major < 7) {
    g_hip.driver.hipGetLastError();
  }
  return code;
}

}  // namespace

DLBridgeStatus TakeEvent(int32_t device, bool capturing, DeviceScope* scope, Event* event,
                         DLBridgeError* error) {
  *event = IsPooled(device) && !capturing ? g_events[device].Take() : nullptr;
  return DLBRIDGE_LIKELY(*event != nullptr) ? DLBRIDGE_OK
                                            : CreateEvent(device, scope, event, error);
}

void GiveEvent(int32_t device, bool reusable, Event event) {
  if (!reusable || !IsPooled(device) || !g_events[device].Give(event)) {
    DestroyEvent(event);
  }
}

Result PollEvent(Event event) {
  Result code = QueryEvent(event);
  while (code == kNotReady) {
    SleepBriefly();
    code = QueryEvent(event);
  }
  return code;
}

namespace {

// StreamMark::state, by index. kStream: a created stream of the caller's; kFollower: a stream of
// the library. Each may be 0.
enum : uint8_t { kEvent, kDevice, kStream, kFollower };

template <class Handle>
Handle StateOf(const StreamMark& mark, uint32_t index) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(mark.state[index]));
}

int32_t DeviceOfMark(const StreamMark& mark) { return static_cast<int32_t>(mark.state[kDevice]); }

DLBridgeStatus TakeFollower(int32_t device, Stream* stream, DLBridgeError* error) {
  *stream = IsPooled(device) ? g_followers[device].Take() : nullptr;
  return *stream != nullptr ? DLBRIDGE_OK : CreateStream(device, stream, error);
}

void GiveFollower(int32_t device, Stream stream) {
  if (!IsPooled(device) || !g_followers[device].Give(stream)) {
    DestroyStream(stream);
  }
}

DLBridgeStatus Follow(Event event, Stream follower, DLBridgeError* error) {
  DLBRIDGE_HIP_TRY(hipEventRecord, event, reinterpret_cast<Stream>(kPerThreadStream));
  DLBRIDGE_HIP_TRY(hipStreamWaitEvent, follower, event, 0);
  DLBRIDGE_HIP_TRY(hipEventRecord, event, follower);
  return DLBRIDGE_OK;
}

DLBridgeStatus RecordFollower(int32_t device, Event event, StreamMark* out, DLBridgeError* error) {
  Stream follower = nullptr;
  DLBRIDGE_TRY(TakeFollower(device, &follower, error));
  out->state[kFollower] = reinterpret_cast<uintptr_t>(follower);
  return Follow(event, follower, error);
}

DLBridgeStatus Record(const DLBridgeStream& stream, int32_t device, DeviceScope* scope,
                      StreamMark* out, DLBridgeError* error) {
  const auto event = StateOf<Event>(*out, kEvent);
  DLBRIDGE_TRY(EnterFor(stream.handle, device, scope, error));
  if (stream.handle == kPerThreadStream) {
    return RecordFollower(device, event, out, error);
  }
  DLBRIDGE_HIP_TRY(hipEventRecord, event, HandleOf(stream));
  out->state[kStream] = IsSpecial(stream.handle) ? 0 : stream.handle;
  return DLBRIDGE_OK;
}

enum class Standing : uint8_t { kUsable, kCapturing, kGone };

// Does the stream exist? Other functions do not check the handle since 7.0.
Result ProbeStream(Stream stream) {
  const Driver& driver = g_hip.driver;
  int32_t device = 0;
  if (driver.hipStreamGetDevice != nullptr) {
    return driver.hipStreamGetDevice(stream, &device);
  }
  const bool gone =
      driver.hipGetStreamDeviceId != nullptr && driver.hipGetStreamDeviceId(stream) < 0;
  return gone ? kContextIsDestroyed : kSuccess;
}

// The runtime finishes the work of a stream before it destroys the stream.
DLBridgeStatus AskStanding(const StreamMark& mark, Standing* out, DLBridgeError* error) {
  const auto stream = StateOf<Stream>(mark, kStream);
  *out = Standing::kUsable;
  if (stream == nullptr) {
    return DLBRIDGE_OK;
  }
  int32_t state = kCaptureNone;
  const char* call = "hipStreamGetDevice";
  Result code = ProbeStream(stream);
  if (code == kSuccess && g_hip.driver.hipStreamIsCapturing != nullptr) {
    call = "hipStreamIsCapturing";
    code = g_hip.driver.hipStreamIsCapturing(stream, &state);
  }
  if (code == kContextIsDestroyed || IsFault(code)) {
    g_hip.driver.hipGetLastError();
    *out = Standing::kGone;
    return DLBRIDGE_OK;
  }
  *out = state == kCaptureNone ? Standing::kUsable : Standing::kCapturing;
  return code == kSuccess ? DLBRIDGE_OK : RejectCall(error, call, code);
}

// Interprets the result of a call about a mark. A fault has ended the work.
DLBridgeStatus Judge(const char* call, Result code, bool* over, DLBridgeError* error) {
  *over = code == kSuccess || IsFault(code);
  if (code == kSuccess || code == kNotReady) {
    return DLBRIDGE_OK;
  }
  if (*over) {
    g_hip.driver.hipGetLastError();
    return DLBRIDGE_OK;
  }
  return RejectCall(error, call, code);
}

// Runtimes before 6.1 reject this wait during a capture, whatever the thread's mode.
Result WaitForEvent(Event event) {
  const Result code = g_hip.driver.hipEventSynchronize(event);
  if (code != kCaptureUnsupported) {
    return code;
  }
  g_hip.driver.hipGetLastError();
  return PollEvent(event);
}

}  // namespace

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error) {
  int32_t device = -1;
  DLBRIDGE_TRY(DeviceOf(stream, argument, &device, error));
  DeviceScope scope;
  DLBRIDGE_TRY(RequireNoCapture(stream, argument, &scope, error));
  Event event = nullptr;
  DLBRIDGE_TRY(TakeEvent(device, false, &scope, &event, error));
  StreamMark mark = {DLBRIDGE_BACKEND_HIP,
                     {reinterpret_cast<uintptr_t>(event), static_cast<uint64_t>(device), 0, 0}};
  DLBridgeStatus status = Record(stream, device, &scope, &mark, error);
  if (status == DLBRIDGE_OK) {
    status = scope.Leave(error);
  }
  if (status != DLBRIDGE_OK) {
    MarkFree(mark);
    return status;
  }
  *out = mark;
  return DLBRIDGE_OK;
}

// While the stream captures, the event cannot be asked: the work counts as not over.
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error) {
  *over = false;
  Standing standing = Standing::kUsable;
  DLBRIDGE_TRY(AskStanding(mark, &standing, error));
  *over = standing == Standing::kGone;
  if (standing != Standing::kUsable) {
    return DLBRIDGE_OK;
  }
  RelaxedScope relaxed;
  const Result entered = relaxed.Enter();
  return entered == kSuccess
             ? Judge("hipEventQuery", QueryEvent(StateOf<Event>(mark, kEvent)), over, error)
             : Judge("hipThreadExchangeStreamCaptureMode", entered, over, error);
}

DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error) {
  Standing standing = Standing::kUsable;
  DLBRIDGE_TRY(AskStanding(mark, &standing, error));
  if (standing == Standing::kCapturing) {
    return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, "the stream",
                        "of the awaited work is capturing a graph, and no wait for it is allowed "
                        "until the capture ends: end the capture first");
  }
  if (standing == Standing::kGone) {
    return DLBRIDGE_OK;
  }
  bool over = false;
  RelaxedScope relaxed;
  const Result entered = relaxed.Enter();
  return entered == kSuccess ? Judge("hipEventSynchronize",
                                     WaitForEvent(StateOf<Event>(mark, kEvent)), &over, error)
                             : Judge("hipThreadExchangeStreamCaptureMode", entered, &over, error);
}

// An event may be recorded again before its work is over.
void MarkFree(const StreamMark& mark) {
  if (!IsStarted(kHipBackend)) {
    return;
  }
  const int32_t device = DeviceOfMark(mark);
  if (mark.state[kFollower] != 0) {
    GiveFollower(device, StateOf<Stream>(mark, kFollower));
  }
  GiveEvent(device, true, StateOf<Event>(mark, kEvent));
}

}  // namespace dlbridge::hip
