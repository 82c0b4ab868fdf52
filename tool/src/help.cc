// SPDX-License-Identifier: Apache-2.0
#include "command_text.h"
#include "page.h"

namespace dlbridge::tool {

namespace {

constexpr size_t kIndent = 24;

std::string Heading(const OptionText& option) {
  const std::string names = Join(option.names, ", ");
  if (option.names.empty()) {
    return option.value;
  }
  return names + (option.value.empty() ? "" : " " + option.value);
}

std::string Usage(const CommandText& command, const std::string& program) {
  std::string usage = "usage: " + program;
  usage += command.options.empty() ? "" : " [OPTION]...";
  for (const OptionText& argument : command.arguments) {
    usage += argument.required ? " " + argument.value : " [" + argument.value + "]";
  }
  return usage + (command.commands.empty() ? "" : " COMMAND ...");
}

void WriteOptions(const std::string& title, const std::vector<OptionText>& options, Page* page) {
  if (!options.empty()) {
    page->Line();
    page->Line(title);
    for (const OptionText& option : options) {
      page->Wrapped(kIndent, "  " + Heading(option), option.description);
    }
  }
}

void WriteRows(const std::string& title, const std::vector<TextRow>& rows, size_t indent,
               Page* page) {
  page->Line();
  page->Line(title);
  for (const TextRow& row : rows) {
    page->Wrapped(indent, "  " + row.label, row.text);
  }
}

}  // namespace

std::string HelpText(const CommandText& command, const std::string& program) {
  Page page(Terminal{});
  const bool whole = !command.commands.empty();
  page.Line(Usage(command, program));
  page.Line();
  page.Wrapped(0, "", Sentence(command.description));
  WriteOptions("arguments", command.arguments, &page);
  if (whole) {
    page.Line();
    page.Line("commands");
    for (const CommandText& one : command.commands) {
      page.Wrapped(kIndent, "  " + one.name, one.description);
    }
  }
  WriteOptions("options", command.options, &page);
  page.Line();
  page.Line("examples");
  for (const TextRow& row : Examples(whole ? "" : command.name)) {
    page.Line("  " + row.label);
  }
  if (whole) {
    WriteRows("exit status", ExitStatuses(), 5, &page);
    page.Line();
    page.Line("`dlbridge COMMAND --help` describes a command.");
  }
  return page.text();
}

}  // namespace dlbridge::tool
