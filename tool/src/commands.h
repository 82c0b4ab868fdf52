// SPDX-License-Identifier: Apache-2.0
// The commands: each fills `page` or `json` and returns the exit status.
#ifndef DLBRIDGE_TOOL_SRC_COMMANDS_H_
#define DLBRIDGE_TOOL_SRC_COMMANDS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "exit_status.h"
#include "page.h"

namespace dlbridge::tool {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  std::optional<std::string> name;  // none: all names
  bool only_rules = false;
  bool only_statuses = false;
};

struct CheckOptions {
  std::string file;
  std::string case_text;
  bool brief = false;
  // The demands of the policy.
  bool strict = false;
  bool writable = false;
  std::string contiguous;
  std::string dlpack;
  uint64_t alignment = 0;
};

ExitStatus Info(Page* page, Json* json);
ExitStatus Explain(const ExplainOptions& options, Page* page, Json* json);
ExitStatus Check(const CheckOptions& options, Page* page, Json* json);
// As Check, for the content of a file.
ExitStatus CheckBytes(const std::string& bytes, const CheckOptions& options, Page* page,
                      Json* json);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_COMMANDS_H_
