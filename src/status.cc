// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include "device.h"
#include "dtype.h"

namespace dlbridge {
namespace {

struct StatusRow {
  const char* name;
  const char* text;
};

constexpr StatusRow kStatuses[] = {
#define DLBRIDGE_ROW(name, text) {"DLBRIDGE_" #name, text},
    DLBRIDGE_STATUSES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};

struct RuleRow {
  const char* name;
  const char* text;
  const char* expected;
  const char* found;
  const char* remedy;
};

constexpr RuleRow kRules[] = {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) \
  {#name, text, expected, found, remedy},
    DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};

// The tables stand in the order of the header's numbers.
enum StatusOrder {
#define DLBRIDGE_ROW(name, text) kStatusOrder_##name,
  DLBRIDGE_STATUSES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
      kStatusCount
};
enum RuleOrder {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) kRuleOrder_##name,
  DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
      kRuleCount
};
#define DLBRIDGE_ROW(name, text) \
  static_assert(static_cast<int>(kStatusOrder_##name) == static_cast<int>(DLBRIDGE_##name), #name);
DLBRIDGE_STATUSES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy)                              \
  static_assert(static_cast<int>(kRuleOrder_##name) == static_cast<int>(DLBRIDGE_RULE_##name), \
                #name);
DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW

const RuleRow& RowOf(DLBridgeRule rule) { return kRules[rule]; }

const char* ContiguityName(uint64_t value) {
  constexpr const char* kNames[] = {"any order", "C order", "F order", "C or F order"};
  return kNames[value & 3];
}

void WriteVersion(uint64_t packed, TextWriter* text) {
  text->Unsigned(packed >> 32).Character('.').Unsigned(static_cast<uint32_t>(packed));
}

void WriteMemory(uint64_t fact, TextWriter* text) {
  constexpr const char* kNames[] = {"memory",
                                    "unregistered host memory",
                                    "device memory",
                                    "pinned memory",
                                    "managed memory",
                                    "host USM",
                                    "device USM",
                                    "shared USM",
                                    "SVM",
                                    "a cl_mem"};
  if (fact == 0) {
    text->String("no driver to ask");
    return;
  }
  const uint64_t memory = fact >> 56;
  const uint64_t count = sizeof kNames / sizeof kNames[0];
  text->String(kNames[memory < count ? memory : 0]);
  if (memory == DLBRIDGE_MEMORY_HOST) {
    return;
  }
  text->String(" of ");
  WriteDeviceType(static_cast<int32_t>(fact >> 32 & 0xffffffU), text);
  text->Character(':').Signed(static_cast<int32_t>(fact));
}

// One placeholder of a template of the rule table.
void WriteValue(char placeholder, uint64_t value, TextWriter* text) {
  switch (placeholder) {
    case 'i':
      text->Signed(static_cast<int64_t>(value));
      break;
    case 'u':
      text->Unsigned(value);
      break;
    case 'x':
      text->Hex(value);
      break;
    case 't':
      WriteDtype(UnpackDtype(value), text);
      break;
    case 'd':
      WriteDeviceType(static_cast<int32_t>(value), text);
      break;
    case 'v':
      WriteVersion(value, text);
      break;
    case 'c':
      text->String(ContiguityName(value));
      break;
    case 'm':
      WriteMemory(value, text);
      break;
    case 'w':
      text->String(value != 0 ? "READ_ONLY" : "nothing that says so");
      break;
    default:  // 'o'
      text->String(value == DLBRIDGE_YES ? "an overlap" : "undecided");
      break;
  }
}

void Expand(const char* form, uint64_t value, TextWriter* text) {
  for (; *form != '\0'; ++form) {
    if (*form == '%') {
      WriteValue(*++form, value, text);
    } else {
      text->Character(*form);
    }
  }
}

bool Wanted(const DLBridgeError* error) {
  return error != nullptr && error->struct_size == sizeof(DLBridgeError);
}

}  // namespace

void WriteExpected(const Refusal& refusal, TextWriter* text) {
  Expand(RowOf(refusal.rule).expected, refusal.expected, text);
}

void WriteFound(const Refusal& refusal, TextWriter* text) {
  Expand(RowOf(refusal.rule).found, refusal.found, text);
}

void ReportRule(DLBridgeError* error, Refusal refusal) {
  if (!Wanted(error)) {
    return;
  }
  const RuleRow& row = RowOf(refusal.rule);
  error->status = StatusOfRule(refusal.rule);
  error->rule = refusal.rule;
  error->axis = refusal.axis;
  TextWriter text(error->message, sizeof error->message);
  if (refusal.axis >= 0) {
    text.String("axis ").Signed(refusal.axis).String(": ");
  }
  text.String(row.text).String(": expected ");
  WriteExpected(refusal, &text);
  text.String(", found ");
  WriteFound(refusal, &text);
  text.String("; ").String(row.remedy);
}

void ReportStatus(DLBridgeError* error, DLBridgeStatus status, const char* subject,
                  const char* problem) {
  if (!Wanted(error)) {
    return;
  }
  error->status = status;
  error->rule = DLBRIDGE_RULE_NONE;
  error->axis = kNoAxis;
  TextWriter(error->message, sizeof error->message).String(subject).Character(' ').String(problem);
}

}  // namespace dlbridge

extern "C" {

const char* dlbridge_status_name(DLBridgeStatus status) {
  return static_cast<uint32_t>(status) < dlbridge::kStatusCount ? dlbridge::kStatuses[status].name
                                                                : "UNKNOWN_STATUS";
}

const char* dlbridge_status_text(DLBridgeStatus status) {
  return static_cast<uint32_t>(status) < dlbridge::kStatusCount
             ? dlbridge::kStatuses[status].text
             : "This library does not know the status.";
}

const char* dlbridge_rule_name(DLBridgeRule rule) {
  return static_cast<uint32_t>(rule) < dlbridge::kRuleCount ? dlbridge::kRules[rule].name
                                                            : "UNKNOWN_RULE";
}

const char* dlbridge_rule_text(DLBridgeRule rule) {
  return static_cast<uint32_t>(rule) < dlbridge::kRuleCount ? dlbridge::kRules[rule].text
                                                            : "this library does not know the rule";
}

}  // extern "C"
