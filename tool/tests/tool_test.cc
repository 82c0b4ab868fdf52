// SPDX-License-Identifier: Apache-2.0
// What the commands print for known tensors, names and files.
#include <random>

#include "coverage.h"
#include "dlbridge/dlbridge.h"
#include "facts_table.h"
#include "support.h"

namespace dlbridge::tool {
namespace {

Json PlainTensor() {
  return Json::parse(R"({"kind": "VERSIONED", "version": [1, 3], "data": "4096", "device": [1, 0],
    "ndim": 2, "dtype": [2, 32, 1], "shape": ["2", "3"], "strides": ["3", "1"],
    "byte_offset": "0", "flags": "0", "deleter": true})");
}

Answer With(const Json& fields, const CheckOptions& options = {}, Terminal terminal = {}) {
  Json tensor = PlainTensor();
  tensor.update(fields);
  return CheckText(tensor.dump(), options, terminal);
}

std::string RulesOf(const Answer& answer) {
  std::string names;
  for (const Json& finding : answer.json["tensors"][0]["findings"]) {
    names += finding["rule"].get<std::string>() + " ";
  }
  return names;
}

TEST(Check, DrawsEachElementOfASmallTensor) {
  const Answer answer = With(Json::object());
  EXPECT_EQ(answer.status, kFine);
  EXPECT_NE(answer.page.find("   0  | 0,0 | 0,1 | 0,2 | 1,0 | 1,1 | 1,2 |\n"), std::string::npos)
      << answer.page;
  EXPECT_NE(answer.page.find("     0       2  +12 B   o-----------------------o\n"),
            std::string::npos)
      << answer.page;
}

TEST(Check, DrawsNegativeStridesGapsBroadcastsAndOverlap) {
  EXPECT_NE(With({{"strides", {"-3", "1"}}}).page.find("  -12  | 1,0 | 1,1 | 1,2 | 0,0 |"),
            std::string::npos);
  EXPECT_NE(With({{"strides", {"4", "1"}}}).page.find("| 0,2 |.....| 1,0 |"), std::string::npos);
  EXPECT_NE(With({{"strides", {"0", "1"}}}).page.find("| *,0 | *,1 | *,2 |"), std::string::npos);
  EXPECT_NE(With({{"strides", {"1", "1"}}}).page.find("| 0,1 x2 |"), std::string::npos);
}

TEST(Check, DrawsALargeTensorToScaleAndEnlarged) {
  const Answer answer = With({{"shape", {"20000", "300"}}, {"strides", {"400", "1"}}});
  EXPECT_NE(answer.page.find(std::string(64, '+')), std::string::npos);
  EXPECT_NE(answer.page.find("enlarged"), std::string::npos);
  const Answer unicode = With({{"shape", {"20000", "300"}}}, {}, {false, true});
  EXPECT_NE(unicode.page.find("█"), std::string::npos);
  EXPECT_EQ(Flaw(answer.page) + Flaw(unicode.page), "");
}

TEST(Check, NamesEachBrokenRuleWithItsRemedy) {
  const Answer answer = With({{"shape", {"-2", "3"}}, {"device", {1, -1}}});
  EXPECT_EQ(answer.status, kBroken);
  EXPECT_EQ(RulesOf(answer), "DEVICE_ID_NEGATIVE EXTENT_NEGATIVE ");
  const Json& finding = answer.json["tensors"][0]["findings"].back();
  EXPECT_EQ(finding["axis"], 0);
  EXPECT_EQ(finding["expected"], "at least 0");
  EXPECT_EQ(finding["found"], "-2");
  EXPECT_EQ(finding["status"], "ERROR_INVALID_TENSOR");
  for (const Fact& rule : kRules) {
    if (rule.number == finding["number"]) {
      EXPECT_EQ(finding["remedy"], rule.remedy);
    }
  }
}

TEST(Check, OptionsAreDemandsOfThePolicy) {
  CheckOptions options;
  options.contiguous = "f";
  EXPECT_EQ(RulesOf(With(Json::object(), options)), "CONTIGUITY ");
  options = {};
  options.writable = true;
  EXPECT_EQ(RulesOf(With({{"flags", "1"}}, options)), "NOT_WRITABLE ");
  options = {};
  options.alignment = 8192;
  EXPECT_EQ(RulesOf(With(Json::object(), options)), "ALIGNMENT ");
  options = {};
  options.strict = true;
  EXPECT_EQ(With({{"flags", "256"}}).status, kFine);
  EXPECT_EQ(RulesOf(With({{"flags", "256"}}, options)), "FLAGS_UNKNOWN ");
  options = {};
  options.dlpack = "9";
  EXPECT_EQ(With(Json::object(), options).status, kUsage);
}

TEST(Check, DoesNotReadPastAShortArray) {
  const Answer answer = With({{"shape", {"2"}}});
  EXPECT_EQ(answer.status, kBroken);
  EXPECT_EQ(RulesOf(answer), "ARRAY_LENGTH ");
  EXPECT_TRUE(answer.json["tensors"][0]["layout"].is_null());
}

TEST(Check, AnotherMajorVersionHasNoLayout) {
  const Answer answer = With({{"version", {2, 0}}});
  EXPECT_EQ(RulesOf(answer), "VERSION_MAJOR ");
  EXPECT_TRUE(answer.json["tensors"][0]["layout"].is_null());
}

struct Unreadable {
  const char* text;
  const char* message;
};

TEST(Check, NamesTheFieldThatItCannotRead) {
  const Unreadable files[] = {
      {"", "not JSON: "},
      {"[", "not JSON: "},
      {"1", "expected a document with 'cases'"},
      {"{}", "expected a document with 'cases'"},
      {"[]", "no tensor in it"},
      {"[1]", "[0]: expected an object, found 1"},
      {R"({"schema": 3, "cases": []})", "schema: expected 2, found 3"},
      {R"({"cases": {}})", "cases: expected a list, found {}"},
      {R"({"kind": "OTHER"})", "kind: expected LEGACY, VERSIONED, BORROWED or MEMORY"},
      {R"({"kind": "BORROWED"})", "expected a field 'data', found none"},
      {R"([{"name": "a", "objects": {"t": {"kind": "LEGACY", "data": true}}}])",
       "[0].objects.t.data: expected an integer from 0 to 18446744073709551615, found true"},
      {R"({"kind": "LEGACY", "data": "1x"})", "data: expected an integer"},
      {R"({"kind": "LEGACY", "data": "-1"})", "data: expected an integer"},
      {R"({"kind": "LEGACY", "data": "5", "bytes": "00"})",
       "data: expected an offset in the 1 byte"},
      {R"({"kind": "LEGACY", "data": "0", "bytes": "0g"})", "bytes: expected pairs of hexadecimal"},
      {R"({"kind": "LEGACY", "data": "0", "device": [1]})", "device: expected [type, id]"},
      {R"({"kind": "LEGACY", "data": "0", "device": [1, 9999999999]})",
       "device[1]: expected an integer from -2147483648 to 2147483647, found 9999999999"},
  };
  for (const Unreadable& file : files) {
    const Answer answer = CheckText(file.text);
    EXPECT_EQ(answer.status, kUnreadable) << file.text;
    EXPECT_EQ(answer.page.rfind(file.message, 0), 0U) << file.text << "\n" << answer.page;
  }
}

// The corpus states for each call of dlbridge_diagnose what it finds.
TEST(Check, FindsWhatTheCorpusExpects) {
  int compared = 0;
  const Json corpus = Json::parse(CorpusText());
  for (const Json& one : corpus["cases"]) {
    const Json& step = one["steps"][0];
    if (step["call"] != "diagnose" || step.size() != 3 || one["objects"].size() != 1) {
      continue;  // without a policy, a kind or wrong arguments
    }
    const Answer answer = CheckText(one.dump());
    std::string expected;
    for (const Json& finding : step["expect"]["findings"]) {
      expected += finding["rule"].get<std::string>() + " ";
    }
    EXPECT_EQ(RulesOf(answer), expected) << one["name"];
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST(Check, EveryTensorOfTheCorpusFitsTheTerminal) {
  const std::string text = CorpusText();
  for (const bool unicode : {false, true}) {
    const Answer answer = CheckText(text, {}, {false, unicode});
    EXPECT_EQ(answer.status, kBroken);
    EXPECT_EQ(Flaw(answer.page), "");
    EXPECT_GT(answer.json["tensors"].size(), 3000U);
  }
}

// Adds 1 to the cell of each element of the axes from `axis` on.
void Visit(const std::vector<Axis>& axes, size_t axis, Wide slot, Wide each,
           std::vector<double>* cells) {
  if (axis == axes.size()) {
    (*cells)[static_cast<size_t>(slot / each)] += 1;
    return;
  }
  for (Wide i = 0; i < (axes[axis].moves() ? axes[axis].extent : 1); ++i) {
    Visit(axes, axis + 1, slot + i * axes[axis].stride, each, cells);
  }
}

TEST(Coverage, CountsEachElement) {
  std::mt19937 random(1);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Axis> axes(static_cast<size_t>(1 + below(4)));
    for (Axis& axis : axes) {
      axis = {1 + below(6), below(41) - 20};
    }
    const Slots slots = SlotsOf(axes);
    const int each = 1 + below(9);
    std::vector<double> expected(static_cast<size_t>((slots.count() + each - 1) / each));
    Visit(axes, 0, -slots.first, each, &expected);
    EXPECT_EQ(CountElements(axes, expected.size(), each), expected) << round;
  }
}

TEST(Coverage, IsExactForMoreElementsThanCanBeVisited) {
  // Rows of 10^9 elements, each followed by as many unused slots.
  const std::vector<Axis> axes = {{1000000000, 2000000000}, {1000000000, 1}};
  const std::vector<double> cells = CountElements(axes, 100, Wide{20000000} * 1000000000);
  EXPECT_EQ(cells, std::vector<double>(100, 1e16));
}

// ---------------------------------------------------------------------------------------------
// explain

Json ExplainName(const std::string& name, bool rules = false, bool statuses = false) {
  ExplainOptions options;
  options.name = name;
  options.only_rules = rules;
  options.only_statuses = statuses;
  Page page{Terminal{}};
  Json json;
  Explain(options, &page, &json);
  EXPECT_EQ(Flaw(page.text()), "");
  return json["explained"];
}

template <size_t kCount>
void ExpectExplained(const Fact (&facts)[kCount], bool rules) {
  for (const Fact& fact : facts) {
    for (const std::string& name :
         {std::string(fact.name), std::string(fact.constant), std::to_string(fact.number)}) {
      const Json found = ExplainName(name, rules, !rules);
      ASSERT_EQ(found.size(), 1U) << name;
      EXPECT_EQ(found[0]["name"], fact.name);
      EXPECT_NE(found[0]["fix"], "");
    }
  }
}

TEST(Explain, KnowsEachRuleAndStatusByNameConstantAndNumber) {
  ExpectExplained(kRules, true);
  ExpectExplained(kStatuses, false);
}

TEST(Explain, AgreesWithTheLibrary) {
  for (const Fact& rule : kRules) {
    EXPECT_STREQ(dlbridge_rule_name(rule.number), rule.name);
  }
  EXPECT_STREQ(dlbridge_rule_name(static_cast<int32_t>(std::size(kRules)) + 1), "UNKNOWN_RULE");
  for (const Fact& status : kStatuses) {
    EXPECT_STREQ(dlbridge_status_name(status.number), status.constant);
  }
}

TEST(Explain, AcceptsTheSpellingsOfEachLanguage) {
  for (const char* name : {"ndim-negative", "NdimNegative", "Rule::ndim_negative",
                           "RULE_NDIM_NEGATIVE", "dlbridge_rule_ndim_negative"}) {
    EXPECT_EQ(ExplainName(name)[0]["number"], 2) << name;
  }
  EXPECT_EQ(ExplainName("policy")[0]["name"], "ERROR_POLICY");
  EXPECT_EQ(ExplainName("2").size(), 2U);
}

TEST(Explain, SuggestsSimilarNames) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"NDIM_NEGATIV", "did you mean NDIM_NEGATIVE"},
      {"ndin", "NDIM_NEGATIVE, NDIM_LIMIT"},
      {"alignement", "ALIGNMENT"},
      {"", "no rule or status is called ''"},
      {"99", "no rule or status is called '99'\n"},
      {"\033[2J", "'\\x1b[2J'"}};
  for (const auto& [name, message] : mistakes) {
    try {
      ExplainName(name);
      ADD_FAILURE() << name;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), kUsage);
      EXPECT_NE(std::string(failure.what()).find(message), std::string::npos) << failure.what();
    }
  }
}

TEST(Info, DescribesEachBackend) {
  Page page{Terminal{}};
  Json json;
  EXPECT_EQ(Info(&page, &json), kFine);
  EXPECT_EQ(Flaw(page.text()), "");
  EXPECT_EQ(json["library"]["version"], dlbridge_version_string());
  EXPECT_EQ(json["backends"].size(), std::size(kBackends) - 1);
  for (const Json& backend : json["backends"]) {
    EXPECT_EQ(backend["state"] == "READY", backend["reason"] == "") << backend;
  }
#ifdef DLBRIDGE_TOOL_WITHOUT_DRIVERS
  EXPECT_EQ(json["library"]["drivers"], false);
#else
  EXPECT_EQ(json["library"]["drivers"], true);
#endif
}

}  // namespace
}  // namespace dlbridge::tool
