// SPDX-License-Identifier: Apache-2.0
// The command line of a program that checks a project.
#include <getopt.h>

#include "run.h"

namespace dlbridge_conformance {
namespace {

const char kHelp[] =
    "usage: %s [OPTION...]\n"
    "Checks how %s exchanges DLPack tensors. Exit status: 0 if all checks passed or\n"
    "failed as the quirks say, 1 if not, 2 for wrong options.\n\n"
    "  --tap FILE         write TAP 14 to FILE (default: -, the standard output)\n"
    "  --junit FILE       write JUnit XML to FILE\n"
    "  --quirks FILE      known deviations: [[quirk]] with check, reason and link\n"
    "  --only TEXT        run the checks whose names contain TEXT\n"
    "  --rounds N         rounds of the checks for leaks (100000)\n"
    "  --time-limit MS    for each check (10000)\n"
    "  --no-fork          run the checks in this process, for a debugger\n"
    "  --list             print the checks and end\n";

const option kOptions[] = {
    {"tap", required_argument, nullptr, 't'},    {"junit", required_argument, nullptr, 'j'},
    {"quirks", required_argument, nullptr, 'q'}, {"only", required_argument, nullptr, 'o'},
    {"rounds", required_argument, nullptr, 'r'}, {"time-limit", required_argument, nullptr, 'm'},
    {"no-fork", no_argument, nullptr, 'n'},      {"list", no_argument, nullptr, 'l'},
    {"help", no_argument, nullptr, 'h'},         {nullptr, 0, nullptr, 0}};

// False unless the text is a number from 1 to 2^31.
bool ReadNumber(const char* text, uint32_t* out) {
  char* end = nullptr;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end != 0 || value < 1 || value > INT32_MAX) {
    fprintf(stderr, "expected a number from 1, found %s\n", text);
    return false;
  }
  *out = static_cast<uint32_t>(value);
  return true;
}

int List() {
  for (size_t i = 0; i < kCheckCount; ++i) {
    printf("%-36s %s\n", kChecks[i].name, kChecks[i].title);
  }
  return 0;
}

// Returns -1 to go on, or an exit status.
int TakeOption(int letter, const char* program, const char* project,
               DLBridgeConformanceSettings* settings) {
  switch (letter) {
    case 't':
      settings->tap_path = optarg;
      return -1;
    case 'j':
      settings->junit_path = optarg;
      return -1;
    case 'q':
      settings->quirks_path = optarg;
      return -1;
    case 'o':
      settings->only = optarg;
      return -1;
    case 'r':
      return ReadNumber(optarg, &settings->rounds) ? -1 : 2;
    case 'm':
      return ReadNumber(optarg, &settings->time_limit_ms) ? -1 : 2;
    case 'n':
      settings->isolation = DLBRIDGE_CONFORMANCE_ISOLATION_NONE;
      return -1;
    case 'l':
      return List();
    case 'h':
      printf(kHelp, program, project);
      return 0;
    default:
      return 2;
  }
}

}  // namespace
}  // namespace dlbridge_conformance

extern "C" int dlbridge_conformance_main(int argc, char** argv,
                                         const DLBridgeConformanceProject* project) {
  const char* program = argc > 0 ? argv[0] : "conformance";
  const char* name = project != nullptr && project->name != nullptr ? project->name : "the project";
  DLBridgeConformanceSettings settings = dlbridge_conformance_settings_init();
  settings.tap_path = "-";
  for (int letter;
       (letter = getopt_long(argc, argv, "", dlbridge_conformance::kOptions, nullptr)) != -1;) {
    const int status = dlbridge_conformance::TakeOption(letter, program, name, &settings);
    if (status != -1) {
      return status;
    }
  }
  if (optind < argc) {
    fprintf(stderr, "%s: unexpected argument %s\n", program, argv[optind]);
    return 2;
  }
  DLBridgeConformanceSummary summary = dlbridge_conformance_summary_init();
  DLBridgeError error;
  if (dlbridge_conformance_run(project, &settings, &summary, &error) != DLBRIDGE_OK) {
    fprintf(stderr, "%s: %s\n", program, error.message);
    return 2;
  }
  if (strcmp(settings.tap_path, "-") != 0) {
    dlbridge_conformance::PutSummary(stdout, summary);
  }
  return dlbridge_conformance_exit_status(&summary);
}
