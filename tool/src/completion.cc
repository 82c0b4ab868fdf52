// SPDX-License-Identifier: Apache-2.0
// Completion scripts, written from what the parser accepts.
#include "command_text.h"
#include "facts_table.h"
#include "page.h"

namespace dlbridge::tool {

namespace {

// The names for a value "NAME".
std::vector<std::string> FactNames() {
  std::vector<std::string> names;
  for (const Fact& rule : kRules) {
    names.emplace_back(rule.name);
  }
  for (const Fact& status : kStatuses) {
    names.emplace_back(status.name);
  }
  return names;
}

// The words that a value can be; none for a file or a text.
std::vector<std::string> Words(const OptionText& option) {
  return option.value == "NAME" ? FactNames() : option.choices;
}

std::vector<std::string> NamesOf(const std::vector<OptionText>& options) {
  std::vector<std::string> names;
  for (const OptionText& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> CommandNames(const CommandText& program) {
  std::vector<std::string> names;
  for (const CommandText& command : program.commands) {
    names.push_back(command.name);
  }
  return names;
}

// In single quotes, for each of the shells.
std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string Head(const std::string& comment) {
  return comment + " SPDX-License-Identifier: Apache-2.0\n" + comment +
         " Written by `dlbridge completion`; names generated from facts/*.toml by "
         "tools/facts.py.\n";
}

// ---------------------------------------------------------------------------------------------
// bash

std::string BashReply(const std::vector<std::string>& words) {
  return "COMPREPLY=($(compgen -W " + Quote(Join(words, " ")) + " -- \"$word\"))";
}

std::string BashValue(const OptionText& option) {
  const std::vector<std::string> words = Words(option);
  return !words.empty()           ? BashReply(words)
         : option.value == "FILE" ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                                  : "COMPREPLY=()";
}

std::string BashCommand(const CommandText& command) {
  std::string text = "    " + command.name + ")\n      case $previous in\n";
  for (const OptionText& option : command.options) {
    if (!option.value.empty()) {
      text += "        " + Join(option.names, " | ") + ")\n          " + BashValue(option) +
              "\n          return\n          ;;\n";
    }
  }
  text += "      esac\n      if [[ $word == -* ]]; then\n        " +
          BashReply(NamesOf(command.options)) + "\n";
  for (const OptionText& argument : command.arguments) {
    text += "      else\n        " + BashValue(argument) + "\n";
  }
  return text + "      fi\n      ;;\n";
}

std::string Bash(const CommandText& program) {
  std::vector<std::string> first = CommandNames(program);
  const std::vector<std::string> options = NamesOf(program.options);
  first.insert(first.end(), options.begin(), options.end());
  std::string text = Head("#");
  text += "# shellcheck shell=bash disable=SC2207\n";
  text +=
      "_dlbridge() {\n  local word=${COMP_WORDS[COMP_CWORD]} "
      "previous=${COMP_WORDS[COMP_CWORD - 1]}\n";
  text += "  COMPREPLY=()\n  if ((COMP_CWORD == 1)); then\n    " + BashReply(first) +
          "\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandText& command : program.commands) {
    text += BashCommand(command);
  }
  return text + "  esac\n}\ncomplete -o filenames -F _dlbridge dlbridge\n";
}

// ----------------------------------------------------------------------------------------------
// zsh

// A description in square brackets.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  }
  return escaped;
}

std::string ZshValue(const OptionText& option) {
  const std::vector<std::string> words = Words(option);
  std::string value = ":" + option.value + ":";
  if (!words.empty()) {
    value = ":" + std::string(option.value == "NAME" ? "name" : "value") + ":(" + Join(words, " ") +
            ")";
  } else if (option.value == "FILE") {
    value += "_files";
  }
  return value;
}

std::string ZshOptions(const std::vector<OptionText>& options, const std::string& indent) {
  std::string text;
  for (const OptionText& option : options) {
    for (const std::string& name : option.names) {
      text += indent +
              Quote(name + "[" + ZshText(option.description) + "]" +
                    (option.value.empty() ? "" : ZshValue(option))) +
              " \\\n";
    }
  }
  return text;
}

std::string ZshCommand(const CommandText& command) {
  std::string text = "    " + command.name + ")\n      _arguments \\\n";
  text += ZshOptions(command.options, "        ");
  for (const OptionText& argument : command.arguments) {
    text += "        " + Quote(std::string(argument.required ? "1" : "1:") + ZshValue(argument)) +
            " \\\n";
  }
  text.erase(text.size() - 3);  // the last backslash
  return text + "\n      ;;\n";
}

std::string Zsh(const CommandText& program) {
  std::string text = "#compdef dlbridge\n" + Head("#");
  text += "local line state\n_arguments -C \\\n" + ZshOptions(program.options, "  ");
  text += "  '1:command:->command' \\\n  '*::argument:->argument'\ncase $state in\n  command)\n";
  text += "    local -a commands=(\n";
  for (const CommandText& command : program.commands) {
    text += "      " + Quote(command.name + ":" + ZshText(command.description)) + "\n";
  }
  text += "    )\n    _describe command commands\n    ;;\n  argument)\n    case $line[1] in\n";
  for (const CommandText& command : program.commands) {
    text += ZshCommand(command);
  }
  return text + "    esac\n    ;;\nesac\n";
}

// ---------------------------------------------------------------------------------------------
// fish

std::string FishOption(const OptionText& option, const std::string& condition) {
  std::string text = "complete -c dlbridge -n " + Quote(condition);
  for (const std::string& name : option.names) {
    text += name.compare(0, 2, "--") == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const std::vector<std::string> words = Words(option);
  text += option.value.empty()     ? ""
          : option.value == "FILE" ? " -r -F"
          : words.empty()          ? " -x"
                                   : " -x -a " + Quote(Join(words, " "));
  return text + " -d " + Quote(option.description) + "\n";
}

std::string FishArgument(const OptionText& argument, const std::string& condition) {
  const std::vector<std::string> words = Words(argument);
  return "complete -c dlbridge -n " + Quote(condition) +
         (words.empty() ? " -F\n" : " -a " + Quote(Join(words, " ")) + "\n");
}

std::string Fish(const CommandText& program) {
  std::string text = Head("#") + "complete -c dlbridge -f\n";
  for (const OptionText& option : program.options) {
    text += FishOption(option, "__fish_use_subcommand");
  }
  for (const CommandText& command : program.commands) {
    text += "complete -c dlbridge -n '__fish_use_subcommand' -a " + command.name + " -d " +
            Quote(command.description) + "\n";
  }
  for (const CommandText& command : program.commands) {
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const OptionText& option : command.options) {
      text += FishOption(option, condition);
    }
    for (const OptionText& argument : command.arguments) {
      text += FishArgument(argument, condition);
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> Shells() { return {"bash", "zsh", "fish"}; }

std::string CompletionScript(const CommandText& program, const std::string& shell) {
  return shell == "bash" ? Bash(program) : shell == "zsh" ? Zsh(program) : Fish(program);
}

}  // namespace dlbridge::tool
