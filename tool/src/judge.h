// SPDX-License-Identifier: Apache-2.0
// The library's verdict on a tensor.
#ifndef DLBRIDGE_TOOL_SRC_JUDGE_H_
#define DLBRIDGE_TOOL_SRC_JUDGE_H_

#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "tensor.h"

namespace dlbridge::tool {

// A broken rule or a note. Faults of a descriptor have no rule.
struct Finding {
  DLBridgeRule rule = DLBRIDGE_RULE_NONE;
  std::string name;
  int32_t axis = -1;
  bool broken = true;
  std::string status;  // empty for a note
  std::string what;    // a phrase on what is wrong
  std::string expected;
  std::string found;
  std::string remedy;
};

struct Judgement {
  std::vector<Finding> findings;
  std::optional<DLBridgeLayout> layout;
  std::string why_no_layout;

  bool broken() const;
  uint64_t notes() const;
};

// The demands that `check` was given. Throws Failure if they are not a policy.
DLBridgePolicy PolicyOf(const CheckOptions& options);

Judgement Judge(const Tensor& tensor, const DLBridgePolicy& policy);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_JUDGE_H_
