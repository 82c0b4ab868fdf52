// SPDX-License-Identifier: Apache-2.0
// One check on one project: what it knows, what it found, and the calls of the project's callbacks,
// which do not trust the answers.
#ifndef DLBRIDGE_CONFORMANCE_TRIAL_H_
#define DLBRIDGE_CONFORMANCE_TRIAL_H_

#include "checks.h"
#include "dlbridge/conformance.h"
#include "text.h"
#include "values.h"

namespace dlbridge_conformance {

struct Trial {
  Trial(const DLBridgeConformanceProject& of, const Check& which, bool alone, uint32_t repeats,
        uint32_t limit)
      : project(of), check(which), isolated(alone), rounds(repeats), time_limit_ms(limit) {}

  const DLBridgeConformanceProject& project;
  const Check& check;
  bool isolated;
  uint32_t rounds;
  uint32_t time_limit_ms;

  // DLBRIDGE_CONFORMANCE_PASSED, FAILED or SKIPPED; the first failure stays.
  int32_t outcome = DLBRIDGE_CONFORMANCE_PASSED;
  int32_t severity = 0;
  Line expected;
  Line found;
  Snippet reproducer;

  // Reports the reproducer before a callback runs, which may end the process.
  void Announce() const;
  bool Failed() const { return outcome == DLBRIDGE_CONFORMANCE_FAILED; }
  // Severity 0 is that of the check. Returns false, for `return trial.Fail(...)`.
  bool Fail(int32_t worse, const Line& what, const Line& instead);
  bool Skip(const Line& reason);
};

// Receives the reproducers, or NULL.
extern void (*announce)(const Snippet& reproducer);

using Message = Text<DLBRIDGE_CONFORMANCE_MESSAGE_SIZE>;

// The message of a callback, as it stands after the call: cut where the callback did not end it.
Line Quoted(const Message& message);

// ------------------------------------------------------------------------------------- producing

// The array that the project is to make; zero is the default.
struct Wanted {
  const Sample* sample = &Float32();
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;  // UNKNOWN: versioned, if the project has it
  uint32_t features = 0;
  uint64_t flags = 0;
  int64_t shape[3] = {2, 3, 0};
  const int64_t* strides = nullptr;
  const void* values = nullptr;  // the sample's, if NULL
  size_t bytes = 0;
  DLDevice device = {static_cast<DLDeviceType>(0), 0};  // the project's
  DLBridgeConformanceQueue* queue = nullptr;
  DLBridgeConformanceQueue* consumer = nullptr;
  int32_t ndim = 2;
  bool may_reject = false;
};

struct Made {
  DLBridgeConformanceExport out;
  DLTensor* tensor;  // NULL where the project rejected the request
  uint64_t flags;
  DLPackVersion version;
};

// Makes what is wanted. False if the trial is decided: failed or skipped.
bool Make(Trial* trial, const Wanted& wanted, Made* made);
// The bytes that the tensor has to hold.
const void* ValuesOf(const Wanted& wanted, size_t* bytes);
// Shape and dtype are those of the request, so that the values may be read.
bool CheckShape(Trial* trial, const Wanted& wanted, const Made& made);
bool CheckValues(Trial* trial, const Wanted& wanted, const Made& made);
void CallDeleter(const Made& made);
// Calls the deleter, then releases the array.
void Drop(Trial* trial, const Made& made);
void Release(Trial* trial, void* array);

// ------------------------------------------------------------------------------------- consuming

struct Offered;

// Offers the tensor. False if the trial is decided. Otherwise `*array` is the array, or NULL if the
// tensor was rejected, and who owns it then was checked.
enum class Rejection { kFails, kAllowed, kRequired };
bool Consume(Trial* trial, Offered* offered, Rejection rejection, void** array);
// Reads the array and compares.
bool CheckArray(Trial* trial, void* array, const void* values, size_t bytes);
// Releases the array and counts the calls of the deleter.
bool Finish(Trial* trial, Offered* offered, void* array);

// The checks. Each looks up the name of the trial's check; false if it has no such check.
bool RunProducerCheck(Trial* trial);
bool RunConsumerCheck(Trial* trial);
bool RunHostileCheck(Trial* trial);
bool RunExchangeCheck(Trial* trial);
bool RunStreamCheck(Trial* trial);

// A check by name, and the features without which it is skipped.
struct Entry {
  const char* name;
  uint32_t features;
  void (*run)(Trial*);
};

// Runs the check of the trial if it is in `entries`.
bool RunEntry(Trial* trial, const Entry* entries, size_t count);
// Skips the trial if its side lacks one of the features, a callback, or the dtype.
bool HasFeatures(Trial* trial, uint32_t features);
bool HasDtype(Trial* trial, DLDataType dtype);

// ----------------------------------------------------------------------------------------- leaks

// Memory of the process in bytes, or 0 if it is not known.
size_t ProcessMemory();
// Repeats `round` as often as the rounds and the time limit allow, and compares memory and live
// arrays.
bool CheckLeak(Trial* trial, bool (*round)(Trial*));

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_TRIAL_H_
