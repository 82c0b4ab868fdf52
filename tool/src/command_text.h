// SPDX-License-Identifier: Apache-2.0
// A description of the command line, from which the help, the manual page and the completions are
// written.
#ifndef DLBRIDGE_TOOL_SRC_COMMAND_TEXT_H_
#define DLBRIDGE_TOOL_SRC_COMMAND_TEXT_H_

#include <string>
#include <vector>

namespace dlbridge::tool {

struct OptionText {
  std::vector<std::string> names;    // none: an argument without a name
  std::string value;                 // "FILE"; empty for a flag
  std::vector<std::string> choices;  // the values that are accepted, if they are listed
  std::string description;
  bool required = false;
};

struct CommandText {
  std::string name;
  std::string description;
  std::vector<OptionText> arguments;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

// A label and its text: rows of a section.
struct TextRow {
  std::string label;
  std::string text;
};
std::vector<TextRow> ExitStatuses();
std::vector<TextRow> Environment();
// Command lines and their purpose; of all commands if `command` is empty.
std::vector<TextRow> Examples(const std::string& command);

std::string HelpText(const CommandText& command, const std::string& program);
std::string ManualPage(const CommandText& program);
// `shell` is one of Shells().
std::string CompletionScript(const CommandText& program, const std::string& shell);
std::vector<std::string> Shells();

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_COMMAND_TEXT_H_
