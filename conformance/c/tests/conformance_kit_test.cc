// SPDX-License-Identifier: Apache-2.0
// The kit itself: arguments, quirks, features, isolation, queues, leaks without a count.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "dlbridge/conformance.hpp"
#include "support.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONFORMANCE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONFORMANCE_SANITIZED 1
#endif

namespace conformance_test {
namespace {

using Project = DLBridgeConformanceProject;
using Settings = DLBridgeConformanceSettings;

const Project right = array_project();

// A project whose exports have NULL strides.
Project Deviating() {
  Project project = right;
  project.make = [](void* user, const DLBridgeConformanceRequest* request,
                    DLBridgeConformanceExport* out, char* message) -> DLBridgeConformanceAnswer {
    const DLBridgeConformanceAnswer answer = right.make(user, request, out, message);
    if (out->kind == DLBRIDGE_KIND_VERSIONED) {
      static_cast<DLManagedTensorVersioned*>(out->tensor)->dl_tensor.strides = nullptr;
    }
    return answer;
  };
  return project;
}

std::string WriteFile(const std::string& text) {
  const std::string path = testing::TempDir() + "conformance_quirks.toml";
  std::ofstream(path) << text;
  return path;
}

Ran WithQuirks(const Project& project, const char* only, const std::string& text) {
  const std::string path = WriteFile(text);
  Settings settings = Quick();
  settings.only = only;
  settings.quirks_path = path.c_str();
  return RunAll(project, settings);
}

const char kQuirk[] =
    "# known deviations\n\n[[quirk]]\ncheck = \"strides-present\"\n"
    "reason = \"readers of \\\"1.1\\\" compare with NULL\" # since 2024\n"
    "link = \"https://example.org/1\"\r\n";

TEST(Quirks, AKnownDeviationIsNoFailure) {
  const Ran ran = WithQuirks(Deviating(), "strides-present", kQuirk);
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.results.at("strides-present").outcome, DLBRIDGE_CONFORMANCE_KNOWN);
  EXPECT_EQ(ran.summary.known, 1U);
  EXPECT_EQ(ran.summary.failed, 0U);
}

TEST(Quirks, ADeviationThatNoLongerOccursIsReported) {
  const Ran ran = WithQuirks(right, "strides-present", kQuirk);
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.results.at("stale strides-present").outcome, DLBRIDGE_CONFORMANCE_STALE);
  EXPECT_EQ(ran.summary.stale, 1U);
  EXPECT_EQ(dlbridge_conformance_exit_status(&ran.summary), 1);
}

TEST(Quirks, ADeviationThatWasNotLookedForIsNotStale) {
  const Ran ran = WithQuirks(right, "scalar", kQuirk);
  EXPECT_EQ(ran.summary.stale, 0U);
}

// A pattern is current as long as one of its checks still fails.
TEST(Quirks, APatternConcernsSeveralChecks) {
  const char quirk[] = "[[quirk]]\ncheck = \"*str*\"\nreason = \"r\"\nlink = \"l\"\n";
  const Ran deviating = WithQuirks(Deviating(), "str", quirk);
  EXPECT_GE(deviating.summary.known, 1U);
  EXPECT_EQ(deviating.summary.stale + deviating.summary.failed, 0U);
  EXPECT_EQ(WithQuirks(right, "str", quirk).summary.stale, 1U);
}

TEST(Quirks, AnArrayWorksLikeAFile) {
  const DLBridgeConformanceQuirk quirk = {"strides-present", "a reason", "a link"};
  Settings settings = Quick();
  settings.only = "strides-present";
  settings.quirks = &quirk;
  settings.quirk_count = 1;
  EXPECT_EQ(RunAll(Deviating(), settings).summary.known, 1U);
}

struct BadQuirks {
  const char* text;
  const char* message;
};

const BadQuirks kBadQuirks[] = {
    {"check = \"values\"\n", ":1: expected [[quirk]] before the first key"},
    {"[[quirk]]\nchecks = \"values\"\n", ":2: expected the key check, reason or link"},
    {"[[quirk]]\ncheck = values\n", ":2: expected a string in double quotes on one line"},
    {"[[quirk]]\ncheck = \"values\n", ":2: expected a string in double quotes on one line"},
    {"[[quirk]]\ncheck = \"a\" b\n", ":2: expected a string in double quotes on one line"},
    {"[[quirk]]\nnonsense\n", ":2: expected [[quirk]] or a key with a value"},
    {"[[quirk]]\ncheck = \"valus\"\nreason=\"r\"\nlink=\"l\"\n", "there is no check \"valus\""},
    {"[[quirk]]\ncheck = \"values\"\nlink=\"l\"\n", "quirk values: expected a reason and a link"},
    {"[[quirk]]\ncheck = \"values\"\nreason=\"r\"\n", "quirk values: expected a reason and a link"},
};

TEST(Quirks, AWrongFileIsRejectedWithItsLine) {
  for (const BadQuirks& bad : kBadQuirks) {
    const Ran ran = WithQuirks(right, "values", bad.text);
    EXPECT_EQ(ran.status, DLBRIDGE_ERROR_INVALID_ARGUMENT) << bad.text;
    EXPECT_NE(strstr(ran.error.message, bad.message), nullptr) << ran.error.message;
  }
  EXPECT_EQ(WithQuirks(right, "values", std::string(2000, '#')).status,
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  Settings settings = Quick();
  settings.quirks_path = "/nonexistent/quirks.toml";
  EXPECT_EQ(RunAll(right, settings).status, DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

// --------------------------------------------------------------------------------------- features

TEST(Features, DeclaredOnesAreSkipped) {
  Project project = right;
  project.unsupported = DLBRIDGE_CONFORMANCE_LEGACY;
  project.consumer_unsupported = DLBRIDGE_CONFORMANCE_SCALAR;
  const Ran ran = RunAll(project);
  EXPECT_EQ(ran.Failures(), "");
  EXPECT_EQ(ran.results.at("kind-legacy").found, "declared as unsupported: legacy tensors");
  EXPECT_EQ(ran.results.at("consumes-legacy").outcome, DLBRIDGE_CONFORMANCE_SKIPPED);
  EXPECT_EQ(ran.results.at("layout-scalar").outcome, DLBRIDGE_CONFORMANCE_SKIPPED);
  EXPECT_EQ(ran.results.at("scalar").outcome, DLBRIDGE_CONFORMANCE_PASSED);
}

TEST(Features, OnlyLegacyTensors) {
  Project project = right;
  project.unsupported = DLBRIDGE_CONFORMANCE_VERSIONED;
  const Ran ran = RunAll(project);
  EXPECT_EQ(ran.Failures(), "");
  EXPECT_EQ(ran.results.at("values").outcome, DLBRIDGE_CONFORMANCE_PASSED);
  EXPECT_EQ(ran.results.at("layout-plain").outcome, DLBRIDGE_CONFORMANCE_PASSED);
  EXPECT_EQ(ran.results.at("kind-versioned").outcome, DLBRIDGE_CONFORMANCE_SKIPPED);
}

TEST(Features, DtypesAreThoseOfTheProject) {
  const DLDataType dtypes[] = {{kDLFloat, 32, 1}, {kDLInt, 64, 1}};
  Project project = right;
  project.dtypes = dtypes;
  project.dtype_count = 2;
  EXPECT_EQ(RunOnly(project, "export-int64").summary.passed, 1U);
  EXPECT_EQ(RunOnly(project, "export-int32").summary.skipped, 1U);
}

TEST(Features, AProjectMayOnlyProduceOrConsume) {
  Project producer = right;
  producer.consume = nullptr;
  Project consumer = right;
  consumer.make = nullptr;
  consumer.exchange_api = nullptr;
  for (const Project& project : {producer, consumer}) {
    const Ran ran = RunAll(project);
    EXPECT_EQ(ran.Failures(), "");
    EXPECT_GT(ran.summary.passed, 20U);
    EXPECT_GT(ran.summary.skipped, 20U);
  }
}

// -------------------------------------------------------------------------------------- arguments

TEST(Arguments, AreChecked) {
  Settings settings = Quick();
  DLBridgeConformanceSummary summary = dlbridge_conformance_summary_init();
  EXPECT_EQ(dlbridge_conformance_run(nullptr, &settings, &summary, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_conformance_run(&right, &settings, nullptr, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  summary.struct_size = 8;
  EXPECT_EQ(dlbridge_conformance_run(&right, &settings, &summary, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

TEST(Arguments, OfTheProjectAreChecked) {
  const auto status = [](void (*change)(Project*)) {
    Project project = right;
    change(&project);
    return RunOnly(project, "values").status;
  };
  EXPECT_EQ(status([](Project* it) { it->struct_size = 8; }), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Project* it) { it->name = nullptr; }), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Project* it) { it->dtype_count = 1; }), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Project* it) { it->options = 1U << 20; }), DLBRIDGE_ERROR_TOO_NEW);
}

TEST(Arguments, OfTheSettingsAreChecked) {
  const auto status = [](void (*change)(Settings*)) {
    Settings settings = Quick();
    change(&settings);
    return RunAll(right, settings).status;
  };
  EXPECT_EQ(status([](Settings* it) { it->only = "no such check"; }),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Settings* it) { it->isolation = 9; }), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_EQ(status([](Settings* it) { it->isolation = DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND; }),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Settings* it) { it->quirk_count = 1; }), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Settings* it) { it->tap_path = "/nonexistent/report"; }),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status([](Settings* it) { it->junit_path = "/nonexistent/report"; }),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

TEST(Arguments, AReportThatCannotBeWrittenIsAnError) {
  if (!std::ofstream("/dev/full").is_open()) {
    GTEST_SKIP() << "there is no /dev/full";
  }
  Settings settings = Quick();
  settings.only = "scalar";
  settings.junit_path = "/dev/full";
  EXPECT_EQ(RunAll(right, settings).status, DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

// ------------------------------------------------------------------------------------- isolation

TEST(Isolation, TheCallingProcess) {
  Settings settings = Quick();
  settings.isolation = DLBRIDGE_CONFORMANCE_ISOLATION_NONE;
  const Ran ran = RunAll(right, settings);
  EXPECT_EQ(ran.Failures(), "");
  EXPECT_EQ(ran.summary.isolation, DLBRIDGE_CONFORMANCE_ISOLATION_NONE);
  EXPECT_EQ(array_live(), 0);
}

// The command is this program with this test. It crashes in the second check, and is started again.
TEST(Isolation, ACommand) {
  const char* const command[] = {"/proc/self/exe", "--gtest_filter=Isolation.ACommand", nullptr};
  Settings settings = Quick();
  settings.isolation = DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND;
  settings.command = command;
  settings.only = "layout-";
  Project project = right;
  project.name = "by command";
  project.consume = [](void* user, const DLBridgeConformanceOffer* offer, void** array,
                       char* message) -> DLBridgeConformanceAnswer {
    if ((offer->features & DLBRIDGE_CONFORMANCE_NEGATIVE_STRIDES) != 0) {
      abort();
    }
    return right.consume(user, offer, array, message);
  };
  const Ran ran = RunAll(project, settings);
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.summary.failed, 1U) << ran.Failures();
  EXPECT_EQ(ran.summary.passed + 1, ran.results.size());
  EXPECT_EQ(ran.results.at("layout-negative").severity, DLBRIDGE_CONFORMANCE_CRASH);
  const std::string& reproducer = ran.results.at("layout-negative").reproducer;
  EXPECT_NE(reproducer.find("strides[] = {-3, -1}"), std::string::npos) << reproducer;
  // The values, without which a wrong order is not seen.
  EXPECT_NE(reproducer.find("memory[24] = {\n    0x"), std::string::npos) << reproducer;
}

// Each failed check is followed by a fresh process, and no check is lost or run twice.
TEST(Isolation, ACommandWithFailures) {
  const char* const command[] = {"/proc/self/exe", "--gtest_filter=Isolation.ACommandWithFailures",
                                 nullptr};
  Settings settings = Quick();
  settings.isolation = DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND;
  settings.command = command;
  settings.only = "layout-";
  Project project = right;
  project.name = "with failures";
  static int consumed;
  project.consume = [](void* user, const DLBridgeConformanceOffer* offer, void** array,
                       char* message) -> DLBridgeConformanceAnswer {
    if (++consumed > 1) {
      strcpy(message, "only one in each process");
      return DLBRIDGE_CONFORMANCE_REJECTED;
    }
    return right.consume(user, offer, array, message);
  };
  const Ran ran = RunAll(project, settings);
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.results.size(), RunOnly(right, "layout-").results.size());
  EXPECT_EQ(ran.summary.passed + ran.summary.failed, ran.results.size());
  EXPECT_EQ(ran.results.at("layout-plain").outcome, DLBRIDGE_CONFORMANCE_PASSED);
  EXPECT_EQ(ran.results.at("layout-byte-offset").found,
            "a rejection: \"only one in each process\"");
  EXPECT_EQ(ran.results.at("layout-null-strides").outcome, DLBRIDGE_CONFORMANCE_FAILED);
}

TEST(Isolation, ACommandThatDoesNotStart) {
  const char* const command[] = {"/nonexistent/program", nullptr};
  Settings settings = Quick();
  settings.isolation = DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND;
  settings.command = command;
  settings.only = "scalar";
  const Ran ran = RunAll(right, settings);
  EXPECT_EQ(ran.results.at("scalar").found, "the process ended with status 127");
}

// ---------------------------------------------------------------------------------------- leaks

// Without a count of arrays, a leak shows as a process that grows.
TEST(Leaks, AreFoundByTheSizeOfTheProcess) {
#if defined(CONFORMANCE_SANITIZED) || !defined(__linux__)
  GTEST_SKIP() << "the size of the process is not measured";
#else
  Project project = right;
  project.live = nullptr;
  Settings settings = Quick();
  settings.only = "producer-leak";
  settings.rounds = 100000;
  EXPECT_EQ(RunAll(project, settings).summary.passed, 1U);
  project.make = [](void* user, const DLBridgeConformanceRequest* request,
                    DLBridgeConformanceExport* out, char* message) -> DLBridgeConformanceAnswer {
    volatile char* leaked = static_cast<volatile char*>(malloc(16));
    leaked[0] = 1;
    return right.make(user, request, out, message);
  };
  const Ran ran = RunAll(project, settings);
  EXPECT_EQ(ran.results.at("producer-leak").severity, DLBRIDGE_CONFORMANCE_LEAK)
      << ran.results.at("producer-leak").found;
#endif
}

// ------------------------------------------------------------------------------------------ C++

struct Throwing {
  using Array = int;
  dlbridge::conformance::Managed make(const dlbridge::conformance::Request&,
                                      std::unique_ptr<int>*) {
    throw dlbridge::conformance::Unsupported("no exports");
  }
  std::unique_ptr<int> consume(const dlbridge::conformance::Offer&) {
    throw std::runtime_error("no imports");
  }
  std::vector<unsigned char> read(int&) { throw 1; }
};

TEST(Cpp, AnExceptionIsAnAnswer) {
  Throwing throwing;
  const Project project = dlbridge::conformance::Describe(throwing, "throwing");
  EXPECT_EQ(project.write, nullptr);
  EXPECT_EQ(project.live, nullptr);
  EXPECT_EQ(RunOnly(project, "layout-plain").results.at("layout-plain").found,
            "a rejection: \"no imports\"");
  EXPECT_EQ(RunOnly(project, "kind-versioned").results.at("kind-versioned").found,
            "the answer UNSUPPORTED: \"no exports\"");
  Project reading = right;
  reading.user = project.user;  // which the others ignore
  reading.read = project.read;
  EXPECT_EQ(RunOnly(reading, "layout-plain").results.at("layout-plain").found,
            "read answers 1: \"an exception that is no std::exception\"");
}

// --------------------------------------------------------------------------------------- tables

TEST(Tables, HaveNamesAndTitles) {
  const size_t count = dlbridge_conformance_check_count();
  EXPECT_GT(count, 100U);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_STRNE(dlbridge_conformance_check_name(i), "");
    EXPECT_STRNE(dlbridge_conformance_check_title(i), "");
  }
  EXPECT_EQ(dlbridge_conformance_check_name(count), nullptr);
  EXPECT_EQ(dlbridge_conformance_check_title(count), nullptr);
}

}  // namespace
}  // namespace conformance_test
