// SPDX-License-Identifier: Apache-2.0
// Runs part of a test in its own process. A driver is started once per process, so a test that
// needs it in another state needs another process.
#ifndef DLBRIDGE_TESTS_SUPPORT_CHILD_H_
#define DLBRIDGE_TESTS_SUPPORT_CHILD_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace dlbridge_test {

// Runs `part` in a forked child; fails if an expectation failed there or the child crashed.
template <class Part>
testing::AssertionResult InChild(Part part) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    return testing::AssertionFailure() << "fork failed";
  }
  if (child == 0) {
    part();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return testing::AssertionFailure() << "waitpid failed";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "the child ended with wait status " << status;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_CHILD_H_
