// SPDX-License-Identifier: Apache-2.0
// The fuzzer's calls as a normal test: random bytes, the same in each run.
#include <gtest/gtest.h>

#include <array>

#include "fuzz/exercise.h"
#include "support/scale.h"

namespace {

TEST(Fuzz, HoldsOnRandomBytes) {
  dlbridge_test::Random random(20);
  const size_t rounds = dlbridge_test::Scaled(40000);
  for (size_t round = 0; round < rounds; ++round) {
    std::array<uint8_t, 160> bytes = {};
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random.Bits());
    }
    dlbridge_test::Exercise(bytes.data(), random.Bits() % bytes.size());
  }
}

TEST(Fuzz, HoldsOnEmptyInput) { dlbridge_test::Exercise(nullptr, 0); }

}  // namespace
