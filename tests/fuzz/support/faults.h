// SPDX-License-Identifier: Apache-2.0
// Lets calls inside the library fail, as the input decides: of the C library, and of a driver.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_FAULTS_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_FAULTS_H_

#include <string>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"
#ifdef DLBRIDGE_FUZZ_FAULTS
#include "faults/hooks.h"
#endif

namespace dlbridge_fuzz {

// Which call of a function of the library fails.
struct Fault {
  int64_t nth = 0;  // 0: none
  bool for_good = false;
  bool of_driver = false;

  static Fault Take(Input* input, bool has_driver) {
    Fault fault;
    if (!input->OneIn(8)) {
      return fault;
    }
    const uint8_t kind = input->Byte();
    fault.for_good = kind % 2 == 1;
    fault.of_driver = has_driver && kind % 3 != 2;
    fault.nth = 1 + static_cast<int64_t>(input->Below(64));
    return fault;
  }
};

// The calls of the C library. Without the hooks, none fails: a build with the static library
// replays what an input means without its faults.
class CLibrary {
 public:
  static void Arm(const Fault& fault) {
#ifdef DLBRIDGE_FUZZ_FAULTS
    static const int hooked = faults_install("libdlbridge.so");
    Check("the library's calls are seen", hooked > 10);
    faults_arm(fault.nth, fault.for_good ? 1 : 0);
#else
    static_cast<void>(fault);
#endif
  }
  // Returns the name of the last function that failed, or "".
  static std::string Disarm() {
#ifdef DLBRIDGE_FUZZ_FAULTS
    return faults_disarm() != 0 ? faults_last() : "";
#else
    return "";
#endif
  }
};

// The status of a function in which `failed` of the C library failed.
inline void CheckStatusAfterFault(DLBridgeStatus status, const std::string& failed) {
  for (const char* name : {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"}) {
    if (failed == name) {
      return CheckStatus(DLBRIDGE_ERROR_OUT_OF_MEMORY, status);
    }
  }
  Check([&] { return std::string(dlbridge_status_name(status)) + " after " + failed; },
        status == DLBRIDGE_ERROR_OUT_OF_MEMORY || status == DLBRIDGE_ERROR_UNSUPPORTED ||
            status == DLBRIDGE_ERROR_UNAVAILABLE || status == DLBRIDGE_ERROR_DESCRIPTOR ||
            (failed.rfind("dladdr", 0) == 0 && status == DLBRIDGE_ERROR_NOT_FOUND));
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_FAULTS_H_
