// SPDX-License-Identifier: Apache-2.0
#include "describe/status.h"

extern "C" {

const char* dlbridge_rule_name(DLBridgeRule rule) { return dlbridge::RuleName(rule); }

const char* dlbridge_rule_text(DLBridgeRule rule) { return dlbridge::RuleText(rule); }

}  // extern "C"
