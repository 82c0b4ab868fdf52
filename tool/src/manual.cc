// SPDX-License-Identifier: Apache-2.0
// The manual page, in the macros of man(7), which every Unix reads.
#include "command_text.h"
#include "page.h"

namespace dlbridge::tool {

namespace {

// Text of a manual page: a hyphen that can be pasted, and no line that begins like a macro.
std::string Escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '-' ? "\\-" : c == '\\' ? "\\e" : std::string(1, c);
  }
  const bool macro = !escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'');
  return (macro ? "\\&" : "") + escaped;
}

std::string Bold(const std::string& text) { return "\\fB" + Escape(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Escape(text) + "\\fR"; }

std::string Value(const OptionText& option) {
  std::vector<std::string> words;
  for (const std::string& choice : option.choices) {
    words.push_back(Bold(choice));
  }
  return words.empty() ? Italic(option.value) : Join(words, "|");
}

std::string BoldHeading(const OptionText& option) {
  if (option.names.empty()) {
    return Value(option);
  }
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(Bold(name));
  }
  return Join(names, ", ") + (option.value.empty() ? "" : " " + Value(option));
}

std::string Row(const std::string& heading, const std::string& text) {
  return ".TP\n" + heading + "\n" + Escape(text) + "\n";
}

std::string Synopsis(const std::string& program, const CommandText& command) {
  std::string line = Bold(program + " " + command.name);
  line += command.options.empty() ? "" : " [" + Italic("OPTION") + "]...";
  for (const OptionText& argument : command.arguments) {
    line += argument.required ? " " + Value(argument) : " [" + Value(argument) + "]";
  }
  return line;
}

std::string Section(const CommandText& program, const CommandText& command) {
  std::string text = ".SS " + Synopsis(program.name, command) + "\n";
  text += Escape(Sentence(command.description)) + "\n";
  for (const auto* options : {&command.arguments, &command.options}) {
    for (const OptionText& option : *options) {
      text += Row(BoldHeading(option), Sentence(option.description));
    }
  }
  return text;
}

}  // namespace

std::string ManualPage(const CommandText& program) {
  std::string text = ".\\\" SPDX-License-Identifier: Apache-2.0\n";
  text +=
      ".\\\" Written by `dlbridge manual`; version generated from facts/*.toml by "
      "tools/facts.py.\n";
  text += ".TH DLBRIDGE 1 \"\" dlbridge \"User Commands\"\n";
  text += ".SH NAME\ndlbridge \\- look at the library, explain rules, and check tensors in files\n";
  text += ".SH SYNOPSIS\n";
  for (const CommandText& command : program.commands) {
    text += (&command == &program.commands.front() ? "" : ".br\n") +
            Synopsis(program.name, command) + "\n";
  }
  text += ".SH DESCRIPTION\n" + Escape(program.description) + "\n";
  for (const OptionText& option : program.options) {
    text += Row(BoldHeading(option), Sentence(option.description));
  }
  text += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    text += Section(program, command);
  }
  text += ".SH \"EXIT STATUS\"\n";
  for (const TextRow& row : ExitStatuses()) {
    text += Row(Bold(row.label), row.text);
  }
  text += ".SH ENVIRONMENT\n";
  for (const TextRow& row : Environment()) {
    text += Row(Bold(row.label), row.text);
  }
  text += ".SH EXAMPLES\n";
  for (const TextRow& row : Examples("")) {
    text += Row(Bold(row.label), row.text);
  }
  return text +
         ".SH \"SEE ALSO\"\nThe page tool.md of the documentation describes the formats of files "
         "and "
         "of the output.\n";
}

}  // namespace dlbridge::tool
