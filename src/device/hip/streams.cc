// SPDX-License-Identifier: Apache-2.0
// HIP's streams: one waits for another, or the host for one. docs/streams.md lists the calls.
#include "describe/device.h"
#include "device/hip/capture.h"
#include "device/hip/events.h"

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

DLBridgeStatus RecordAndWait(const DLBridgeStream& producer, int32_t device,
                             const DLBridgeStream& consumer, Event event, DeviceScope* scope,
                             DLBridgeError* error) {
  DLBRIDGE_TRY(EnterFor(producer.handle, device, scope, error));
  DLBRIDGE_HIP_TRY(hipEventRecord, event, HandleOf(producer));
  DLBRIDGE_TRY(EnterFor(consumer.handle, consumer.device.device_id, scope, error));
  DLBRIDGE_HIP_TRY(hipStreamWaitEvent, HandleOf(consumer), event, 0);
  return DLBRIDGE_OK;
}

// Runtimes before 6.1 reject the wait for a stream while another captures a graph in the global
// mode, whatever the thread's mode. They do not reject the query of an event.
DLBRIDGE_COLD DLBridgeStatus WaitByEvent(Stream stream, int32_t device, DeviceScope* scope,
                                         DLBridgeError* error) {
  if (!IsSpecial(reinterpret_cast<uintptr_t>(stream))) {
    DLBRIDGE_TRY(AskDevice(stream, &device, error));
  }
  Event event = nullptr;
  DLBRIDGE_TRY(TakeEvent(device, false, scope, &event, error));
  g_hip.driver.hipGetLastError();
  Result code = g_hip.driver.hipEventRecord(event, stream);
  const char* call = code == kSuccess ? "hipEventQuery" : "hipEventRecord";
  code = code == kSuccess ? PollEvent(event) : code;
  GiveEvent(device, code == kSuccess, event);
  return code == kSuccess ? DLBRIDGE_OK : RejectCall(error, call, code);
}

}  // namespace

DLBridgeStatus CheckHandle(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  if (stream.handle == kLegacyStream && g_hip.version < kFirstVersionWithLegacyStream) {
    return RejectValue(
        error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument,
        "has the handle 1 (hipStreamLegacy), which HIP runtimes before 6.4 use as an "
        "address: expected 0 for the default stream, 2 for the thread's own, or a "
        "hipStream_t",
        stream.handle);
  }
  return IsSpecial(stream.handle) ? CheckDevice(stream.device.device_id, argument, error)
                                  : DLBRIDGE_OK;
}

DLBridgeStatus DeviceOf(const DLBridgeStream& stream, const char* argument, int32_t* device,
                        DLBridgeError* error) {
  const int32_t labelled = stream.device.device_id;
  *device = labelled;
  if (IsSpecial(stream.handle)) {
    return CheckHandle(stream, argument, error);
  }
  DLBRIDGE_TRY(AskDevice(HandleOf(stream), device, error));
  if (*device < 0) {
    *device = labelled;
    return CheckDevice(labelled, argument, error);
  }
  // A label of pinned memory names no device, so it cannot contradict the runtime.
  if (DLBRIDGE_UNLIKELY(*device != labelled && TypeOf(stream.device) == kDLROCM)) {
    return RejectLabel(argument, labelled, *device, error);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus WaitFor(Stream stream, int32_t device, DeviceScope* scope, DLBridgeError* error) {
  RelaxedScope relaxed;
  DLBRIDGE_TRY(relaxed.Enter(error));
  const Result code = g_hip.driver.hipStreamSynchronize(stream);
  if (DLBRIDGE_LIKELY(code == kSuccess)) {
    return DLBRIDGE_OK;
  }
  return code == kCaptureUnsupported ? WaitByEvent(stream, device, scope, error)
                                     : RejectCall(error, "hipStreamSynchronize", code);
}

DLBridgeStatus CreateStream(int32_t device, Stream* stream, DLBridgeError* error) {
  DeviceScope scope;
  DLBRIDGE_TRY(scope.Enter(device, error));
  RelaxedScope relaxed;
  DLBRIDGE_TRY(relaxed.Enter(error));
  DLBRIDGE_HIP_TRY(hipStreamCreateWithFlags, stream, kStreamNonBlocking);
  return DLBRIDGE_OK;
}

void DestroyStream(Stream stream) {
  RelaxedScope relaxed;
  static_cast<void>(relaxed.Enter(nullptr));
  if (g_hip.driver.hipStreamDestroy(stream) != kSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error) {
  int32_t device = -1;
  DLBRIDGE_TRY(DeviceOf(producer, "producer", &device, error));
  DLBRIDGE_TRY(CheckHandle(consumer, "consumer", error));
  DeviceScope scope;
  bool capturing = false;
  DLBRIDGE_TRY(CheckCapture(producer, consumer, options, &scope, &capturing, error));
  Event event = nullptr;
  DLBRIDGE_TRY(TakeEvent(device, capturing, &scope, &event, error));
  const DLBridgeStatus status = RecordAndWait(producer, device, consumer, event, &scope, error);
  GiveEvent(device, status == DLBRIDGE_OK && !capturing, event);
  return status == DLBRIDGE_OK ? scope.Leave(error) : status;
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  const int32_t device = stream.device.device_id;
  DLBRIDGE_TRY(CheckHandle(stream, "stream", error));
  DeviceScope scope;
  DLBRIDGE_TRY(RequireNoCapture(stream, "stream", &scope, error));
  DLBRIDGE_TRY(EnterFor(stream.handle, device, &scope, error));
  DLBRIDGE_TRY(WaitFor(HandleOf(stream), device, &scope, error));
  return scope.Leave(error);
}

}  // namespace dlbridge::hip
