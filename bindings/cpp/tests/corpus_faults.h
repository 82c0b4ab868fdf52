// SPDX-License-Identifier: Apache-2.0
// Steps of the corpus while calls fail that the library makes of the C library
// (tests/faults/hooks.h).
//
// Each step is tried again and again, each time with the next call failing, until no call of it
// fails any more. A step that a failure has stopped has released nothing, and its inputs are as
// they were: the next try of the same step, and the rest of the case, give the answers that the
// corpus expects.
#ifndef DLBRIDGE_CPP_TESTS_CORPUS_FAULTS_H_
#define DLBRIDGE_CPP_TESTS_CORPUS_FAULTS_H_

#include <array>
#include <cstdint>
#include <string>

#include "corpus_world.h"
#include "faults/hooks.h"

namespace dlbridge_cpp_test {

// The first call of each step that fails, from 1, and whether all later ones fail too.
struct Fault {
  std::int64_t first;
  bool for_good;
};

// What the library has not given back.
inline std::array<std::int64_t, 2> LibraryHolds() {
  FaultsLive live;
  faults_live(&live);
  return {live.blocks, live.mappings};
}

// Whether a step ended with a status that stands for a failure of the system.
inline bool IsStopped(const json& answer, const json& step) {
  static const Names statuses = {"ERROR_OUT_OF_MEMORY", "ERROR_UNSUPPORTED", "ERROR_UNAVAILABLE",
                                 "ERROR_NOT_FOUND"};
  const std::string status = answer["status"];
  const bool known = std::find(statuses.begin(), statuses.end(), status) != statuses.end();
  return known && status != step["expect"]["status"] && answer["rule"] == "NONE" &&
         !answer["message"].get<std::string>().empty();
}

// Makes a step with `call`; adds the number of calls that failed to `failures`.
template <class Call>
json CallUntilNothingFails(const Fault& fault, const json& step, World* world, Call call,
                           std::int64_t* failures) {
  constexpr std::int64_t kMostCalls = 1000;
  const json deletes = world->Deletes();
  for (std::int64_t nth = fault.first; nth < kMostCalls; ++nth) {
    faults_arm(nth, fault.for_good ? 1 : 0);
    json answer = call(step, world);
    const std::int64_t failed = faults_disarm();
    *failures += failed;
    if (failed == 0 || !IsStopped(answer, step)) {
      return answer;
    }
    if (world->Deletes() != deletes) {
      return {{"status", "a call that failed has released a tensor"}};
    }
  }
  return {{"status", "the step makes too many calls"}};
}

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_CORPUS_FAULTS_H_
