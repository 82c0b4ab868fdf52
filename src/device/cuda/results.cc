// SPDX-License-Identifier: Apache-2.0
// CUDA's results: their names, and how they are reported.
#include "device/cuda/internal.h"
#include "support/text.h"

namespace dlbridge::cuda {

// Also a context that no longer exists. cuda.h: ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, CONTAINED,
// ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, ASSERT, HARDWARE_STACK_ERROR to LAUNCH_FAILED, EXTERNAL_DEVICE.
bool IsFault(int64_t result) {
  switch (result) {
    case 214:
    case 220:
    case 226:
    case 700:
    case 702:
    case 710:
    case 911:
    case kInvalidContext:
    case kContextIsDestroyed:
    case kDeinitialized:
      return true;
    default:
      return result >= 714 && result <= 719;
  }
}

const char* ResultName(Result result) {
  const char* name = nullptr;
  if (g_cuda.driver.get_error_name == nullptr ||
      g_cuda.driver.get_error_name(result, &name) != kSuccess) {
    return nullptr;
  }
  return name;
}

DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result result) {
  const char* name = ResultName(result);
  const DLBridgeStatus status = RejectDriver(error, call, result, name);
  const bool capture = result >= kCaptureUnsupported && result <= kCaptureWrongThread;
  if (!capture) {
    return status;
  }
  char problem[160];
  TextWriter text(problem, sizeof problem);
  text.String("is not allowed while a stream is capturing a graph: ").Signed(result);
  if (name != nullptr) {
    text.String(" (").String(name).Character(')');
  }
  return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, call, problem);
}

}  // namespace dlbridge::cuda
