// SPDX-License-Identifier: Apache-2.0
// Runs cases.json against the C ABI. README.md documents its objects and steps.
// DLBRIDGE_RECORD=file writes the cases there with the library's messages; DLBRIDGE_OUTCOMES=file
// writes the answers of the steps there, one line per case.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <regex>
#include <string>

#include "conformance/calls.h"
#include "conformance/device_calls.h"
#include "conformance/world.h"
#include "support/scale.h"

namespace dlbridge::conformance {
namespace {

json Load() {
  std::ifstream file(DLBRIDGE_CASES);
  return json::parse(file);
}

// Removes texts that the case does not state from the reported findings: the corpus recorded with a
// version has no texts (abi/README.md).
json Stated(const json& wanted, json found) {
  for (size_t i = 0; i < wanted.size() && i < found.size(); ++i) {
    for (const char* text : {"expected", "found"}) {
      if (!wanted[i].contains(text)) {
        found[i].erase(text);
      }
    }
  }
  return found;
}

// The differences between the answer and the expectations of the case, or "".
std::string Differences(const json& expect, const json& answer) {
  std::string text;
  for (const auto& [key, wanted] : expect.items()) {
    json found = answer.contains(key) ? answer[key] : json();
    if (key == "findings" && wanted.is_array() && found.is_array()) {
      found = Stated(wanted, found);
    }
    if (found != wanted) {
      text.append("  ").append(key).append(": expected ").append(wanted.dump()).append("\n");
      text.append("  ").append(key).append(": found    ").append(found.dump()).append("\n");
    }
  }
  return text;
}

json Call(const json& step, World* world) {
  static const std::map<std::string, json (*)(Arguments*)> kCalls = {
      {"validate", CallValidate},
      {"validate_legacy", CallValidate},
      {"validate_versioned", CallValidate},
      {"diagnose", CallDiagnose},
      {"layout", CallLayout},
      {"tensor_format", CallTensorFormat},
      {"dtype_format", CallDtypeFormat},
      {"dtype_parse", CallParseDtype},
      {"device_format", CallDeviceFormat},
      {"device_parse", CallParseDevice},
      {"host_accessible", CallHostAccessible},
      {"required_version", CallRequiredVersion},
      {"negotiate", CallNegotiate},
      {"exchange_api_find", CallExchange},
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
      {"check", CallCheck},
  };
  if (step.contains("fail") && !dlbridge_test::Allocations::CanFail()) {
    return step["expect"];  // a sanitizer's malloc cannot be made to fail
  }
  Arguments arguments(step, world);
  return kCalls.at(step["call"])(&arguments);
}

// The part of `answer` that `expect` compares.
json Expected(const json& expect, const json& answer) {
  json kept = json::object();
  for (const auto& [key, wanted] : expect.items()) {
    kept[key] = answer.contains(key) ? answer[key] : json();
  }
  return kept;
}

// Addresses and ids differ from run to run.
bool IsOfThisRun(const std::string& text) {
  static const std::regex value("0x[0-9a-f]{9,}|id of a [a-z]+ entry, found [0-9]+");
  return std::regex_search(text, value);
}

// The model does not predict texts: the library's are recorded.
void RecordTexts(const json& answer, json* expect) {
  if (answer.contains("message") && !IsOfThisRun(answer["message"])) {
    (*expect)["message"] = answer["message"];
  }
  json& wanted = (*expect)["findings"];
  for (size_t i = 0; i < wanted.size() && i < answer["findings"].size(); ++i) {
    wanted[i]["expected"] = answer["findings"][i]["expected"];
    wanted[i]["found"] = answer["findings"][i]["found"];
  }
  if (wanted.is_null()) {
    expect->erase("findings");
  }
}

// Runs one case. Records messages if `record` is set, and adds the answer of each step to
// `answers`.
std::string RunCase(json* test, bool record, json* answers) {
  World world((*test)["objects"]);
  std::string failures;
  int index = 0;
  for (json& step : (*test)["steps"]) {
    const json answer = Call(step, &world);
    answers->push_back(Expected(step["expect"], answer));
    if (record) {
      RecordTexts(answer, &step["expect"]);
    }
    const std::string differs = Differences(step["expect"], answer);
    if (!differs.empty()) {
      failures += " step " + std::to_string(index) + " (" + step["call"].get<std::string>() +
                  ")\n" + differs;
    }
    ++index;
  }
  return failures + world.Finish();
}

// Writes the cases in the generator's format.
void WriteCases(const json& document, const char* path) {
  std::ofstream file(path);
  file << document.dump() << "\n";
}

TEST(Conformance, AllCases) {
  json document = Load();
  ASSERT_EQ(document["schema"], 2);
  const char* record = std::getenv("DLBRIDGE_RECORD");
  const char* outcomes_path = std::getenv("DLBRIDGE_OUTCOMES");
  std::ofstream outcomes(outcomes_path != nullptr ? outcomes_path : "/dev/null");
  size_t failed = 0;
  for (json& test : document["cases"]) {
    json answers = json::array();
    const std::string failures = RunCase(&test, record != nullptr, &answers);
    outcomes << json({{"name", test["name"]}, {"ran", true}, {"steps", answers}}).dump() << "\n";
    if (!failures.empty()) {
      ++failed;
      ADD_FAILURE() << test["name"].get<std::string>() << "\n" << failures;
    }
  }
  std::cout << document["cases"].size() << " cases, " << failed << " failed\n";
  EXPECT_GE(document["cases"].size(), 500U);
  if (record != nullptr) {
    WriteCases(document, record);
  }
}

// The runner must be able to fail: a wrong expectation must be detected.
TEST(Conformance, DetectsWrongExpectations) {
  json document = Load();
  size_t place = 0;
  for (json& test : document["cases"]) {
    if (place++ % 20 != 0 && dlbridge_test::Scale() < 1) {
      continue;  // an unscaled run has them all
    }
    if (test["steps"].back().contains("fail") && !dlbridge_test::Allocations::CanFail()) {
      continue;  // such a step repeats its expectation
    }
    json& expect = test["steps"].back()["expect"];
    expect["status"] = expect["status"] == "OK" ? "ERROR_PARSE" : "OK";
    json answers;
    ASSERT_NE(RunCase(&test, false, &answers), "") << test["name"];
  }
}

}  // namespace
}  // namespace dlbridge::conformance
