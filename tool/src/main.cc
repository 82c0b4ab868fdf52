// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <new>

#include "app.h"
#include "json.h"

namespace dlbridge::tool {

namespace {

ExitStatus RunCommand(const CLI::App& app, const Arguments& arguments, std::string* output) {
  Page page(arguments.json ? Terminal{} : FindTerminal());
  Json json;
  const auto got = [&](const char* command) { return app.got_subcommand(command); };
  if (got("completion")) {
    *output = CompletionScript(Describe(app), arguments.shell);
    return kFine;
  }
  if (got("manual")) {
    *output = ManualPage(Describe(app));
    return kFine;
  }
  const ExitStatus status = got("info")      ? Info(&page, &json)
                            : got("explain") ? Explain(arguments.explain, &page, &json)
                                             : Check(arguments.check, &page, &json);
  *output = arguments.json ? Print(json) : page.text();
  return status;
}

// The parser's own message does not name the commands.
void CheckCommand(const CLI::App& app, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const bool command =
      !app.get_subcommands([&](const CLI::App* one) { return one->get_name() == first; }).empty();
  if (!command && first.compare(0, 1, "-") != 0) {
    std::vector<std::string> names;
    for (const CommandText& one : Describe(app).commands) {
      names.push_back(one.name);
    }
    const std::string found = argc > 1 ? "'" + Printable(first, 60) + "'" : "none";
    throw Failure(kUsage, "expected a command (" + Join(names, ", ") + "), found " + found +
                              "\nTry 'dlbridge --help'.");
  }
}

int Run(int argc, char** argv) {
  Arguments arguments;
  const std::unique_ptr<CLI::App> app = MakeApp(&arguments);
  CheckCommand(*app, argc, argv);
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app->exit(wish);
  } catch (const CLI::ParseError& error) {
    throw Failure(kUsage, Printable(error.what(), 300) + "\nTry 'dlbridge --help'.");
  }
  std::string output;
  const ExitStatus status = RunCommand(*app, arguments, &output);
  std::cout << output;
  return status;
}

int RunAndReport(int argc, char** argv) {
  int status = kUnreadable;
  try {
    status = Run(argc, argv);
    if (!std::cout.flush()) {
      std::cerr << "dlbridge: the output cannot be written\n";
      status = kUnreadable;
    }
  } catch (const Failure& failure) {
    std::cerr << "dlbridge: " << failure.what() << "\n";
    status = failure.status();
  } catch (const std::bad_alloc&) {
    std::cerr << "dlbridge: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "dlbridge: " << Printable(error.what()) << "\n";
  }
  return status;
}

}  // namespace

}  // namespace dlbridge::tool

int main(int argc, char** argv) { return dlbridge::tool::RunAndReport(argc, argv); }
