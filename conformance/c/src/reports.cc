// SPDX-License-Identifier: Apache-2.0
// TAP 14 <https://testanything.org/tap-version-14-specification.html> and JUnit XML.
#include "run.h"

namespace dlbridge_conformance {
namespace {

FILE* OpenReport(const char* path) { return strcmp(path, "-") == 0 ? stdout : fopen(path, "w"); }

// A character of a text in XML: control characters and bytes outside of ASCII become '?'.
void PutXml(FILE* file, const char* text) {
  for (; *text != 0; ++text) {
    const char* entity = *text == '<'   ? "&lt;"
                         : *text == '>' ? "&gt;"
                         : *text == '&' ? "&amp;"
                         : *text == '"' ? "&quot;"
                                        : nullptr;
    if (entity != nullptr) {
      fputs(entity, file);
    } else {
      fputc(*text == '\n' || (*text >= ' ' && *text < 0x7f) ? *text : '?', file);
    }
  }
}

// A string of YAML in double quotes.
void PutYaml(FILE* file, const char* key, const char* text) {
  fprintf(file, "  %s: \"", key);
  for (; *text != 0; ++text) {
    if (*text == '"' || *text == '\\') {
      fputc('\\', file);
    }
    fputc(*text >= ' ' && *text < 0x7f ? *text : ' ', file);
  }
  fputs("\"\n", file);
}

// The lines of a literal block of YAML.
void PutBlock(FILE* file, const char* key, const char* text) {
  if (*text == 0) {
    return;
  }
  fprintf(file, "  %s: |\n    ", key);
  for (; *text != 0; ++text) {
    if (*text == '\n') {
      fputs(text[1] == 0 ? "" : "\n    ", file);
    } else {
      fputc(*text >= ' ' && *text < 0x7f ? *text : ' ', file);
    }
  }
  fputs("\n", file);
}

// Text after the name of a test: one line, with the '#' that TAP would read escaped.
void PutTap(FILE* file, const char* text) {
  for (; *text != 0; ++text) {
    if (*text == '#' || *text == '\\') {
      fputc('\\', file);
    }
    fputc(*text >= ' ' && *text < 0x7f ? *text : ' ', file);
  }
}

bool IsBad(int32_t outcome) {
  return outcome == DLBRIDGE_CONFORMANCE_FAILED || outcome == DLBRIDGE_CONFORMANCE_KNOWN ||
         outcome == DLBRIDGE_CONFORMANCE_STALE;
}

void TapDirective(FILE* file, const DLBridgeConformanceResult& result) {
  if (result.outcome == DLBRIDGE_CONFORMANCE_SKIPPED) {
    fputs(" # SKIP ", file);
    PutTap(file, result.found);
  } else if (result.outcome == DLBRIDGE_CONFORMANCE_KNOWN) {
    fputs(" # TODO ", file);
    PutTap(file, result.reason);
    fputs(" (", file);
    PutTap(file, result.link);
    fputs(")", file);
  }
}

void TapResult(FILE* file, uint32_t number, const DLBridgeConformanceResult& result) {
  fprintf(file, "%sok %u - %s", IsBad(result.outcome) ? "not " : "", number, result.check);
  TapDirective(file, result);
  fputc('\n', file);
  if (IsBad(result.outcome)) {
    fputs("  ---\n", file);
    PutYaml(file, "rule", result.title);
    PutYaml(file, "specification", result.specification);
    PutYaml(file, "expected", result.expected);
    PutYaml(file, "found", result.found);
    PutYaml(file, "severity", SeverityName(result.severity));
    if (result.outcome == DLBRIDGE_CONFORMANCE_STALE) {
      PutYaml(file, "reason", result.reason);
      PutYaml(file, "link", result.link);
    }
    PutBlock(file, "reproducer", result.reproducer);
    fputs("  ...\n", file);
  }
  fflush(file);
}

void JUnitFailure(FILE* file, const DLBridgeConformanceResult& result) {
  fprintf(file, "      <failure type=\"%s\" message=\"", SeverityName(result.severity));
  PutXml(file, "expected ");
  PutXml(file, result.expected);
  PutXml(file, "; found ");
  PutXml(file, result.found);
  fputs("\">rule: ", file);
  PutXml(file, result.title);
  fputs("\nspecification: ", file);
  PutXml(file, result.specification);
  if (result.reproducer[0] != 0) {
    fputs("\nreproducer:\n", file);
    PutXml(file, result.reproducer);
  }
  fputs("</failure>\n", file);
}

void JUnitSkipped(FILE* file, const DLBridgeConformanceResult& result) {
  fputs("      <skipped message=\"", file);
  if (result.outcome == DLBRIDGE_CONFORMANCE_KNOWN) {
    PutXml(file, "known deviation: ");
    PutXml(file, result.reason);
    PutXml(file, " (");
    PutXml(file, result.link);
    PutXml(file, "); found ");
  }
  PutXml(file, result.found);
  fputs("\"/>\n", file);
}

void JUnitResult(FILE* file, const DLBridgeConformanceResult& result, const char* group) {
  fprintf(file, "    <testcase classname=\"dlpack.%s\" name=\"%s\">\n", group, result.check);
  if (result.outcome == DLBRIDGE_CONFORMANCE_FAILED ||
      result.outcome == DLBRIDGE_CONFORMANCE_STALE) {
    JUnitFailure(file, result);
  } else if (result.outcome != DLBRIDGE_CONFORMANCE_PASSED) {
    JUnitSkipped(file, result);
  }
  fputs("    </testcase>\n", file);
}

bool CloseFile(FILE** file) {
  if (*file == nullptr) {
    return true;
  }
  const bool written = ferror(*file) == 0;
  const bool flushed = (*file == stdout ? fflush(*file) : fclose(*file)) == 0;
  *file = nullptr;
  return written && flushed;
}

}  // namespace

void PutSummary(FILE* file, const DLBridgeConformanceSummary& summary) {
  fprintf(file, "%u passed, %u failed", summary.passed, summary.failed);
  const struct {
    uint32_t count;
    const char* one;
    const char* many;
  } more[] = {{summary.known, "known deviation", "known deviations"},
              {summary.stale, "quirk to remove", "quirks to remove"},
              {summary.skipped, "skipped", "skipped"}};
  for (const auto& part : more) {
    if (part.count > 0) {
      fprintf(file, ", %u %s", part.count, part.count == 1 ? part.one : part.many);
    }
  }
  fputc('\n', file);
}

const char* SeverityName(int32_t severity) {
  switch (severity) {
    case DLBRIDGE_CONFORMANCE_CRASH:
      return "crash";
    case DLBRIDGE_CONFORMANCE_CORRUPTION:
      return "corruption";
    case DLBRIDGE_CONFORMANCE_LEAK:
      return "leak";
    case DLBRIDGE_CONFORMANCE_WRONG_ANSWER:
      return "wrong answer";
    default:
      return "deviation";
  }
}

const char* IsolationName(DLBridgeConformanceIsolation isolation) {
  switch (isolation) {
    case DLBRIDGE_CONFORMANCE_ISOLATION_FORK:
      return "each check in a forked process";
    case DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND:
      return "checks in processes of their own";
    default:
      return "none: a crash of a check ends the run";
  }
}

Reports::~Reports() {
  CloseFile(&tap_);
  CloseFile(&junit_);
}

DLBridgeStatus Reports::Open(const Chosen& chosen, DLBridgeError* error) {
  const DLBridgeConformanceSettings& settings = chosen.settings;
  name_ = chosen.project.name;
  tap_ = settings.tap_path == nullptr ? nullptr : OpenReport(settings.tap_path);
  junit_ = settings.junit_path == nullptr ? nullptr : OpenReport(settings.junit_path);
  if ((settings.tap_path != nullptr && tap_ == nullptr) ||
      (settings.junit_path != nullptr && junit_ == nullptr)) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("cannot write the report %s",
                        settings.tap_path != nullptr && tap_ == nullptr ? settings.tap_path
                                                                        : settings.junit_path));
  }
  if (tap_ != nullptr) {
    fprintf(tap_, "TAP version 14\n# DLPack conformance of %s, dlbridge %s\n# isolation: %s\n",
            name_, dlbridge_version_string(), IsolationName(chosen.isolation));
  }
  if (junit_ != nullptr) {
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", junit_);
    fputs("  <testsuite name=\"", junit_);
    PutXml(junit_, name_);
    fputs("\">\n    <properties>\n      <property name=\"isolation\" value=\"", junit_);
    PutXml(junit_, IsolationName(chosen.isolation));
    fputs("\"/>\n    </properties>\n", junit_);
  }
  return DLBRIDGE_OK;
}

void Reports::Take(const DLBridgeConformanceResult& result, const char* group) {
  ++count_;
  if (tap_ != nullptr) {
    TapResult(tap_, count_, result);
  }
  if (junit_ != nullptr) {
    JUnitResult(junit_, result, group);
  }
}

DLBridgeStatus Reports::Close(const DLBridgeConformanceSummary& summary, DLBridgeError* error) {
  if (tap_ != nullptr) {
    fprintf(tap_, "1..%u\n# ", count_);
    PutSummary(tap_, summary);
  }
  if (junit_ != nullptr) {
    fputs("  </testsuite>\n</testsuites>\n", junit_);
  }
  const bool tap = CloseFile(&tap_);
  const bool junit = CloseFile(&junit_);
  return tap && junit ? DLBRIDGE_OK
                      : SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                                 Say("a report could not be written to its end"));
}

}  // namespace dlbridge_conformance
