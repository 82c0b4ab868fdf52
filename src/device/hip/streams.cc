// SPDX-License-Identifier: Apache-2.0
// HIP's streams: one waits for another, or the host for one. docs/streams.md lists the calls.
#include "describe/device.h"
#include "device/hip/events.h"
#include "device/hip/internal.h"

namespace dlbridge::hip {
namespace {

DLBRIDGE_COLD DLBridgeStatus RejectLabel(const char* argument, int32_t labelled, int32_t found,
                                         DLBridgeError* error) {
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("names device ")
      .Signed(labelled)
      .String(", but its queue runs on device ")
      .Signed(found);
  return RejectArgument(error, argument, problem);
}

// Asks the runtime; -1 if it has no function for that.
DLBridgeStatus AskDevice(Stream stream, int32_t* device, DLBridgeError* error) {
  const Driver& driver = g_hip.driver;
  if (DLBRIDGE_LIKELY(driver.hipStreamGetDevice != nullptr)) {
    DLBRIDGE_HIP_TRY(hipStreamGetDevice, stream, device);
    return DLBRIDGE_OK;
  }
  if (driver.hipGetStreamDeviceId == nullptr) {
    *device = -1;
    return DLBRIDGE_OK;
  }
  *device = driver.hipGetStreamDeviceId(stream);
  if (*device < 0) {  // not an error code
    driver.hipGetLastError();
    return RejectDriver(error, "hipGetStreamDeviceId", *device, nullptr);
  }
  return DLBRIDGE_OK;
}

// The label names the device of the default stream; the runtime reports the device of any other. A
// label of pinned memory names no device, so it cannot contradict the runtime.
DLBridgeStatus DeviceOf(const DLBridgeStream& stream, const char* argument, int32_t* device,
                        DLBridgeError* error) {
  const int32_t labelled = stream.device.device_id;
  *device = -1;
  if (stream.handle != 0) {
    DLBRIDGE_TRY(AskDevice(HandleOf(stream), device, error));
  }
  if (*device < 0) {
    *device = labelled;
    return CheckDevice(labelled, argument, error);
  }
  if (DLBRIDGE_UNLIKELY(*device != labelled && TypeOf(stream.device) == kDLROCM)) {
    return RejectLabel(argument, labelled, *device, error);
  }
  return DLBRIDGE_OK;
}

// The id of the graph; 0 if the runtime cannot report it.
DLBridgeStatus AskGraph(Stream stream, unsigned long long* graph, DLBridgeError* error) {
  *graph = 0;
  if (g_hip.driver.hipStreamGetCaptureInfo == nullptr) {
    return DLBRIDGE_OK;
  }
  int32_t state = kCaptureNone;
  DLBRIDGE_HIP_TRY(hipStreamGetCaptureInfo, stream, &state, graph);
  return DLBRIDGE_OK;
}

DLBridgeStatus RejectCapture(const char* argument, const char* problem, DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, argument, problem);
}

// Both streams are capturing: a wait is possible only within one graph.
DLBridgeStatus CheckOneGraph(Stream producer, Stream consumer, DLBridgeError* error) {
  unsigned long long graphs[2] = {0, 0};
  DLBRIDGE_TRY(AskGraph(producer, &graphs[0], error));
  DLBRIDGE_TRY(AskGraph(consumer, &graphs[1], error));
  if (graphs[0] == 0 || graphs[0] != graphs[1]) {
    return RejectCapture("producer and consumer",
                         "are not known to capture the same graph, and streams of two captures "
                         "cannot be ordered: end one of the captures first",
                         error);
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus JudgeCapture(const DLBridgeStream& producer, int32_t producer_state,
                                          const DLBridgeStream& consumer, int32_t consumer_state,
                                          uint32_t options, DLBridgeError* error) {
  if (producer_state > kCaptureActive || consumer_state > kCaptureActive) {
    return RejectCapture(producer_state > kCaptureActive ? "producer" : "consumer",
                         "has a capture that was invalidated: end it first (hipStreamEndCapture)",
                         error);
  }
  if (producer_state == kCaptureNone) {
    return RejectCapture("consumer",
                         "is capturing a graph, which cannot wait for work outside of it: hand "
                         "over before the capture begins",
                         error);
  }
  if (consumer_state == kCaptureActive) {
    return CheckOneGraph(HandleOf(producer), HandleOf(consumer), error);
  }
  if ((options & DLBRIDGE_HANDOFF_ALLOW_CAPTURE) == 0) {
    return RejectCapture("producer",
                         "is capturing a graph, and a wait would add the consumer to it: hand over "
                         "after the capture, or set DLBRIDGE_HANDOFF_ALLOW_CAPTURE",
                         error);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckCapture(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, bool* capturing, DLBridgeError* error) {
  int32_t states[2] = {kCaptureNone, kCaptureNone};
  DLBRIDGE_TRY(AskCapture(HandleOf(producer), &states[0], error));
  DLBRIDGE_TRY(AskCapture(HandleOf(consumer), &states[1], error));
  *capturing = states[0] != kCaptureNone || states[1] != kCaptureNone;
  return DLBRIDGE_LIKELY(!*capturing)
             ? DLBRIDGE_OK
             : JudgeCapture(producer, states[0], consumer, states[1], options, error);
}

// The runtime uses the default stream of the thread's current device.
DLBridgeStatus EnterFor(const DLBridgeStream& stream, int32_t device, DeviceScope* scope,
                        DLBridgeError* error) {
  return stream.handle == 0 ? scope->Enter(device, error) : DLBRIDGE_OK;
}

DLBridgeStatus RecordAndWait(const DLBridgeStream& producer, int32_t device,
                             const DLBridgeStream& consumer, Event event, DeviceScope* scope,
                             DLBridgeError* error) {
  DLBRIDGE_TRY(EnterFor(producer, device, scope, error));
  DLBRIDGE_HIP_TRY(hipEventRecord, event, HandleOf(producer));
  DLBRIDGE_TRY(EnterFor(consumer, consumer.device.device_id, scope, error));
  DLBRIDGE_HIP_TRY(hipStreamWaitEvent, HandleOf(consumer), event, 0);
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus AskCapture(Stream stream, int32_t* state, DLBridgeError* error) {
  *state = kCaptureNone;
  if (g_hip.driver.hipStreamIsCapturing != nullptr) {
    DLBRIDGE_HIP_TRY(hipStreamIsCapturing, stream, state);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus RequireNoCapture(Stream stream, const char* argument, DLBridgeError* error) {
  int32_t state = kCaptureNone;
  DLBRIDGE_TRY(AskCapture(stream, &state, error));
  return DLBRIDGE_LIKELY(state == kCaptureNone)
             ? DLBRIDGE_OK
             : RejectCapture(argument,
                             "is capturing a graph, and no wait for it is allowed until the "
                             "capture ends: end the capture first",
                             error);
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error) {
  int32_t device = -1;
  DLBRIDGE_TRY(DeviceOf(producer, "producer", &device, error));
  if (consumer.handle == 0) {
    DLBRIDGE_TRY(CheckDevice(consumer.device.device_id, "consumer", error));
  }
  bool capturing = false;
  DLBRIDGE_TRY(CheckCapture(producer, consumer, options, &capturing, error));
  DeviceScope scope;
  Event event = nullptr;
  DLBRIDGE_TRY(TakeEvent(device, capturing, &scope, &event, error));
  const DLBridgeStatus status = RecordAndWait(producer, device, consumer, event, &scope, error);
  GiveEvent(device, status == DLBRIDGE_OK && !capturing, event);
  return status == DLBRIDGE_OK ? scope.Leave(error) : status;
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  DeviceScope scope;
  if (stream.handle == 0) {
    DLBRIDGE_TRY(CheckDevice(stream.device.device_id, "stream", error));
  }
  DLBRIDGE_TRY(RequireNoCapture(HandleOf(stream), "stream", error));
  DLBRIDGE_TRY(EnterFor(stream, stream.device.device_id, &scope, error));
  DLBRIDGE_HIP_TRY(hipStreamSynchronize, HandleOf(stream));
  return scope.Leave(error);
}

}  // namespace dlbridge::hip
