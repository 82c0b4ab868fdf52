// SPDX-License-Identifier: Apache-2.0
// Graph captures in HIP: which streams may be ordered or waited for, and the thread's capture mode.
#include "device/hip/capture.h"

namespace dlbridge::hip {
namespace {

// A thread has another per-thread stream on each device, so the stream's device must be current. A
// query of a default stream covers the captures of all devices.
DLBridgeStatus EnterToAsk(const DLBridgeStream& stream, DeviceScope* scope, DLBridgeError* error) {
  return stream.handle == kPerThreadStream ? scope->Enter(stream.device.device_id, error)
                                           : DLBRIDGE_OK;
}

// The capture state of a stream: kCapture*.
DLBridgeStatus AskCapture(const DLBridgeStream& stream, DeviceScope* scope, int32_t* state,
                          DLBridgeError* error) {
  *state = kCaptureNone;
  if (g_hip.driver.hipStreamIsCapturing == nullptr) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(EnterToAsk(stream, scope, error));
  DLBRIDGE_HIP_TRY(hipStreamIsCapturing, HandleOf(stream), state);
  return DLBRIDGE_OK;
}

// The id of the graph; 0 if the runtime cannot report it.
DLBridgeStatus AskGraph(const DLBridgeStream& stream, DeviceScope* scope, unsigned long long* graph,
                        DLBridgeError* error) {
  *graph = 0;
  if (g_hip.driver.hipStreamGetCaptureInfo == nullptr) {
    return DLBRIDGE_OK;
  }
  int32_t state = kCaptureNone;
  DLBRIDGE_TRY(EnterToAsk(stream, scope, error));
  DLBRIDGE_HIP_TRY(hipStreamGetCaptureInfo, HandleOf(stream), &state, graph);
  return DLBRIDGE_OK;
}

DLBridgeStatus RejectCapture(const char* argument, const char* problem, DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, argument, problem);
}

// Both streams are capturing: a wait is possible only within one graph.
DLBridgeStatus CheckOneGraph(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                             DeviceScope* scope, DLBridgeError* error) {
  unsigned long long graphs[2] = {0, 0};
  DLBRIDGE_TRY(AskGraph(producer, scope, &graphs[0], error));
  DLBRIDGE_TRY(AskGraph(consumer, scope, &graphs[1], error));
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
                                          uint32_t options, DeviceScope* scope,
                                          DLBridgeError* error) {
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
    return CheckOneGraph(producer, consumer, scope, error);
  }
  if ((options & DLBRIDGE_HANDOFF_ALLOW_CAPTURE) == 0) {
    return RejectCapture("producer",
                         "is capturing a graph, and a wait would add the consumer to it: hand over "
                         "after the capture, or set DLBRIDGE_HANDOFF_ALLOW_CAPTURE",
                         error);
  }
  return DLBRIDGE_OK;
}

}  // namespace

RelaxedScope::~RelaxedScope() {
  if (exchange_ != nullptr && exchange_(&mode_) != kSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

Result RelaxedScope::Enter() {
  const auto exchange = g_hip.driver.hipThreadExchangeStreamCaptureMode;
  if (exchange == nullptr) {
    return kSuccess;
  }
  const Result code = exchange(&mode_);
  exchange_ = code == kSuccess ? exchange : nullptr;
  return code;
}

DLBridgeStatus RelaxedScope::Enter(DLBridgeError* error) {
  const Result code = Enter();
  return DLBRIDGE_LIKELY(code == kSuccess)
             ? DLBRIDGE_OK
             : RejectCall(error, "hipThreadExchangeStreamCaptureMode", code);
}

DLBridgeStatus CheckCapture(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, DeviceScope* scope, bool* capturing,
                            DLBridgeError* error) {
  int32_t states[2] = {kCaptureNone, kCaptureNone};
  DLBRIDGE_TRY(AskCapture(producer, scope, &states[0], error));
  DLBRIDGE_TRY(AskCapture(consumer, scope, &states[1], error));
  *capturing = states[0] != kCaptureNone || states[1] != kCaptureNone;
  return DLBRIDGE_LIKELY(!*capturing)
             ? DLBRIDGE_OK
             : JudgeCapture(producer, states[0], consumer, states[1], options, scope, error);
}

DLBridgeStatus RequireNoCapture(const DLBridgeStream& stream, const char* argument,
                                DeviceScope* scope, DLBridgeError* error) {
  int32_t state = kCaptureNone;
  DLBRIDGE_TRY(AskCapture(stream, scope, &state, error));
  return DLBRIDGE_LIKELY(state == kCaptureNone)
             ? DLBRIDGE_OK
             : RejectCapture(argument,
                             "is capturing a graph, and no wait for it is allowed until the "
                             "capture ends: end the capture first",
                             error);
}

}  // namespace dlbridge::hip
