// SPDX-License-Identifier: Apache-2.0
// The error struct of a call: 256 bytes before an unreadable page, not initialised.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_ERROR_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_ERROR_H_

#include <cstring>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/memory.h"

namespace dlbridge_fuzz {

// A block for the error of the next call.
inline DLBridgeError* NewError(GuardedMemory* memory) {
  auto* error = memory->Take<DLBridgeError>();
  std::memset(error, 0xee, sizeof *error);
  return error;
}

// A failing call fills the error; `error` may be NULL.
inline void CheckError(DLBridgeStatus status, const DLBridgeError* error) {
  if (status == DLBRIDGE_OK || error == nullptr) {
    return;
  }
  CheckEqual("status in the error", status, error->status);
  CheckEqual("native_code without a driver", 0, error->native_code);
  CheckEqual("reserved of the error", 0U, error->reserved[0] | error->reserved[1]);
  Check("axis is that of a tensor", error->axis >= -1 && error->axis < 64);
  const void* nul = std::memchr(error->message, 0, sizeof error->message);
  Check("the message ends with NUL", nul != nullptr);
  Check("the message is not empty", error->message[0] != '\0');
  Check("the rule has a name", std::strcmp(dlbridge_rule_name(error->rule), "UNKNOWN_RULE") != 0);
  Check("the status has a name", std::strcmp(dlbridge_status_name(status), "UNKNOWN_STATUS") != 0);
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_ERROR_H_
