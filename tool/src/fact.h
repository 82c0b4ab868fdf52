// SPDX-License-Identifier: Apache-2.0
// The rows of facts_table.h.
#ifndef DLBRIDGE_TOOL_SRC_FACT_H_
#define DLBRIDGE_TOOL_SRC_FACT_H_

#include <cstdint>

namespace dlbridge::tool {

// A status or a rule. Texts that a row lacks are empty.
struct Fact {
  int32_t number;
  const char* name;      // ERROR_VERSION, NDIM_NEGATIVE
  const char* constant;  // DLBRIDGE_ERROR_VERSION, DLBRIDGE_RULE_NDIM_NEGATIVE
  const char* since;     // the first version of dlbridge that has it
  const char* meaning;
  const char* expected;  // of a rule: the pattern of its message, with dots for values
  const char* found;
  const char* remedy;
  const char* why;
  const char* fix;
  const char* source;  // of a rule: its origin, as facts/rules.toml states it
  const char* status;  // of a rule: the name of the status that rejects; empty for a note
  const char* python;  // of a status: the exception in Python
};

// A constant of an enumeration or a bit.
struct Named {
  uint32_t value;
  const char* name;
  const char* meaning;
};

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_FACT_H_
