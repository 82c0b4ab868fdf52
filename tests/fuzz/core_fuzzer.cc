// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to exercise.h.
#include "fuzz/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dlbridge_test::Exercise(data, size);
}
