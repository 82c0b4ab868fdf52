// SPDX-License-Identifier: Apache-2.0
// Each call that a function of the library makes fails once, and once for good.
//
// A scenario prepares its inputs, makes one call of the library through an Attempt, and checks what
// the call left: on success the results, on failure that the inputs are unchanged and its own. It
// is run again and again, each time with the next call inside the library failing, until it is run
// without a failure. After each failure it is run once more without one: the next call works.
#ifndef DLBRIDGE_TESTS_FAULTS_ATTEMPT_H_
#define DLBRIDGE_TESTS_FAULTS_ATTEMPT_H_

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "faults/hooks.h"
#include "support/child.h"
#include "support/error.h"

namespace dlbridge_test {

// What is able to fail: the C library, or a driver.
class Faults {
 public:
  virtual ~Faults() = default;
  // The nth call from now on fails; nth 0: none. With `for_good` all later ones fail too.
  virtual void Arm(int64_t nth, bool for_good) = 0;
  // Returns the number of calls that failed.
  virtual int64_t Disarm() = 0;
  // The name of the last one.
  virtual std::string Last() = 0;
  // The names of all of them, as far as they are known.
  virtual std::string All() { return Last(); }
  // How many blocks of memory the library may have kept so far, since the device may still use
  // them.
  virtual int64_t Kept() const { return 0; }
  // Is `status` the right one after calls that failed?
  virtual bool IsProper(DLBridgeStatus status) = 0;
};

// The library's calls of the C library.
class CLibrary final : public Faults {
 public:
  static constexpr const char* kModule = "libdlbridge.so";

  // Hooks stay for the rest of the process, so this happens once.
  CLibrary() {
    static const int hooked = faults_install(kModule);
    EXPECT_GT(hooked, 10) << "the library's calls are not seen";
  }
  void Arm(int64_t nth, bool for_good) override { faults_arm(nth, for_good ? 1 : 0); }
  int64_t Disarm() override { return faults_disarm(); }
  std::string Last() override { return faults_last(); }
  bool IsProper(DLBridgeStatus status) override {
    for (const char* name : {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc",
                             "syscall", "mmap", "open", "posix_fallocate", "pthread_atfork"}) {
      if (Last() == name) {
        return status == DLBRIDGE_ERROR_OUT_OF_MEMORY;
      }
    }
    return status == DLBRIDGE_ERROR_OUT_OF_MEMORY || status == DLBRIDGE_ERROR_UNSUPPORTED ||
           status == DLBRIDGE_ERROR_UNAVAILABLE || status == DLBRIDGE_ERROR_DESCRIPTOR ||
           (Last().rfind("dladdr", 0) == 0 && status == DLBRIDGE_ERROR_NOT_FOUND);
  }
};

// One run of a scenario.
class Attempt {
 public:
  Attempt(Faults* faults, int64_t nth, bool for_good)
      : faults_(*faults), nth_(nth), for_good_(for_good) {}

  // Makes the call of the scenario: a function of DLBridgeError* that returns a status. Returns
  // true if it was DLBRIDGE_OK.
  template <class Call>
  bool operator()(Call call) {
    EXPECT_FALSE(called_) << "a scenario makes one call";
    called_ = true;
    Error error;
    faults_.Arm(nth_, for_good_);
    status_ = call(&error);
    failed_ = faults_.Disarm();
    if (status_ != DLBRIDGE_OK) {
      CheckError(error);
    }
    return status_ == DLBRIDGE_OK;
  }

  DLBridgeStatus status() const { return status_; }
  int64_t failed() const { return failed_; }

 private:
  void CheckError(const Error& error) {
    EXPECT_NE(failed_, 0) << "nothing failed, but the status is " << dlbridge_status_name(status_)
                          << ": " << error.message;
    EXPECT_TRUE(failed_ == 0 || faults_.IsProper(status_))
        << dlbridge_status_name(status_) << " after " << faults_.Last() << ": " << error.message;
    EXPECT_EQ(error.status, status_);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NONE);
    EXPECT_EQ(error.axis, -1);
    EXPECT_NE(std::memchr(error.message, 0, sizeof error.message), nullptr);
    EXPECT_NE(error.message[0], '\0');
  }

  Faults& faults_;
  int64_t nth_;
  bool for_good_;
  bool called_ = false;
  DLBridgeStatus status_ = DLBRIDGE_OK;
  int64_t failed_ = 0;
};

struct Scenario {
  const char* name;
  std::function<void(Attempt&)> run;
};

// GoogleTest prints it where a test has this parameter.
inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

// What the library holds of the system.
struct Held {
  int64_t blocks;
  int64_t mappings;
  int64_t files;

  static Held Now() {
    FaultsLive live;
    faults_live(&live);
    int64_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      files += entry.path().empty() ? 0 : 1;
    }
    return {live.blocks, live.mappings, files};
  }
};

inline void ExpectSame(const Held& now, const Held& before, int64_t kept = 0) {
  EXPECT_LE(now.blocks, before.blocks + kept) << "memory";
  EXPECT_GE(now.blocks, before.blocks) << "memory";
  EXPECT_EQ(now.mappings, before.mappings) << "mappings";
  EXPECT_EQ(now.files, before.files) << "file descriptors";
}

// No operation has this many calls.
constexpr int64_t kMostCalls = 5000;

inline void RunWithout(Faults* faults, const Scenario& scenario) {
  Attempt attempt(faults, 0, false);
  scenario.run(attempt);
  EXPECT_EQ(attempt.status(), DLBRIDGE_OK);
}

// Whether the running test has failed since the object was made.
class NewFailures {
 public:
  bool None() const { return Count() == before_; }

 private:
  static int Count() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return test->result()->total_part_count();
  }
  int before_ = Count();
};

// In a process that has used the function before. `check` runs after each attempt.
template <class Check>
void FailEachCallWarm(Faults* faults, const Scenario& scenario, Check check) {
  RunWithout(faults, scenario);
  RunWithout(faults, scenario);
  const Held before = Held::Now();
  const int64_t kept = faults->Kept();
  const NewFailures failures;
  for (const bool for_good : {false, true}) {
    for (int64_t nth = 1, failed = 1; failed != 0; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth) + (for_good ? " and all later ones" : ""));
      Attempt attempt(faults, nth, for_good);
      scenario.run(attempt);
      failed = attempt.failed();
      SCOPED_TRACE("failed: " + faults->All());
      RunWithout(faults, scenario);
      ExpectSame(Held::Now(), before, faults->Kept() - kept);
      check();
      if (!failures.None() || nth == kMostCalls) {
        ADD_FAILURE() << "the other calls are not tried";
        return;
      }
    }
  }
}

// What a child reports.
struct Report {
  Held held;
  int64_t failed;
};

class SharedReport {
 public:
  SharedReport()
      : memory_(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)) {}
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  ~SharedReport() { munmap(memory_, sizeof(Report)); }
  Report* operator->() const { return static_cast<Report*>(memory_); }

 private:
  void* memory_;
};

// In processes that use the library for the first time: each attempt has its own. A child whose
// first call failed holds what one holds whose calls all succeeded.
inline void FailEachCallCold(Faults* faults, const Scenario& scenario) {
  const SharedReport clean;
  EXPECT_TRUE(InChild([&] {
    RunWithout(faults, scenario);
    RunWithout(faults, scenario);
    clean->held = Held::Now();
  }));
  const NewFailures failures;
  for (const bool for_good : {false, true}) {
    const SharedReport report;
    report->failed = 1;
    for (int64_t nth = 1; report->failed != 0; ++nth) {
      SCOPED_TRACE("call " + std::to_string(nth) + (for_good ? " and all later ones" : ""));
      EXPECT_TRUE(InChild([&] {
        Attempt attempt(faults, nth, for_good);
        scenario.run(attempt);
        report->failed = attempt.failed();
        SCOPED_TRACE("failed: " + faults->All());
        RunWithout(faults, scenario);
        ExpectSame(Held::Now(), clean->held);
      }));
      if (!failures.None() || nth == kMostCalls) {
        ADD_FAILURE() << "the other calls are not tried";
        return;
      }
    }
  }
}

inline void FailEachCall(Faults* faults, const Scenario& scenario) {
  {
    SCOPED_TRACE("first use");
    FailEachCallCold(faults, scenario);
  }
  SCOPED_TRACE("later use");
  EXPECT_TRUE(InChild([&] { FailEachCallWarm(faults, scenario, [] {}); }));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLBRIDGE_TEST_HOOKS_APPLY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DLBRIDGE_TEST_HOOKS_APPLY 0
#endif
#endif
#ifndef DLBRIDGE_TEST_HOOKS_APPLY
#define DLBRIDGE_TEST_HOOKS_APPLY 1
#endif

// Skips all tests of a program under a sanitizer, whose own functions take the place of the hooks.
class HookedLibrary final : public testing::Environment {
 public:
  void SetUp() override {
    if (DLBRIDGE_TEST_HOOKS_APPLY == 0) {
      GTEST_SKIP() << "the calls of an instrumented library are not those of the released one";
    }
  }
};
inline testing::Environment* const hooked_library =
    testing::AddGlobalTestEnvironment(new HookedLibrary);

// Tests of a list of scenarios, one test each.
class EachCallFails : public testing::TestWithParam<Scenario> {};

#define DLBRIDGE_FAIL_EACH_CALL(suite, scenarios)                              \
  TEST_P(EachCallFails, IsReportedAndLeavesNothing) {                          \
    CLibrary library;                                                          \
    FailEachCall(&library, GetParam());                                        \
  }                                                                            \
  INSTANTIATE_TEST_SUITE_P(suite, EachCallFails, testing::ValuesIn(scenarios), \
                           [](const auto& tested) { return tested.param.name; })

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_FAULTS_ATTEMPT_H_
