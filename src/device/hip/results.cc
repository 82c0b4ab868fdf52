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
  return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, call, problem);
}

}  // namespace dlbridge::hip
