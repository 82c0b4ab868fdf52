// SPDX-License-Identifier: Apache-2.0
// Child processes of a fuzz target.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "fuzz/support/check.h"

namespace dlbridge_fuzz {

// Waits for a child, which must end without a failure. libFuzzer's timer interrupts the call.
inline void Await(pid_t child) {
  int status = -1;
  pid_t ended = -1;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended == -1 && errno == EINTR);
  CheckEqual("the child", child, ended);
  CheckEqual("the child's status", 0, status);
}

// Ends a child. The counters of llvm-cov are written at exit, but libFuzzer takes an exit for a
// failure.
[[noreturn]] inline void EndChild() {
  if (std::getenv("LLVM_PROFILE_FILE") != nullptr) {
    std::exit(0);
  }
  _exit(0);
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_
