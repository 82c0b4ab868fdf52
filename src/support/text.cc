// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

namespace dlbridge {

void TextWriter::Terminate() {
  if (size_ != 0) {
    buffer_[length_ < size_ ? length_ : size_ - 1] = '\0';
  }
}

TextWriter& TextWriter::Character(char character) {
  if (length_ + 1 < size_) {
    buffer_[length_] = character;
  }
  ++length_;
  Terminate();
  return *this;
}

TextWriter& TextWriter::String(const char* text) {
  for (; *text != '\0'; ++text) {
    Character(*text);
  }
  return *this;
}

TextWriter& TextWriter::Unsigned(uint64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) {
    Character(digits[--count]);
  }
  return *this;
}

TextWriter& TextWriter::Signed(int64_t value) {
  if (value < 0) {
    Character('-');
    return Unsigned(0 - static_cast<uint64_t>(value));
  }
  return Unsigned(static_cast<uint64_t>(value));
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
