// SPDX-License-Identifier: Apache-2.0
// Integers of 128 bits: sums and products of offsets in a tensor fit.
#ifndef DLBRIDGE_TOOL_SRC_WIDE_H_
#define DLBRIDGE_TOOL_SRC_WIDE_H_

#include <algorithm>
#include <string>

namespace dlbridge::tool {

__extension__ typedef __int128 Wide;

inline std::string ToString(Wide value) {
  std::string digits;
  const bool negative = value < 0;
  for (Wide rest = negative ? -value : value; rest != 0 || digits.empty(); rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  digits += negative ? "-" : "";
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Rounded towards minus infinity.
inline Wide FloorDivide(Wide value, Wide by) {
  return value >= 0 ? value / by : -((-value + by - 1) / by);
}

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_WIDE_H_
