// SPDX-License-Identifier: Apache-2.0
// Runs cases.json against the C ABI. A case is objects and steps; README.md documents both. With
// DLBRIDGE_RECORD=file the cases are written there with the messages that the library gave.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "conformance/calls.h"
#include "conformance/world.h"

namespace dlbridge::conformance {
namespace {

json Load() {
  std::ifstream file(DLBRIDGE_CASES);
  return json::parse(file);
}

// What differs between the answer and what the case expects, or "".
std::string Differences(const json& expect, const json& answer) {
  std::string text;
  for (const auto& [key, wanted] : expect.items()) {
    const json found = answer.contains(key) ? answer[key] : json();
    if (found != wanted) {
      text.append("  ").append(key).append(": expected ").append(wanted.dump()).append("\n");
      text.append("  ").append(key).append(": found    ").append(found.dump()).append("\n");
    }
  }
  return text;
}

// Runs one case; fills the messages in where `record`.
std::string RunCase(json* test, bool record) {
  World world((*test)["objects"]);
  std::string failures;
  int index = 0;
  for (json& step : (*test)["steps"]) {
    const json answer = Call(step, &world);
    if (record && answer.contains("message")) {
      step["expect"]["message"] = answer["message"];
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

TEST(Conformance, AllCases) {
  json document = Load();
  ASSERT_EQ(document["schema"], 1);
  const char* record = std::getenv("DLBRIDGE_RECORD");
  size_t failed = 0;
  for (json& test : document["cases"]) {
    const std::string failures = RunCase(&test, record != nullptr);
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
    ASSERT_NE(RunCase(&test, false), "") << test["name"];
  }
}

}  // namespace
}  // namespace dlbridge::conformance
