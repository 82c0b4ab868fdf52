// SPDX-License-Identifier: Apache-2.0
// The parts of a run: results of checks, their isolation, known deviations and reports.
#ifndef DLBRIDGE_CONFORMANCE_RUN_H_
#define DLBRIDGE_CONFORMANCE_RUN_H_

#include "checks.h"
#include "dlbridge/conformance.h"
#include "text.h"

namespace dlbridge_conformance {

// What a child reports about one check. It is small enough for a pipe to take it in one piece.
struct Record {
  uint32_t magic;
  uint32_t index;  // in `Chosen::indices`
  int32_t outcome;
  int32_t severity;
  Line expected;
  Line found;
  Snippet reproducer;
};

// In every record, so that nothing else in the pipe is taken for one.
constexpr uint32_t kMagic = 0x444c4343;
// The outcome of a record that only has the reproducer of what runs next.
constexpr int32_t kAnnounced = -1;

// The checks to run, and how.
struct Chosen {
  DLBridgeConformanceProject project;
  DLBridgeConformanceSettings settings;
  List<uint32_t> indices;  // in kChecks
  DLBridgeConformanceIsolation isolation;
};

// Receives the records, in order.
struct Sink {
  bool (*take)(void* context, const Record& record);
  void* context;
};

// Runs one check in this process.
Record RunHere(const Chosen& chosen, uint32_t index, bool isolated);

// Runs all checks. Without children, they run in this process.
DLBridgeStatus RunAll(const Chosen& chosen, const Sink& sink, DLBridgeError* error);
bool HasFork();
// In a program that ISOLATION_COMMAND has started: runs the checks and ends the process. Returns
// true if the program was started so, for another project.
bool RunIfChild(const Chosen& chosen);

struct Quirk {
  Text<96> check;  // a name or a pattern
  Line reason;
  Line link;
  bool seen;    // one of its checks failed
  bool judged;  // one of its checks passed or failed
};

using Quirks = List<Quirk>;
// Whether the quirk, whose name may be a pattern of fnmatch, is about the check.
bool Concerns(const Quirk& quirk, const char* check);
DLBridgeStatus ReadQuirks(const DLBridgeConformanceSettings& settings, Quirks* out,
                          DLBridgeError* error);

// Writes reports to files; `-` is the standard output.
class Reports {
 public:
  Reports() = default;
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports();

  DLBridgeStatus Open(const Chosen& chosen, DLBridgeError* error);
  void Take(const DLBridgeConformanceResult& result, const char* group);
  DLBridgeStatus Close(const DLBridgeConformanceSummary& summary, DLBridgeError* error);

 private:
  FILE* tap_ = nullptr;
  FILE* junit_ = nullptr;
  const char* name_ = "";
  uint32_t count_ = 0;
};

// A line about the whole run, which names what is not zero.
void PutSummary(FILE* file, const DLBridgeConformanceSummary& summary);

const char* SeverityName(int32_t severity);
const char* IsolationName(DLBridgeConformanceIsolation isolation);

DLBridgeStatus SetError(DLBridgeError* error, DLBridgeStatus status, const Line& message);

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_RUN_H_
