// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <cstring>

namespace dlbridge {

void TextWriter::Terminate() {
  if (size_ != 0) {
    buffer_[length_ < size_ ? length_ : size_ - 1] = '\0';
  }
}

TextWriter& TextWriter::Append(const char* text, size_t length) {
  if (length_ < size_) {
    const size_t room = size_ - 1 - length_;
    std::memcpy(buffer_ + length_, text, length < room ? length : room);
  }
  length_ += length;
  Terminate();
  return *this;
}

namespace {

// Writes the decimal digits so that they end before `end`, and returns their beginning.
char* WriteDigits(uint64_t value, char* end) {
  do {
    *--end = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return end;
}

constexpr size_t kMostDigits = 20;

}  // namespace

TextWriter& TextWriter::Unsigned(uint64_t value) {
  char digits[kMostDigits];
  char* end = digits + sizeof digits;
  const char* begin = WriteDigits(value, end);
  return Append(begin, static_cast<size_t>(end - begin));
}

TextWriter& TextWriter::Signed(int64_t value) {
  if (value >= 0) {
    return Unsigned(static_cast<uint64_t>(value));
  }
  char digits[1 + kMostDigits];
  char* end = digits + sizeof digits;
  char* begin = WriteDigits(0 - static_cast<uint64_t>(value), end);
  *--begin = '-';
  return Append(begin, static_cast<size_t>(end - begin));
}

TextWriter& TextWriter::Hex(uint64_t value) {
  String("0x");
  int shift = 60;
  while (shift > 0 && (value >> shift) == 0) {
    shift -= 4;
  }
  for (; shift >= 0; shift -= 4) {
    Character("0123456789abcdef"[(value >> shift) & 15]);
  }
  return *this;
}

}  // namespace dlbridge
