// SPDX-License-Identifier: Apache-2.0
// Runs the conformance corpus (tests/conformance/cases.json) through the binding's public API. With
// DLBRIDGE_OUTCOMES=file it writes the answers of each step to that file, one line per case.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "corpus_device_calls.h"

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

// Runs one case, adds the answers of its steps to `answers`, and returns the differences from the
// expectation.
std::string RunCase(const json& test, json* answers) {
  World world(test["objects"]);
  std::string failures;
  int index = 0;
  for (const json& step : test["steps"]) {
    const json answer = Expected(step["expect"], Call(step, &world));
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

}  // namespace
}  // namespace dlbridge_cpp_test
