// SPDX-License-Identifier: Apache-2.0
// Runs the conformance corpus (tests/conformance/cases.json) through the binding's public API. With
// DLBRIDGE_OUTCOMES=file it writes the answers of each step to that file, one line per case.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iostream>

#include "corpus_device_calls.h"
#ifdef DLBRIDGE_HOOKS
#include "corpus_faults.h"
#include "support/child.h"
#endif

namespace dlbridge_cpp_test {
namespace {

json Call(const json& step, World* world) {
  static const std::map<std::string, json (*)(const Arguments&)> calls = {
      {"validate", CallValidate},
      {"validate_legacy", CallValidate},
      {"validate_versioned", CallValidate},
      {"diagnose", CallDiagnose},
      {"layout", CallLayout},
      {"tensor_format", CallTensorFormat},
      {"dtype_format", CallDtypeFormat},
      {"dtype_parse", CallDtypeParse},
      {"device_format", CallDeviceFormat},
      {"device_parse", CallDeviceParse},
      {"host_accessible", CallHostAccessible},
      {"required_version", CallRequiredVersion},
      {"negotiate", CallNegotiate},
      {"exchange_api_find", CallExchangeApiFind},
      {"identify", CallIdentify},
      {"module_pin", CallModulePin},
      {"upgrade", CallUpgrade},
      {"upgrade_into", CallUpgradeInto},
      {"upgrade_many", CallUpgradeMany},
      {"downgrade", CallDowngrade},
      {"import", CallImport},
      {"export", CallExport},
      {"share", CallShare},
      {"view", CallView},
      {"allocate", CallAllocate},
      {"release", CallRelease},
      {"check", CallCheck},
      {"backend_info", CallBackendInfo},
      {"pointer_info", CallPointerInfo},
      {"wrap", CallWrap},
      {"wrap_legacy", CallWrapLegacy},
      {"copy", CallCopy},
      {"copy_async", CallCopyAsync},
      {"release_after", CallReleaseAfter},
      {"collect", CallCollect},
      {"stream_from_array_api", CallStreamFromArrayApi},
      {"stream_handoff", CallStreamHandoff},
      {"stream_synchronize", CallStreamSynchronize},
      {"context_register", CallContextRegister},
      {"context_find", CallContextFind},
      {"context_next", CallContextNext},
      {"context_retain", CallContextRetain},
      {"context_release", CallContextRelease},
      {"context_unregister", CallContextUnregister},
  };
  return calls.at(step["call"])(Arguments{step, *world});
}

// The keys of `answer` that `expect` has.
json Expected(const json& expect, const json& answer) {
  json kept = json::object();
  for (const auto& [key, wanted] : expect.items()) {
    kept[key] = answer.contains(key) ? answer[key] : json();
  }
  return kept;
}

using Caller = std::function<json(const json&, World*)>;

// Runs one case, adds the answers of its steps to `answers`, and returns the differences from the
// expectation.
std::string RunCase(const json& test, json* answers, const Caller& call = Call) {
  World world(test["objects"]);
  std::string failures;
  int index = 0;
  for (const json& step : test["steps"]) {
    const json answer = Expected(step["expect"], call(step, &world));
    if (answer != step["expect"]) {
      failures += " step " + std::to_string(index) + ": expected " + step["expect"].dump() + "\n" +
                  std::string(12, ' ') + "found " + answer.dump() + "\n";
    }
    answers->push_back(answer);
    ++index;
  }
  return failures + world.Finish();
}

json Load() {
  std::ifstream file(DLBRIDGE_CASES);
  return json::parse(file);
}

bool Skipped(const json& test) { return test.value("abi", false); }

TEST(Conformance, AllCases) {
  const json document = Load();
  ASSERT_EQ(document["schema"], 2);
  const char* path = std::getenv("DLBRIDGE_OUTCOMES");
  std::ofstream outcomes(path != nullptr ? path : "/dev/null");
  std::size_t ran = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  for (const json& test : document["cases"]) {
    json answers = json::array();
    if (Skipped(test)) {
      ++skipped;
    } else {
      ++ran;
      const std::string failures = RunCase(test, &answers);
      failed += failures.empty() ? 0 : 1;
      EXPECT_EQ(failures, "") << test["name"];
    }
    outcomes << json({{"name", test["name"]}, {"ran", !Skipped(test)}, {"steps", answers}}).dump()
             << "\n";
  }
  std::cout << ran << " cases, " << failed << " failed, " << skipped << " skipped\n";
  EXPECT_GE(ran, 2750U);
  EXPECT_EQ(ran + skipped, document["cases"].size());
}

// A wrong expectation must fail.
TEST(Conformance, DetectsWrongExpectations) {
  json document = Load();
  for (json& test : document["cases"]) {
    if (!Skipped(test)) {
      json& expect = test["steps"].back()["expect"];
      expect["status"] = expect["status"] == "OK" ? "ERROR_PARSE" : "OK";
      json answers = json::array();
      ASSERT_NE(RunCase(test, &answers), "") << test["name"];
    }
  }
}

#ifdef DLBRIDGE_HOOKS
// Runs one case with failing calls and returns what is wrong with it. Adds the number of calls that
// failed to `failures`.
std::string RunWithFault(const json& test, const Fault& fault, std::int64_t* failures) {
  json answers = json::array();
  const auto before = LibraryHolds();
  const std::string wrong = RunCase(test, &answers, [&](const json& step, World* world) {
    return CallUntilNothingFails(fault, step, world, Call, failures);
  });
  return LibraryHolds() == before ? wrong : wrong + " the library keeps memory\n";
}

// Runs one case with each of its calls failing; returns their number.
std::int64_t FailEachCallOf(const json& test, bool for_good) {
  std::int64_t all = 0;
  std::int64_t failures = 1;
  for (std::int64_t first = 1; failures != 0; ++first) {
    failures = 0;
    std::string wrong = RunWithFault(test, {first, for_good}, &failures);
    all += failures;
    if (wrong == " the library keeps memory\n") {
      // What is made once for the process is not made a second time.
      std::int64_t again = 0;
      wrong = RunWithFault(test, {first, for_good}, &again);
    }
    EXPECT_EQ(wrong, "") << test["name"] << ", from call " << first << ", last " << faults_last();
    if (!wrong.empty()) {
      return all;
    }
  }
  return all;
}

void FailEachCall(bool for_good) {
  ASSERT_GT(faults_install("libdlbridge.so"), 10) << "the library's calls are not seen";
  const json document = Load();
  std::int64_t failures = 0;
  for (const json& test : document["cases"]) {
    if (!Skipped(test)) {
      failures += FailEachCallOf(test, for_good);
    }
  }
  std::cout << failures << " calls failed\n";
  EXPECT_GT(failures, 1000);
}

// Each in a process of its own, in which the first use of everything fails too.
TEST(Faults, EachCallOfTheLibraryFailsOnce) {
  EXPECT_TRUE(dlbridge_test::InChild([] { FailEachCall(false); }));
}
TEST(Faults, AllCallsOfTheLibraryFail) {
  EXPECT_TRUE(dlbridge_test::InChild([] { FailEachCall(true); }));
}
#endif

}  // namespace
}  // namespace dlbridge_cpp_test
