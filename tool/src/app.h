// SPDX-License-Identifier: Apache-2.0
// The command line: its parser, and a description of it, from which the help, the manual page and
// the completions are written.
#ifndef DLBRIDGE_TOOL_SRC_APP_H_
#define DLBRIDGE_TOOL_SRC_APP_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "command_text.h"
#include "commands.h"

namespace dlbridge::tool {

// What was asked for.
struct Arguments {
  bool json = false;
  ExplainOptions explain;
  CheckOptions check;
  std::string shell;
};

std::unique_ptr<CLI::App> MakeApp(Arguments* arguments);

// What the parser accepts, without hidden commands.
CommandText Describe(const CLI::App& app);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_APP_H_
