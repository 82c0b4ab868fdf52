// SPDX-License-Identifier: Apache-2.0
// The last status and the last rule.
#ifndef DLBRIDGE_TESTS_SUPPORT_LAST_NUMBERS_H_
#define DLBRIDGE_TESTS_SUPPORT_LAST_NUMBERS_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge_test {

// [facts/statuses.toml]
constexpr DLBridgeStatus kLastStatus = DLBRIDGE_ERROR_AMBIGUOUS;
constexpr const char* kLastStatusName = "DLBRIDGE_ERROR_AMBIGUOUS";
// [/facts]
// [facts/rules.toml]
constexpr DLBridgeRule kLastRule = DLBRIDGE_RULE_SHAPE_MISMATCH;
constexpr const char* kLastRuleName = "SHAPE_MISMATCH";
// [/facts]

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_LAST_NUMBERS_H_
