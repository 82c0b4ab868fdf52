// SPDX-License-Identifier: Apache-2.0
// The libFuzzer entry point for exercise.h.
#include "fuzz/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dlbridge_test::Exercise(data, size);
}
