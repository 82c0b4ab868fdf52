// SPDX-License-Identifier: Apache-2.0
// Child processes of a fuzz target.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
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

// Forks; 0 in the child.
inline pid_t StartChild() {
  std::fflush(nullptr);
  const pid_t child = fork();
  Check("a child", child >= 0);
  return child;
}

// Ends a child. The counters of llvm-cov are written at exit, but libFuzzer takes an exit for a
// failure.
[[noreturn]] inline void EndChild() {
  if (std::getenv("LLVM_PROFILE_FILE") != nullptr) {
    std::exit(0);
  }
  _exit(0);
}

// Runs an input in a process of its own.
template <class Body>
void InChild(Body body) {
  const pid_t child = StartChild();
  if (child == 0) {
    body();
    EndChild();
  }
  Await(child);
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_CHILD_H_
