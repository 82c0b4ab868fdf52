// SPDX-License-Identifier: Apache-2.0
// JSON whose members keep their order, and numbers of 64 bits, which are strings as in the corpus:
// readers of other languages keep 53 bits of a number.
#ifndef DLBRIDGE_TOOL_SRC_JSON_H_
#define DLBRIDGE_TOOL_SRC_JSON_H_

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlbridge::tool {

using Json = nlohmann::ordered_json;

// The number of the format that `--json` prints. It changes if a field is removed or gets another
// meaning; new fields do not change it.
constexpr int kJsonSchema = 1;

inline Json Strings(const std::vector<int64_t>& numbers) {
  Json strings = Json::array();
  for (const int64_t number : numbers) {
    strings.push_back(std::to_string(number));
  }
  return strings;
}

inline std::string Print(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_JSON_H_
