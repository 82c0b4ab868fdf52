// SPDX-License-Identifier: Apache-2.0
// Statuses and rules: names, texts, and how a refusal becomes a message.
#ifndef DLBRIDGE_SRC_STATUS_H_
#define DLBRIDGE_SRC_STATUS_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "support/text.h"

namespace dlbridge {

constexpr int32_t kNoAxis = -1;

// What a refusal knows; how the two values read depends on the rule (see kRules).
struct Refusal {
  DLBridgeRule rule;
  int32_t axis;
  uint64_t expected;
  uint64_t found;
};

// Status of a call that was refused for `rule`.
DLBridgeStatus StatusOfRule(DLBridgeRule rule);

// The two halves of a finding, such as "at least 0" and "-3".
void WriteExpected(const Refusal& refusal, TextWriter* text);
void WriteFound(const Refusal& refusal, TextWriter* text);

// Each fills `error`, where one is wanted, and returns the status to return.
DLBRIDGE_COLD DLBridgeStatus Refuse(DLBridgeError* error, const Refusal& refusal);
DLBRIDGE_COLD DLBridgeStatus RefuseArgument(DLBridgeError* error, const char* argument,
                                            const char* problem);
DLBRIDGE_COLD DLBridgeStatus RefuseStatus(DLBridgeError* error, DLBridgeStatus status,
                                          const char* subject, const char* problem);
DLBRIDGE_COLD DLBridgeStatus RefuseMemory(DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_STATUS_H_
