// SPDX-License-Identifier: Apache-2.0
// Scales the amount of random testing to the machine.
#ifndef DLBRIDGE_TESTS_SUPPORT_SCALE_H_
#define DLBRIDGE_TESTS_SUPPORT_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace dlbridge_test {

// The fraction of the full number of rounds. DLBRIDGE_TEST_SCALE sets it, for example to 0.1. It is
// 0.02 where DLBRIDGE_SLOW or DLBRIDGE_SLOW_MACHINE is set, as under valgrind.
inline double Scale() {
  if (const char* scale = std::getenv("DLBRIDGE_TEST_SCALE")) {
    return std::strtod(scale, nullptr);
  }
  const bool slow =
      std::getenv("DLBRIDGE_SLOW") != nullptr || std::getenv("DLBRIDGE_SLOW_MACHINE") != nullptr;
  return slow ? 0.02 : 1.0;
}

inline size_t Scaled(size_t rounds) {
  const auto scaled = static_cast<size_t>(static_cast<double>(rounds) * Scale());
  return scaled > 0 ? scaled : 1;
}

// A small generator with the same numbers on every platform, so that a failure is reproducible.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t value = state_;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
  }
  // From `least` to `most`, both included.
  int64_t Between(int64_t least, int64_t most) {
    const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(least) +
                                (span == 0 ? Bits() : Bits() % span));
  }
  bool OneIn(int64_t count) { return Between(1, count) == 1; }
  template <class List>
  auto Pick(const List& list) -> decltype(list[0]) {
    return list[static_cast<size_t>(Between(0, static_cast<int64_t>(std::size(list)) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_SCALE_H_
