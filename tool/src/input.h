// SPDX-License-Identifier: Apache-2.0
#ifndef DLBRIDGE_TOOL_SRC_INPUT_H_
#define DLBRIDGE_TOOL_SRC_INPUT_H_

#include <cstddef>
#include <string>

namespace dlbridge::tool {

// Parsed JSON takes up to 20 times its size in memory.
constexpr size_t kMaxFileBytes = size_t{16} << 20;

// The name of a file in messages.
std::string InputName(const std::string& file);

// The bytes of a file, or of standard input for "-".
std::string ReadInput(const std::string& file);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_INPUT_H_
