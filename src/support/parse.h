// SPDX-License-Identifier: Apache-2.0
// Reads names and decimal numbers from a text of known length.
#ifndef DLBRIDGE_SRC_SUPPORT_PARSE_H_
#define DLBRIDGE_SRC_SUPPORT_PARSE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dlbridge {

class TextReader {
 public:
  TextReader(const char* text, size_t length) : at_(text), end_(text + length) {}

  bool AtEnd() const { return at_ == end_; }

  // Take and TakeNumber consume a match and return true; otherwise they leave the position
  // unchanged.
  bool Take(const char* expected) {
    const size_t length = std::strlen(expected);
    if (static_cast<size_t>(end_ - at_) < length || std::memcmp(at_, expected, length) != 0) {
      return false;
    }
    at_ += length;
    return true;
  }

  // A decimal without sign and without leading zeros, at most `maximum`.
  bool TakeNumber(uint64_t maximum, uint64_t* out) {
    const char* at = at_;
    uint64_t value = 0;
    for (; at != end_ && *at >= '0' && *at <= '9'; ++at) {
      const auto digit = static_cast<uint64_t>(*at - '0');
      if (value > (maximum - digit) / 10 || digit > maximum || (at != at_ && *at_ == '0')) {
        return false;
      }
      value = value * 10 + digit;
    }
    if (at == at_) {
      return false;
    }
    at_ = at;
    *out = value;
    return true;
  }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_PARSE_H_
