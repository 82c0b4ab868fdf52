// SPDX-License-Identifier: Apache-2.0
// Reads the decisions of a fuzz target from its input; after the end of the input all are zero.
//
// libFuzzer's FuzzedDataProvider would do the same, but seeds must mean the same in builds with
// gcc, and a version of clang must not change what they mean. Each decision takes its bytes from
// the front, so that a changed byte leaves the meaning of all others.
#ifndef DLBRIDGE_TESTS_FUZZ_SUPPORT_INPUT_H_
#define DLBRIDGE_TESTS_FUZZ_SUPPORT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace dlbridge_fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  // An integer of any value.
  template <class T>
  T Any() {
    T value = {};
    const size_t count = sizeof value < size_ ? sizeof value : size_;
    if (count != 0) {
      std::memcpy(&value, data_, count);
      data_ += count;
      size_ -= count;
    }
    return value;
  }
  uint8_t Byte() { return Any<uint8_t>(); }
  bool Flag() { return (Byte() & 1) != 0; }
  // True in one of `count` cases; false after the end of the input.
  bool OneIn(unsigned count) { return Byte() % count == count - 1; }
  // 0 to `count` - 1, for a count of 1 to 2^32.
  uint64_t Below(uint64_t count) {
    return count <= 256 ? Byte() % count
                        : (count <= 65536 ? Any<uint16_t>() % count : Any<uint32_t>() % count);
  }
  // `least` to `most`, both included.
  int64_t Between(int64_t least, int64_t most) {
    const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(least) + Below(span));
  }
  template <class T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }
  // Mostly small, sometimes at or near a power of two of either sign, sometimes anything.
  int64_t Number() {
    const uint8_t shape = Byte();
    if (shape < 208) {
      return static_cast<int64_t>(shape % 13) - 3;
    }
    if (shape >= 252) {
      return Any<int64_t>();
    }
    const auto edge = static_cast<int64_t>(uint64_t{1} << (Byte() % 64));
    const uint64_t moved = static_cast<uint64_t>(edge) + static_cast<uint64_t>(shape % 3) - 1;
    return static_cast<int64_t>(shape % 2 == 0 ? moved : 0 - moved);
  }
  bool empty() const { return size_ == 0; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_SUPPORT_INPUT_H_
