// SPDX-License-Identifier: Apache-2.0
// Runs of the kit, with the results collected.
#ifndef DLBRIDGE_CONFORMANCE_TESTS_SUPPORT_H_
#define DLBRIDGE_CONFORMANCE_TESTS_SUPPORT_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../examples/array.h"
#include "dlbridge/conformance.h"

namespace conformance_test {

struct Result {
  int32_t outcome;
  int32_t severity;
  std::string expected;
  std::string found;
  std::string reproducer;
  std::string specification;
};

using Results = std::map<std::string, Result>;

inline void Collect(void* results, const DLBridgeConformanceResult* result) {
  // A stale quirk has the name of a check that has passed.
  const bool stale = result->outcome == DLBRIDGE_CONFORMANCE_STALE;
  (*static_cast<Results*>(results))[std::string(stale ? "stale " : "") + result->check] = {
      result->outcome, result->severity,   result->expected,
      result->found,   result->reproducer, result->specification};
}

inline DLBridgeConformanceSettings Quick() {
  DLBridgeConformanceSettings settings = dlbridge_conformance_settings_init();
  settings.rounds = 2000;
  settings.time_limit_ms = 60000;
  return settings;
}

struct Ran {
  Results results;
  DLBridgeConformanceSummary summary = dlbridge_conformance_summary_init();
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLBridgeStatus status = DLBRIDGE_OK;

  std::string Failures() const {
    std::string text;
    for (const auto& [name, result] : results) {
      if (result.outcome == DLBRIDGE_CONFORMANCE_FAILED ||
          result.outcome == DLBRIDGE_CONFORMANCE_STALE) {
        text += name + ": expected " + result.expected + ", found " + result.found + "\n";
      }
    }
    return text;
  }
};

inline Ran RunAll(const DLBridgeConformanceProject& project,
                  DLBridgeConformanceSettings settings = Quick()) {
  Ran ran;
  settings.report = Collect;
  settings.report_user = &ran.results;
  ran.status = dlbridge_conformance_run(&project, &settings, &ran.summary, &ran.error);
  return ran;
}

// The results of the checks whose names contain `only`.
inline Ran RunOnly(const DLBridgeConformanceProject& project, const char* only) {
  DLBridgeConformanceSettings settings = Quick();
  settings.only = only;
  return RunAll(project, settings);
}

}  // namespace conformance_test

#endif  // DLBRIDGE_CONFORMANCE_TESTS_SUPPORT_H_
