// SPDX-License-Identifier: Apache-2.0
// Writes text to a buffer of fixed size. Truncates what does not fit but counts its length. Needs
// no locale and no allocation.
#ifndef DLBRIDGE_SRC_SUPPORT_TEXT_H_
#define DLBRIDGE_SRC_SUPPORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support/checked.h"

namespace dlbridge {

class TextWriter {
 public:
  // With a `size` of 0 only the length is counted; `buffer` may be NULL then.
  TextWriter(char* buffer, size_t size) : buffer_(buffer), size_(size) { Terminate(); }

  TextWriter& Character(char character) { return Append(&character, 1); }
  // Inlined, so that the compiler computes the length of a literal.
  DLBRIDGE_INLINE TextWriter& String(const char* text) { return Append(text, std::strlen(text)); }
  TextWriter& Append(const char* text, size_t length);
  TextWriter& Signed(int64_t value);
  TextWriter& Unsigned(uint64_t value);
  TextWriter& Hex(uint64_t value);  // with 0x

  // Length of the whole text without NUL, including what did not fit.
  size_t length() const { return length_; }
  bool fits() const { return length_ < size_; }

 private:
  void Terminate();

  char* buffer_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_TEXT_H_
