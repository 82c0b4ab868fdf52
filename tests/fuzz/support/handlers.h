// SPDX-License-Identifier: Apache-2.0
// The handlers of signals by which libFuzzer writes an input that fails.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_HANDLERS_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_HANDLERS_H_

#include <csignal>
#include <cstddef>

namespace dlbridge_fuzz {

// Make it before a driver is loaded. The compiler in PoCL, which the library loads for OpenCL and
// for oneAPI, replaces the handlers.
class Handlers {
 public:
  Handlers() {
    for (size_t i = 0; i < kCount; ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
    }
  }
  void Restore() const {
    for (size_t i = 0; i < kCount; ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  static constexpr size_t kCount = sizeof kSignals / sizeof kSignals[0];
  struct sigaction before_[kCount];
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_HANDLERS_H_
