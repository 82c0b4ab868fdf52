// SPDX-License-Identifier: Apache-2.0
// What the tests of the tool share.
#ifndef DLBRIDGE_TOOL_TESTS_SUPPORT_H_
#define DLBRIDGE_TOOL_TESTS_SUPPORT_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "commands.h"
#include "json.h"

namespace dlbridge::tool {

inline std::string CorpusText() {
  std::ifstream file(DLBRIDGE_CASES);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Characters of a UTF-8 line.
inline size_t Columns(const std::string& line) {
  size_t columns = 0;
  for (const char c : line) {
    columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  return columns;
}

// A line of a page that is too long or has a control character, else "".
inline std::string Flaw(const std::string& page) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    for (const char c : line) {
      if (static_cast<unsigned char>(c) < 0x20) {
        return "a control character: " + line;
      }
    }
    if (Columns(line) > kColumns) {
      return line;
    }
  }
  return "";
}

struct Answer {
  ExitStatus status = kFine;
  std::string page;
  Json json;
};

// The message of a failure is the page.
inline Answer CheckText(const std::string& bytes, const CheckOptions& options = {},
                        Terminal terminal = {}) {
  Answer answer;
  Page page(terminal);
  try {
    answer.status = CheckBytes(bytes, options, &page, &answer.json);
    answer.page = page.text();
  } catch (const Failure& failure) {
    answer.status = failure.status();
    answer.page = failure.what();
  }
  return answer;
}

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_TESTS_SUPPORT_H_
