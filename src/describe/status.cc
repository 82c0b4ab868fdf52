// SPDX-License-Identifier: Apache-2.0
#include "describe/status.h"

#include "describe/device.h"
#include "describe/dtype.h"

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

// A literal with its length, so that a message is written without counting characters.
struct Literal {
  const char* text;
  size_t length;
};
template <size_t kSize>
constexpr Literal LiteralOf(const char (&text)[kSize]) {
  return {text, kSize - 1};
}

struct RuleRow {
  const char* name;
  Literal text;
  const char* expected;
  const char* found;
  Literal remedy;
};

constexpr RuleRow kRules[] = {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) \
  {#name, LiteralOf(text), expected, found, LiteralOf(remedy)},
    DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};

// The position of each row in the table, to compare with the numbers of the header.
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

// A value of the header without a row in the table does not compile.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
constexpr bool HasRow(decltype(DLBRIDGE_RULE_NONE) rule) {
  switch (rule) {
#define DLBRIDGE_ROW(name, status, text, expected, found, remedy) case DLBRIDGE_RULE_##name:
    DLBRIDGE_RULES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
    return true;
  }
  return false;
}
constexpr bool HasRow(decltype(DLBRIDGE_OK) status) {
  switch (status) {
#define DLBRIDGE_ROW(name, text) case DLBRIDGE_##name:
    DLBRIDGE_STATUSES(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
    return true;
  }
  return false;
}
#pragma GCC diagnostic pop
static_assert(HasRow(DLBRIDGE_RULE_NONE) && HasRow(DLBRIDGE_OK), "each has a row");

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

// A message shows at most this many entries or characters of a list, so that the remedy fits; the
// rest is counted.
constexpr size_t kMostListed = 6;
constexpr size_t kListRoom = 76;

// The number of entries that fit.
template <class T, class Write>
size_t CountListed(const List<T>& list, Write write) {
  TextWriter measure(nullptr, 0);
  size_t listed = 0;
  for (; listed < list.count && listed < kMostListed; ++listed) {
    measure.String(listed == 0 ? "" : " or ");
    write(list.items[listed], &measure);
    if (listed != 0 && measure.length() > kListRoom) {
      break;
    }
  }
  return listed;
}

template <class T, class Write>
void WriteList(const List<T>& list, TextWriter* text, Write write) {
  const size_t listed = CountListed(list, write);
  for (size_t i = 0; i < listed; ++i) {
    text->String(i == 0 ? "" : i + 1 == list.count ? " or " : ", ");
    write(list.items[i], text);
  }
  if (listed < list.count) {
    text->String(" or ").Unsigned(list.count - listed).String(" more");
  }
}

void WriteDevices(const List<DLDevice>& devices, TextWriter* text) {
  WriteList(devices, text, [](const DLDevice& device, TextWriter* to) {
    if (device.device_id == -1) {
      WriteDeviceType(TypeOf(device), to);
    } else {
      WriteDevice(device, to);
    }
  });
}

void WriteDtypes(const List<DLDataType>& dtypes, TextWriter* text) {
  WriteList(dtypes, text, [](DLDataType dtype, TextWriter* to) { WriteDtype(dtype, to); });
}

// Writes the limits of ndim. Both are in one value, the lower limit in the upper half.
void WriteLimits(uint64_t limits, TextWriter* text) {
  const uint64_t least = limits >> 32;
  const uint64_t most = static_cast<uint32_t>(limits);
  if (least == most) {
    text->String("exactly ").Unsigned(most);
  } else if (least == 0) {
    text->String("at most ").Unsigned(most);
  } else {
    text->Unsigned(least).String(" to ").Unsigned(most);
  }
}

// Writes the value of one placeholder of the rule table.
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
    case 'r':
      WriteLimits(value, text);
      break;
    case 'g':
      WriteDevice(MakeDevice(static_cast<int32_t>(value >> 32), static_cast<int32_t>(value)), text);
      break;
    case 'D':
      WriteDevices(*reinterpret_cast<const List<DLDevice>*>(value), text);
      break;
    case 'T':
      WriteDtypes(*reinterpret_cast<const List<DLDataType>*>(value), text);
      break;
    case 'w':
      text->String(value == kReadOnlyMem ? "CL_MEM_READ_ONLY: set READ_ONLY"
                   : value != 0          ? "READ_ONLY"
                                         : "no record of writability");
      break;
    default:  // 'o'
      text->String(value == DLBRIDGE_YES ? "an overlap" : "a possible overlap");
      break;
  }
}

// The length of the text up to the next placeholder.
size_t PlainLength(const char* form) {
  size_t length = 0;
  while (form[length] != '\0' && form[length] != '%') {
    ++length;
  }
  return length;
}

void Expand(const char* form, uint64_t value, TextWriter* text) {
  while (*form != '\0') {
    if (*form == '%') {
      WriteValue(form[1], value, text);
      form += 2;
      continue;
    }
    const size_t plain = PlainLength(form);
    text->Append(form, plain);
    form += plain;
  }
}

}  // namespace

const char* RuleName(DLBridgeRule rule) {
  return static_cast<uint32_t>(rule) < kRuleCount ? kRules[rule].name : "UNKNOWN_RULE";
}

const char* RuleText(DLBridgeRule rule) {
  return static_cast<uint32_t>(rule) < kRuleCount ? kRules[rule].text.text
                                                  : "this library does not know the rule";
}

void WriteExpected(const Violation& violation, TextWriter* text) {
  Expand(RowOf(violation.rule).expected, violation.expected, text);
}

void WriteFound(const Violation& violation, TextWriter* text) {
  Expand(RowOf(violation.rule).found, violation.found, text);
}

namespace {

// Fills all fields but the message and returns a writer for the message.
TextWriter BeginReport(DLBridgeError* error, DLBridgeStatus status, DLBridgeRule rule,
                       int32_t axis) {
  error->status = status;
  error->rule = rule;
  error->axis = axis;
  error->native_code = 0;
  error->reserved[0] = 0;
  error->reserved[1] = 0;
  return {error->message, sizeof error->message};
}

TextWriter BeginReport(DLBridgeError* error, DLBridgeStatus status) {
  return BeginReport(error, status, DLBRIDGE_RULE_NONE, kNoAxis);
}

// Calls `write` with a writer for the message, unless `error` is NULL.
template <class Write>
DLBridgeStatus Report(DLBridgeError* error, DLBridgeStatus status, Write write) {
  if (error != nullptr) {
    TextWriter text = BeginReport(error, status);
    write(&text);
  }
  return status;
}

// A message shows at most this many bytes of a rejected text. Bytes other than printable ASCII are
// shown as '?', so that the message stays valid UTF-8.
constexpr size_t kMostQuoted = 32;

bool IsPrintable(char character) { return character >= ' ' && character <= '~'; }

uint32_t LowestBit(uint32_t bits) { return static_cast<uint32_t>(__builtin_ctz(bits)); }

const char* FlagName(uint32_t bit) {
  constexpr const char* kNames[] = {"DLPACK_FLAG_BITMASK_READ_ONLY",
                                    "DLPACK_FLAG_BITMASK_IS_COPIED",
                                    "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"};
  return bit < sizeof kNames / sizeof kNames[0] ? kNames[bit] : "reserved for DLPack's flags";
}

}  // namespace

void ReportRule(DLBridgeError* error, Violation violation) {
  if (error == nullptr) {
    return;
  }
  const RuleRow& row = RowOf(violation.rule);
  TextWriter text =
      BeginReport(error, StatusOfRule(violation.rule), violation.rule, violation.axis);
  if (violation.axis >= 0) {
    text.String("axis ").Signed(violation.axis).String(": ");
  }
  text.Append(row.text.text, row.text.length).String(": expected ");
  WriteExpected(violation, &text);
  text.String(", found ");
  WriteFound(violation, &text);
  text.String("; ").Append(row.remedy.text, row.remedy.length);
}

void ReportStatus(DLBridgeError* error, DLBridgeStatus status, const char* subject,
                  const char* problem) {
  Report(error, status,
         [=](TextWriter* text) { text->String(subject).Character(' ').String(problem); });
}

DLBridgeStatus RejectNull(DLBridgeError* error, const char* argument) {
  return RejectArgument(error, argument, "must not be NULL");
}

void ReportSigned(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                  const char* problem, int64_t found) {
  Report(error, status, [=](TextWriter* text) {
    text->String(argument).Character(' ').String(problem).String(", found ").Signed(found);
  });
}

void ReportUnsigned(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                    const char* problem, uint64_t found) {
  Report(error, status, [=](TextWriter* text) {
    text->String(argument).Character(' ').String(problem).String(", found ").Unsigned(found);
  });
}

DLBridgeStatus RejectOther(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                           uint64_t expected, uint64_t found) {
  return Report(error, status, [=](TextWriter* text) {
    text->String(argument).String(" must be ").Unsigned(expected);
    text->String(", found ").Unsigned(found);
  });
}

void ReportDevice(DLBridgeError* error, DLBridgeStatus status, const char* argument,
                  const char* problem, const DLDevice& found) {
  Report(error, status, [=, &found](TextWriter* text) {
    text->String(argument).Character(' ').String(problem).String(", found ");
    WriteDevice(found, text);
  });
}

DLBridgeStatus RejectVersion(DLBridgeError* error, const char* argument, const char* problem,
                             DLPackVersion found) {
  return Report(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, [=](TextWriter* text) {
    text->String(argument).Character(' ').String(problem).String(", found ");
    WriteVersion(Packed(found), text);
  });
}

DLBridgeStatus RejectText(DLBridgeError* error, const char* problem, const char* found,
                          size_t length) {
  return Report(error, DLBRIDGE_ERROR_PARSE, [=](TextWriter* text) {
    text->String("text ").String(problem).String(", found \"");
    for (size_t i = 0; i < length && i < kMostQuoted; ++i) {
      text->Character(IsPrintable(found[i]) ? found[i] : '?');
    }
    text->String(length > kMostQuoted ? "...\"" : "\"");
  });
}

DLBridgeStatus RejectSize(DLBridgeError* error, const char* argument, uint64_t needed,
                          uint64_t found) {
  return Report(error, DLBRIDGE_ERROR_BUFFER_TOO_SMALL, [=](TextWriter* text) {
    text->String(argument).String(" must be at least ").Unsigned(needed);
    text->String(", found ").Unsigned(found);
  });
}

DLBridgeStatus RejectStructSize(DLBridgeError* error, const char* argument, const char* bound,
                                uint32_t limit, uint32_t found) {
  return Report(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, [=](TextWriter* text) {
    text->String(argument).String("->struct_size must be ").String(bound).Character(' ');
    text->Unsigned(limit).String(", found ").Unsigned(found);
    text->String("; set it to the sizeof of the struct");
  });
}

DLBridgeStatus RejectTail(DLBridgeError* error, const char* argument, uint32_t index,
                          uint32_t known_size) {
  return Report(error, DLBRIDGE_ERROR_TOO_NEW, [=](TextWriter* text) {
    text->String(argument).String(" has a setting in byte ").Unsigned(index);
    text->String("; dlbridge " DLBRIDGE_VERSION_STRING " knows ").Unsigned(known_size);
    text->String(" bytes: update the library, or leave the setting zero");
  });
}

DLBridgeStatus RejectDuplicate(DLBridgeError* error, const char* argument, uint64_t index,
                               uint64_t first) {
  return Report(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, [=](TextWriter* text) {
    text->String(argument).Character('[').Unsigned(index).String("] is the same tensor as ");
    text->String(argument).Character('[').Unsigned(first).String("]: give each tensor once");
  });
}

DLBridgeStatus RejectOptions(DLBridgeError* error, const char* argument, uint32_t options,
                             uint32_t known) {
  const uint32_t flags = options & 0xff;
  if (flags != 0) {
    return Report(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, [=](TextWriter* text) {
      const uint32_t bit = LowestBit(flags);
      text->String(argument).String(": bit ").Unsigned(bit).String(" is ").String(FlagName(bit));
      text->String(
          "; options are bits 8 to 30: clear it, or set it in tensor_flags if the call has that");
    });
  }
  return Report(error, DLBRIDGE_ERROR_TOO_NEW, [=](TextWriter* text) {
    const uint32_t bit = LowestBit(options & ~known);
    text->String(argument).String(" has bit ").Unsigned(bit).String(" set, found ").Hex(options);
    text->String("; dlbridge " DLBRIDGE_VERSION_STRING " knows ").Hex(known);
    text->String(": update the library, or clear the bit");
  });
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

}  // extern "C"
