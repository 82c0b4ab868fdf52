// SPDX-License-Identifier: Apache-2.0
// HIP's results: their names, and how they are reported.
#include "device/hip/internal.h"
#include "support/text.h"

namespace dlbridge::hip {

const char* ResultName(Result result) { return g_hip.driver.hipGetErrorName(result); }

DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result code) {
  const char* name = ResultName(code);
  g_hip.driver.hipGetLastError();
  if (code < kFirstCaptureError || code > kLastCaptureError) {
    return RejectDriver(error, call, code, name);
  }
  char problem[160];
  TextWriter text(problem, sizeof problem);
  text.String("failed with ").Signed(code).String(" (").String(name != nullptr ? name : "");
  text.String("): not allowed while a stream is capturing a graph");
  const DLBridgeStatus status = RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, call, problem);
  if (error != nullptr) {
    error->native_code = code;
  }
  return status;
}

// The runtime's errors of a faulty device since 7.0 (218, 300, 700, 719, 999), and those that
// hip_runtime_api.h describes as faults (214, 702, 710). Earlier runtimes end the process.
bool IsFault(Result code) {
  switch (code) {
    case kEccNotCorrectable:
    case kInvalidKernelFile:
    case kInvalidSource:
    case kIllegalAddress:
    case kLaunchTimeOut:
    case kAssert:
    case kLaunchFailure:
    case kUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace dlbridge::hip
