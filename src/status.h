// SPDX-License-Identifier: Apache-2.0
// Statuses and rules: names, texts, and how a refusal becomes a message.
#ifndef DLBRIDGE_SRC_STATUS_H_
#define DLBRIDGE_SRC_STATUS_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "status_table.h"
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

// What %m shows: a kind of memory (0: not told) and a device, in 64 bits.
constexpr uint64_t MemoryFact(int32_t memory, int32_t device_type, int32_t device_id) {
  return static_cast<uint64_t>(static_cast<uint8_t>(memory)) << 56 |
         static_cast<uint64_t>(static_cast<uint32_t>(device_type) & 0xffffffU) << 32 |
         static_cast<uint32_t>(device_id);
}

// Status of a call that was refused for a rule. Known when this is compiled at nearly every
// refusal, so that readers and compilers see that a refusal is never a success.
constexpr DLBridgeStatus kRuleStatuses[] = {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) DLBRIDGE_##status,
    DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};
constexpr DLBridgeStatus StatusOfRule(DLBridgeRule rule) { return kRuleStatuses[rule]; }

// The two halves of a finding, such as "at least 0" and "-3".
void WriteExpected(const Refusal& refusal, TextWriter* text);
void WriteFound(const Refusal& refusal, TextWriter* text);

// Each fills `error`, where one is wanted.
DLBRIDGE_COLD void ReportRule(DLBridgeError* error, Refusal refusal);
DLBRIDGE_COLD void ReportStatus(DLBridgeError* error, DLBridgeStatus status, const char* subject,
                                const char* problem);

// The same, returning the status to return.
DLBRIDGE_INLINE DLBridgeStatus Refuse(DLBridgeError* error, const Refusal& refusal) {
  ReportRule(error, refusal);
  return StatusOfRule(refusal.rule);
}
DLBRIDGE_INLINE DLBridgeStatus RefuseStatus(DLBridgeError* error, DLBridgeStatus status,
                                            const char* subject, const char* problem) {
  ReportStatus(error, status, subject, problem);
  return status;
}
DLBRIDGE_INLINE DLBridgeStatus RefuseArgument(DLBridgeError* error, const char* argument,
                                              const char* problem) {
  return RefuseStatus(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument, problem);
}
DLBRIDGE_INLINE DLBridgeStatus RefuseMemory(DLBridgeError* error) {
  return RefuseStatus(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, "the allocator", "had no memory");
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_STATUS_H_
