// SPDX-License-Identifier: Apache-2.0
// Runs cases.json against the C ABI. A case is objects and steps; README.md documents both. With
// DLBRIDGE_RECORD=file the cases are written there with the messages that the library gave, with
// DLBRIDGE_OUTCOMES=file what each step answered, a line a case.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <regex>
#include <string>

#include "conformance/calls.h"
#include "conformance/device_calls.h"
#include "conformance/world.h"

namespace dlbridge::conformance {
namespace {

json Load() {
  std::ifstream file(DLBRIDGE_CASES);
  return json::parse(file);
}

// Of the findings that a call reported, what the case states of each: the corpus that a version
// records has no texts (abi/README.md).
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

// What differs between the answer and what the case expects, or "".
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
    return step["expect"];  // a sanitizer's malloc never fails
  }
  Arguments arguments(step, world);
  return kCalls.at(step["call"])(&arguments);
}

// What `answer` says of all that `expect` asks for.
json Expected(const json& expect, const json& answer) {
  json kept = json::object();
  for (const auto& [key, wanted] : expect.items()) {
    kept[key] = answer.contains(key) ? answer[key] : json();
  }
  return kept;
}

// Addresses and ids of this run, which no other run has.
bool IsOfThisRun(const std::string& text) {
  static const std::regex value("0x[0-9a-f]{9,}|entry of the id, found [0-9]+");
  return std::regex_search(text, value);
}

// Texts are no expectation of the model's: the library's are written down.
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

// Runs one case; fills the messages in where `record`, and adds what each step answered to
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

// One case a line, as the generator writes them.
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

// A corpus that cannot fail would be none: a wrong expectation must be seen.
TEST(Conformance, SeesWrongExpectations) {
  json document = Load();
  for (json& test : document["cases"]) {
    if (test["steps"].back().contains("fail") && !dlbridge_test::Allocations::CanFail()) {
      continue;  // answered as expected, whatever is expected
    }
    json& expect = test["steps"].back()["expect"];
    expect["status"] = expect["status"] == "OK" ? "ERROR_PARSE" : "OK";
    json answers;
    ASSERT_NE(RunCase(&test, false, &answers), "") << test["name"];
  }
}

}  // namespace
}  // namespace dlbridge::conformance
