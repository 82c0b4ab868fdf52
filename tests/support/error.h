// SPDX-License-Identifier: Apache-2.0
// An error struct that is not initialised, as a caller may pass it.
#ifndef DLBRIDGE_TESTS_SUPPORT_ERROR_H_
#define DLBRIDGE_TESTS_SUPPORT_ERROR_H_

#include <cstring>

#include "dlbridge/dlbridge.h"

namespace dlbridge_test {

struct Error : DLBridgeError {
  Error() { std::memset(static_cast<DLBridgeError*>(this), 0xff, sizeof(DLBridgeError)); }
  bool Says(const char* text) const { return std::strstr(message, text) != nullptr; }
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_ERROR_H_
