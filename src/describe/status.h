// SPDX-License-Identifier: Apache-2.0
// Statuses and rules: names, texts, and the messages of rejections.
#ifndef DLBRIDGE_SRC_DESCRIBE_STATUS_H_
#define DLBRIDGE_SRC_DESCRIBE_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "describe/status_table.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "support/text.h"

namespace dlbridge {

constexpr int32_t kNoAxis = -1;

// An array of the caller; `items` is NULL if none was given.
template <class T>
struct List {
  const T* items;
  size_t count;
};

// A broken rule. The rule decides how the two values are written (facts/rules.toml).
struct Violation {
  DLBridgeRule rule;
  int32_t axis;
  uint64_t expected;
  uint64_t found;
};

// The value of %D and %T. The list must outlive the violation.
template <class T>
uint64_t ListFact(const List<T>& list) {
  return reinterpret_cast<uintptr_t>(&list);
}

// The value of %m: a kind of memory (0: not reported) and a device, in 64 bits.
constexpr uint64_t MemoryFact(int32_t memory, int32_t device_type, int32_t device_id) {
  return static_cast<uint64_t>(static_cast<uint8_t>(memory)) << 56 |
         static_cast<uint64_t>(static_cast<uint32_t>(device_type) & 0xffffffU) << 32 |
         static_cast<uint32_t>(device_id);
}

// A value of %w; the others are the flag READ_ONLY, or 0 if writability is not recorded.
constexpr uint64_t kReadOnlyMem = uint64_t{1} << 32;

// Status of a call that rejects a tensor for a rule. Nearly every caller passes a constant, so the
// compiler sees that the status is never DLBRIDGE_OK.
constexpr DLBridgeStatus kRuleStatuses[] = {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) DLBRIDGE_##status,
    DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};
constexpr DLBridgeStatus StatusOfRule(DLBridgeRule rule) { return kRuleStatuses[rule]; }

// Never NULL; a rule that this library does not know has a text, too.
const char* RuleName(DLBridgeRule rule);
const char* RuleText(DLBridgeRule rule);

// Write the two halves of a finding, such as "at least 0" and "-3".
void WriteExpected(const Violation& violation, TextWriter* text);
void WriteFound(const Violation& violation, TextWriter* text);

// Fill all fields of `error`, which may be uninitialised, or NULL.
DLBRIDGE_COLD void ReportRule(DLBridgeError* error, Violation violation);
DLBRIDGE_COLD void ReportStatus(DLBridgeError* error, DLBridgeStatus status, const char* subject,
                                const char* problem);

// As the functions above, and return the status.
DLBRIDGE_INLINE DLBridgeStatus Reject(DLBridgeError* error, const Violation& violation) {
  ReportRule(error, violation);
  return StatusOfRule(violation.rule);
}
DLBRIDGE_INLINE DLBridgeStatus RejectStatus(DLBridgeError* error, DLBridgeStatus status,
                                            const char* subject, const char* problem) {
  ReportStatus(error, status, subject, problem);
  return status;
}
DLBRIDGE_INLINE DLBridgeStatus RejectArgument(DLBridgeError* error, const char* argument,
                                              const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument, problem);
}
// Not inlined, so that an entry point can jump to it and needs no stack frame.
DLBRIDGE_COLD DLBridgeStatus RejectNull(DLBridgeError* error, const char* argument);
DLBRIDGE_INLINE DLBridgeStatus RejectMemory(DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, "the allocator", "is out of memory");
}

// Rejects an argument with the value that was found: "policy.level must be ..., found 7".
DLBRIDGE_COLD void ReportSigned(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                                const char* problem, int64_t found);
DLBRIDGE_COLD void ReportUnsigned(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                                  const char* problem, uint64_t found);
template <class T>
DLBRIDGE_INLINE DLBridgeStatus RejectValue(DLBridgeError* error, DLBridgeStatus status,
                                           const char* argument, const char* problem, T found) {
  if (std::is_signed<T>::value) {
    ReportSigned(error, status, argument, problem, static_cast<int64_t>(found));
  } else {
    ReportUnsigned(error, status, argument, problem, static_cast<uint64_t>(found));
  }
  return status;
}
// Rejects a number that must have one value: "spec.fd_count must be 1, found 2".
DLBRIDGE_COLD DLBridgeStatus RejectOther(DLBridgeError* error, DLBridgeStatus status,
                                         const char* argument, uint64_t expected, uint64_t found);
// As RejectValue, for an enumeration whose newest value is `most`: a greater value is from a newer
// caller.
DLBRIDGE_INLINE DLBridgeStatus RejectEnum(DLBridgeError* error, const char* argument,
                                          const char* problem, int32_t found, int32_t most) {
  return RejectValue(error, found > most ? DLBRIDGE_ERROR_TOO_NEW : DLBRIDGE_ERROR_INVALID_ARGUMENT,
                     argument, problem, found);
}
// As RejectValue, for a device and for a version.
DLBRIDGE_COLD void ReportDevice(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                                const char* problem, const DLDevice& found);
DLBRIDGE_INLINE DLBridgeStatus RejectDevice(DLBridgeError* error, DLBridgeStatus status,
                                            const char* argument, const char* problem,
                                            const DLDevice& found) {
  ReportDevice(error, status, argument, problem, found);
  return status;
}
DLBRIDGE_COLD DLBridgeStatus RejectVersion(DLBridgeError* error, const char* argument,
                                           const char* problem, DLPackVersion found);
// Rejects a text that cannot be parsed; the message shows its beginning.
DLBRIDGE_COLD DLBridgeStatus RejectText(DLBridgeError* error, const char* problem,
                                        const char* found, size_t length);
// Rejects a size: "storage.size must be at least 184 bytes, found 100".
DLBRIDGE_COLD DLBridgeStatus RejectSize(DLBridgeError* error, const char* argument, uint64_t needed,
                                        uint64_t found);
// Reject a struct for its struct_size, or for byte `index`, which is not zero and not known here.
DLBRIDGE_COLD DLBridgeStatus RejectStructSize(DLBridgeError* error, const char* argument,
                                              const char* bound, uint32_t limit, uint32_t found);
DLBRIDGE_COLD DLBridgeStatus RejectTail(DLBridgeError* error, const char* argument, uint32_t index,
                                        uint32_t known_size);
// Rejects entry `index` of an array, a duplicate of entry `first`.
DLBRIDGE_COLD DLBridgeStatus RejectDuplicate(DLBridgeError* error, const char* argument,
                                             uint64_t index, uint64_t first);
// Rejects option bits: DLPack's flags, which are bits 0 to 7, and bits that this library does not
// know.
DLBRIDGE_COLD DLBridgeStatus RejectOptions(DLBridgeError* error, const char* argument,
                                           uint32_t options, uint32_t known);
DLBRIDGE_INLINE DLBridgeStatus CheckOptionBits(uint32_t options, uint32_t known,
                                               const char* argument, DLBridgeError* error) {
  return DLBRIDGE_LIKELY((options & ~known) == 0) ? DLBRIDGE_OK
                                                  : RejectOptions(error, argument, options, known);
}
// Checks a reserved field of a struct of fixed size.
DLBRIDGE_INLINE DLBridgeStatus CheckReserved(uint64_t value, const char* argument,
                                             DLBridgeError* error) {
  return DLBRIDGE_LIKELY(value == 0)
             ? DLBRIDGE_OK
             : RejectValue(error, DLBRIDGE_ERROR_TOO_NEW, argument,
                           "must have zero in its reserved field, which this version does not use",
                           value);
}
// Checks the version of a result: major 1, or {0, 0}.
DLBRIDGE_INLINE DLBridgeStatus CheckResultVersion(DLPackVersion version, const char* argument,
                                                  DLBridgeError* error) {
  return DLBRIDGE_LIKELY(version.major == 1 || (version.major == 0 && version.minor == 0))
             ? DLBRIDGE_OK
             : RejectVersion(error, argument,
                             "must be of major 1, or {0, 0} for " DLBRIDGE_DEFAULT_DLPACK, version);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_STATUS_H_
