// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include "dlbridge/dlbridge.h"
#include "facts_table.h"
#include "input.h"

namespace dlbridge::tool {

namespace {

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    return HelpText(Describe(*app), name.empty() ? app->get_name() : name);
  }
};

CLI::Option* AddValue(CLI::App* command, const std::string& name, std::string* value,
                      const std::string& type, const std::string& description) {
  return command->add_option(name, *value, description)->type_name(type);
}

// The type name lists the choices, which Describe() reads.
CLI::Option* AddChoice(CLI::App* command, const std::string& name, std::string* value,
                       const std::vector<std::string>& choices, const std::string& description) {
  CLI::Validator member = CLI::IsMember(choices);
  return AddValue(command, name, value, Join(choices, "|"), description)
      ->check(member.description(""));
}

void AddJson(CLI::App* command, Arguments* arguments) {
  command->add_flag("--json", arguments->json, "print JSON");
}

void AddExplain(CLI::App* app, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(
      "explain", "explain a rule or a status: its meaning, its reason, what to do");
  command
      ->add_option_function<std::string>(
          "NAME", [arguments](const std::string& name) { arguments->explain.name = name; },
          "name or number of a rule or status; none: list all")
      ->type_name("NAME");
  CLI::Option* rules = command->add_flag("--rules", arguments->explain.only_rules, "only rules");
  command->add_flag("--statuses", arguments->explain.only_statuses, "only statuses")
      ->excludes(rules);
  AddJson(command, arguments);
}

void AddCheck(CLI::App* app, Arguments* arguments) {
  CheckOptions* options = &arguments->check;
  CLI::App* command =
      app->add_subcommand("check", "check the tensors of a file: fields, layout, broken rules");
  AddValue(command, "FILE", &options->file, "FILE",
           "tensors in JSON or a descriptor of dlbridge_ipc_export; -: standard input")
      ->required();
  AddValue(command, "--case", &options->case_text, "TEXT",
           "only cases of the file whose names contain TEXT");
  command->add_flag("--brief", options->brief, "one line for each tensor");
  command->add_flag("--strict", options->strict,
                    "reject dtype codes, device types and flags that DLPack does not define");
  command->add_flag("--writable", options->writable,
                    "reject tensors that are read-only or not known to be writable");
  AddChoice(command, "--contiguous", &options->contiguous, {"c", "f", "either"},
            "reject other layouts: last axis fastest (c), first axis fastest (f)");
  command->add_option("--align", options->alignment, "reject tensors that are not aligned to BYTES")
      ->type_name("BYTES")
      ->check(
          [](const std::string& text) {
            const bool digits = !text.empty() && text.size() < 20 &&
                                text.find_first_not_of("0123456789") == std::string::npos;
            const unsigned long long value = digits ? std::stoull(text) : 0;
            return value != 0 && (value & (value - 1)) == 0
                       ? std::string()
                       : "expected a power of two, found " + text;
          },
          "", "");
  AddValue(command, "--dlpack", &options->dlpack, "VERSION",
           std::string("check for a consumer of this DLPack version (default: ") + kDefaultVersion +
               ")");
  AddJson(command, arguments);
}

// For the packagers of the program; they run when it is built and are not listed.
void AddHidden(CLI::App* app, Arguments* arguments) {
  CLI::App* completion =
      app->add_subcommand("completion", "print the completion script of a shell");
  completion->group("");
  AddChoice(completion, "SHELL", &arguments->shell, Shells(), "the shell")->required();
  app->add_subcommand("manual", "print the manual page")->group("");
}

std::vector<std::string> Split(const std::string& text, char between) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == between) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

OptionText DescribeOption(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) {
    text.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    text.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) {
    text.value = option.get_type_name();
    if (text.value.find('|') != std::string::npos) {
      text.choices = Split(text.value, '|');
    }
  }
  text.description = option.get_description();
  text.required = option.get_required();
  return text;
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(Arguments* arguments) {
  auto app = std::make_unique<CLI::App>(
      "Look at dlbridge, explain its rules, and check tensors that a file describes.", "dlbridge");
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_help_flag("-h,--help", "print this help");
  app->set_version_flag("--version", std::string("dlbridge ") + dlbridge_version_string(),
                        "print the version of the library");
  app->require_subcommand(1);
  AddJson(app->add_subcommand(
              "info", "describe the library, its DLPack versions, and the drivers that it finds"),
          arguments);
  AddExplain(app.get(), arguments);
  AddCheck(app.get(), arguments);
  AddHidden(app.get(), arguments);
  return app;
}

CommandText Describe(const CLI::App& app) {
  CommandText text;
  text.name = app.get_name();
  text.description = app.get_description();
  for (const CLI::Option* option : app.get_options({})) {
    const bool positional = option->get_snames().empty() && option->get_lnames().empty();
    (positional ? text.arguments : text.options).push_back(DescribeOption(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) {
      text.commands.push_back(Describe(*command));
    }
  }
  return text;
}

std::vector<TextRow> ExitStatuses() {
  return {
      {"0", "The command succeeded, and each tensor obeys the rules."},
      {"1", "check: a tensor breaks a rule."},
      {"2", "The command line is wrong, or explain knows no such name."},
      {"3", "A file cannot be read, has another format, or is larger than " +
                std::to_string(kMaxFileBytes >> 20) + " MiB; or the output cannot be written."}};
}

std::vector<TextRow> Environment() {
  return {{"NO_COLOR",
           "If it is set and not empty, the output has no colour. Without it, only "
           "output to a terminal has."},
          {"LC_ALL, LC_CTYPE, LANG", "In a UTF-8 locale, pictures have characters outside ASCII."},
          {"DLBRIDGE_LIBCUDA, DLBRIDGE_LIBHIP, DLBRIDGE_LIBZE, DLBRIDGE_LIBOPENCL",
           "The file of a driver, for info."}};
}

std::vector<TextRow> Examples(const std::string& command) {
  const std::vector<TextRow> all = {
      {"dlbridge info", "Which library is this, and which drivers does it find?"},
      {"dlbridge explain DATA_NULL", "What does the rule mean, and what is to be done?"},
      {"dlbridge explain --statuses", "List all statuses."},
      {"dlbridge check tensor.json", "Draw a tensor and name the rules that it breaks."},
      {"dlbridge check --brief cases.json --case strides", "Check many tensors, a line for each."},
      {"dlbridge check --json - <descriptor.bin",
       "Check what another process sent, for a script."}};
  std::vector<TextRow> chosen;
  for (const TextRow& row : all) {
    if (command.empty() || row.label.rfind("dlbridge " + command, 0) == 0) {
      chosen.push_back(row);
    }
  }
  return chosen;
}

}  // namespace dlbridge::tool
