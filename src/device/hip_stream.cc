// SPDX-License-Identifier: Apache-2.0
// HIP's streams: one waits for another, or the host for one. docs/streams.md lists the calls.
#include "describe/device.h"
#include "device/handle_pool.h"
#include "device/hip.h"

namespace dlbridge {
namespace {

// Events of devices beyond these are made for each call.
constexpr int32_t kPooledDevices = 32;
HandlePool g_events[kPooledDevices];

bool IsPooled(int32_t device) { return device < kPooledDevices; }

DLBRIDGE_COLD DLBridgeStatus RefuseLabel(const char* argument, int32_t labelled, int32_t found,
                                         DLBridgeError* error) {
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("says device ")
      .Signed(labelled)
      .String(", but its queue runs on device ")
      .Signed(found);
  return RefuseArgument(error, argument, problem);
}

// The runtime's own answer, -1 where it has no function for it.
DLBridgeStatus AskDevice(HipStream stream, int32_t* device, DLBridgeError* error) {
  const HipDriver& driver = g_hip.driver;
  if (DLBRIDGE_LIKELY(driver.hipStreamGetDevice != nullptr)) {
    DLBRIDGE_TRY_HIP(hipStreamGetDevice, stream, device);
    return DLBRIDGE_OK;
  }
  if (driver.hipGetStreamDeviceId == nullptr) {
    *device = -1;
    return DLBRIDGE_OK;
  }
  *device = driver.hipGetStreamDeviceId(stream);
  if (*device < 0) {  // no code of an error
    driver.hipGetLastError();
    return RefuseDriver(error, "hipGetStreamDeviceId", *device, nullptr);
  }
  return DLBRIDGE_OK;
}

// The default stream is the label's, any other says itself where it runs. A label of pinned memory
// has no device of its own and is no contradiction.
DLBridgeStatus DeviceOf(const DLBridgeStream& stream, const char* argument, int32_t* device,
                        DLBridgeError* error) {
  const int32_t labelled = stream.device.device_id;
  *device = -1;
  if (stream.handle != 0) {
    DLBRIDGE_TRY(AskDevice(HipStreamOf(stream), device, error));
  }
  if (*device < 0) {
    *device = labelled;
    return CheckHipDevice(labelled, argument, error);
  }
  if (DLBRIDGE_UNLIKELY(*device != labelled && TypeOf(stream.device) == kDLROCM)) {
    return RefuseLabel(argument, labelled, *device, error);
  }
  return DLBRIDGE_OK;
}

// The number of the graph; 0 where the runtime cannot tell.
DLBridgeStatus AskGraph(HipStream stream, unsigned long long* graph, DLBridgeError* error) {
  *graph = 0;
  if (g_hip.driver.hipStreamGetCaptureInfo == nullptr) {
    return DLBRIDGE_OK;
  }
  int32_t state = kHipCaptureNone;
  DLBRIDGE_TRY_HIP(hipStreamGetCaptureInfo, stream, &state, graph);
  return DLBRIDGE_OK;
}

DLBridgeStatus RefuseCapture(const char* argument, const char* problem, DLBridgeError* error) {
  return RefuseStatus(error, DLBRIDGE_ERROR_CAPTURE, argument, problem);
}

// Both capture: only within one graph is a wait an edge of it.
DLBridgeStatus CheckOneGraph(HipStream producer, HipStream consumer, DLBridgeError* error) {
  unsigned long long graphs[2] = {0, 0};
  DLBRIDGE_TRY(AskGraph(producer, &graphs[0], error));
  DLBRIDGE_TRY(AskGraph(consumer, &graphs[1], error));
  if (graphs[0] == 0 || graphs[0] != graphs[1]) {
    return RefuseCapture("producer and consumer",
                         "are capturing two graphs, between which no wait is possible: end one of "
                         "the captures first",
                         error);
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus JudgeCapture(const DLBridgeStream& producer, int32_t producer_state,
                                          const DLBridgeStream& consumer, int32_t consumer_state,
                                          uint32_t options, DLBridgeError* error) {
  if (producer_state > kHipCaptureActive || consumer_state > kHipCaptureActive) {
    return RefuseCapture(producer_state > kHipCaptureActive ? "producer" : "consumer",
                         "was capturing a graph, which was invalidated: end that capture first",
                         error);
  }
  if (producer_state == kHipCaptureNone) {
    return RefuseCapture("consumer",
                         "is capturing a graph, which cannot wait for work outside of it: hand "
                         "over before the capture begins",
                         error);
  }
  if (consumer_state == kHipCaptureActive) {
    return CheckOneGraph(HipStreamOf(producer), HipStreamOf(consumer), error);
  }
  if ((options & DLBRIDGE_HANDOFF_ALLOW_CAPTURE) == 0) {
    return RefuseCapture("producer",
                         "is capturing a graph, into which the wait would draw the consumer: allow "
                         "it (DLBRIDGE_HANDOFF_ALLOW_CAPTURE) or hand over after the capture",
                         error);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckCapture(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, bool* capturing, DLBridgeError* error) {
  int32_t states[2] = {kHipCaptureNone, kHipCaptureNone};
  DLBRIDGE_TRY(HipCaptureState(HipStreamOf(producer), &states[0], error));
  DLBRIDGE_TRY(HipCaptureState(HipStreamOf(consumer), &states[1], error));
  *capturing = states[0] != kHipCaptureNone || states[1] != kHipCaptureNone;
  return DLBRIDGE_LIKELY(!*capturing)
             ? DLBRIDGE_OK
             : JudgeCapture(producer, states[0], consumer, states[1], options, error);
}

// An event belongs to the device that was the thread's when it was made.
DLBridgeStatus CreateEvent(int32_t device, HipDeviceScope* scope, HipEvent* event,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(scope->Enter(device, error));
  DLBRIDGE_TRY_HIP(hipEventCreateWithFlags, event, kHipEventDisableTiming);
  return DLBRIDGE_OK;
}

void DestroyEvent(HipEvent event) {
  if (g_hip.driver.hipEventDestroy(event) != kHipSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

// A wait keeps what the event stood for when it was enqueued, so that the event may be recorded
// again at once. The runtimes do not keep to that for one that a graph has seen: it has no second
// use.
DLBridgeStatus TakeEvent(int32_t device, bool capturing, HipDeviceScope* scope, HipEvent* event,
                         DLBridgeError* error) {
  *event = IsPooled(device) && !capturing ? g_events[device].Take() : nullptr;
  return DLBRIDGE_LIKELY(*event != nullptr) ? DLBRIDGE_OK
                                            : CreateEvent(device, scope, event, error);
}

void GiveEvent(int32_t device, bool reusable, HipEvent event) {
  if (!reusable || !IsPooled(device) || !g_events[device].Give(event)) {
    DestroyEvent(event);
  }
}

// Default streams are found by the thread's device.
DLBridgeStatus EnterFor(const DLBridgeStream& stream, int32_t device, HipDeviceScope* scope,
                        DLBridgeError* error) {
  return stream.handle == 0 ? scope->Enter(device, error) : DLBRIDGE_OK;
}

DLBridgeStatus RecordAndWait(const DLBridgeStream& producer, int32_t device,
                             const DLBridgeStream& consumer, HipEvent event, HipDeviceScope* scope,
                             DLBridgeError* error) {
  DLBRIDGE_TRY(EnterFor(producer, device, scope, error));
  DLBRIDGE_TRY_HIP(hipEventRecord, event, HipStreamOf(producer));
  DLBRIDGE_TRY(EnterFor(consumer, consumer.device.device_id, scope, error));
  DLBRIDGE_TRY_HIP(hipStreamWaitEvent, HipStreamOf(consumer), event, 0);
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus HipCaptureState(HipStream stream, int32_t* state, DLBridgeError* error) {
  *state = kHipCaptureNone;
  if (g_hip.driver.hipStreamIsCapturing != nullptr) {
    DLBRIDGE_TRY_HIP(hipStreamIsCapturing, stream, state);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus RefuseHipCapture(HipStream stream, const char* argument, DLBridgeError* error) {
  int32_t state = kHipCaptureNone;
  DLBRIDGE_TRY(HipCaptureState(stream, &state, error));
  return DLBRIDGE_LIKELY(state == kHipCaptureNone)
             ? DLBRIDGE_OK
             : RefuseCapture(argument,
                             "is capturing a graph, during which nothing may wait for it: end the "
                             "capture first",
                             error);
}

DLBridgeStatus HipHandoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                          uint32_t options, DLBridgeError* error) {
  int32_t device = -1;
  DLBRIDGE_TRY(DeviceOf(producer, "producer", &device, error));
  if (consumer.handle == 0) {
    DLBRIDGE_TRY(CheckHipDevice(consumer.device.device_id, "consumer", error));
  }
  bool capturing = false;
  DLBRIDGE_TRY(CheckCapture(producer, consumer, options, &capturing, error));
  HipDeviceScope scope;
  HipEvent event = nullptr;
  DLBRIDGE_TRY(TakeEvent(device, capturing, &scope, &event, error));
  const DLBridgeStatus status = RecordAndWait(producer, device, consumer, event, &scope, error);
  GiveEvent(device, status == DLBRIDGE_OK && !capturing, event);
  return status == DLBRIDGE_OK ? scope.Leave(error) : status;
}

DLBridgeStatus HipSynchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  HipDeviceScope scope;
  if (stream.handle == 0) {
    DLBRIDGE_TRY(CheckHipDevice(stream.device.device_id, "stream", error));
  }
  DLBRIDGE_TRY(RefuseHipCapture(HipStreamOf(stream), "stream", error));
  DLBRIDGE_TRY(EnterFor(stream, stream.device.device_id, &scope, error));
  DLBRIDGE_TRY_HIP(hipStreamSynchronize, HipStreamOf(stream));
  return scope.Leave(error);
}

}  // namespace dlbridge
