// SPDX-License-Identifier: Apache-2.0
// Compares statuses by name, and checks what holds for every error.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_STATUS_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_STATUS_H_

#include <cstring>
#include <initializer_list>
#include <string>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"

namespace dlbridge_fuzz {

inline void CheckStatus(DLBridgeStatus expected, DLBridgeStatus found) {
  if (expected != found) {
    Fail("the status", dlbridge_status_name(expected), dlbridge_status_name(found));
  }
}

// An error to pass to the library: garbage, which a failing call must replace.
inline DLBridgeError GarbageError() {
  DLBridgeError error;
  std::memset(&error, 0x5A, sizeof error);
  return error;
}

// A failing call wrote the status and a text.
inline void CheckError(DLBridgeStatus status, const DLBridgeError& error) {
  if (status == DLBRIDGE_OK) {
    return;
  }
  CheckStatus(status, error.status);
  const size_t length = strnlen(error.message, sizeof error.message);
  Check("the error has a text", length > 0 && length < sizeof error.message);
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_STATUS_H_
