// SPDX-License-Identifier: Apache-2.0
// Keeps drivers of the machine out of targets that need none.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_HIDDEN_DRIVERS_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_HIDDEN_DRIVERS_H_

#include <cstdint>
#include <cstdlib>

#include "fuzz/support/input.h"

namespace dlbridge_fuzz {

// Call it before the library: it reads the environment once.
inline void HideDrivers() {
  static const bool hidden = [] {
    for (const char* name :
         {"DLBRIDGE_LIBCUDA", "DLBRIDGE_LIBHIP", "DLBRIDGE_LIBZE", "DLBRIDGE_LIBOPENCL"}) {
#ifdef _WIN32
      _putenv_s(name, "/nonexistent");
#else
      setenv(name, "/nonexistent", 1);
#endif
    }
    return true;
  }();
  static_cast<void>(hidden);
}

// The entry point of a target that needs no driver.
inline int RunWithoutDrivers(const uint8_t* data, size_t size, void (*run)(Input* input)) {
  HideDrivers();
  Input input(data, size);
  run(&input);
  return 0;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_HIDDEN_DRIVERS_H_
