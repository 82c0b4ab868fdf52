// SPDX-License-Identifier: Apache-2.0
// `dlbridge explain`: what a rule or a status means, why, and what to do about it.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>
#include <utility>

#include "commands.h"
#include "dlbridge/dlbridge.h"
#include "facts_table.h"
#include "json.h"

namespace dlbridge::tool {

namespace {

struct Found {
  const Fact* fact;
  bool rule;
};

// Letters and digits in upper case: "ndim-negative", "NdimNegative" and "NDIM_NEGATIVE" are one
// name.
std::string Key(std::string_view text) {
  std::string key;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      key += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return key;
}

bool RemovePrefix(std::string* key, std::string_view prefix) {
  if (key->size() <= prefix.size() || key->compare(0, prefix.size(), prefix) != 0) {
    return false;
  }
  key->erase(0, prefix.size());
  return true;
}

std::vector<Found> All(const ExplainOptions& options) {
  std::vector<Found> all;
  if (!options.only_statuses) {
    for (const Fact& fact : kRules) {
      all.push_back({&fact, true});
    }
  }
  if (!options.only_rules) {
    for (const Fact& fact : kStatuses) {
      all.push_back({&fact, false});
    }
  }
  return all;
}

// The name of a fact, and a status without its "ERROR_".
std::vector<std::string> Keys(const Fact& fact) {
  std::vector<std::string> keys = {Key(fact.name), Key(fact.constant)};
  std::string shorter = keys[0];
  if (RemovePrefix(&shorter, "ERROR")) {
    keys.push_back(shorter);
  }
  return keys;
}

bool IsNumber(const std::string& key) {
  return !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == key.npos;
}

// A C++ or Rust name has its type in front: Rule::ndim_negative.
std::vector<Found> Search(const std::vector<Found>& all, std::string key) {
  std::vector<Found> found;
  if (IsNumber(key)) {
    const int number = std::stoi(key);
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const Found& one) { return one.fact->number == number; });
    return found;
  }
  for (int attempt = 0; attempt < 2 && found.empty(); ++attempt) {
    for (const Found& one : all) {
      const std::vector<std::string> keys = Keys(*one.fact);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
        found.push_back(one);
      }
    }
    if (!RemovePrefix(&key, "DLBRIDGE")) {
      RemovePrefix(&key, "RULE") || RemovePrefix(&key, "STATUS");
    }
  }
  return found;
}

// The number of letters to insert, remove or replace.
size_t Distance(const std::string& one, const std::string& other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Small if the names are similar: a part of a name counts as one mistake.
size_t Difference(const Fact& fact, const std::string& key) {
  size_t least = SIZE_MAX;
  for (const std::string& known : Keys(fact)) {
    const bool part = key.size() >= 3 && known.find(key) != known.npos;
    const size_t of_start = 1 + Distance(known.substr(0, key.size()), key);
    least = std::min(least, part ? 1 : std::min(Distance(known, key), of_start));
  }
  return least;
}

std::vector<std::string> Similar(const std::vector<Found>& all, const std::string& key) {
  std::vector<std::pair<size_t, const char*>> ranked;
  for (const Found& one : all) {
    const size_t difference = Difference(*one.fact, key);
    if (difference <= std::max<size_t>(2, key.size() / 3)) {
      ranked.emplace_back(difference, one.fact->name);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (size_t i = 0; i < ranked.size() && i < 3; ++i) {
    names.emplace_back(ranked[i].second);
  }
  return names;
}

[[noreturn]] void RejectUnknown(const ExplainOptions& options, const std::vector<Found>& all) {
  const char* kind = options.only_rules      ? "rule"
                     : options.only_statuses ? "status"
                                             : "rule or status";
  std::string message =
      std::string("no ") + kind + " is called '" + Printable(*options.name, 60) + "'";
  const std::string key = Key(*options.name);
  const std::vector<std::string> similar =
      key.size() <= 60 && !IsNumber(key) ? Similar(all, key) : std::vector<std::string>();
  message += similar.empty() ? "" : "; did you mean " + Join(similar, ", ") + "?";
  throw Failure(kUsage, message + "\n`dlbridge explain` lists all names.");
}

// The pattern of a rule's message, with dots for the values.
std::string Message(const Fact& fact) {
  std::string message = dlbridge_rule_text(fact.number);
  message += std::string(": expected ") + fact.expected + ", found " + fact.found;
  return *fact.remedy != '\0' ? message + "; " + fact.remedy : message;
}

std::string Source(const Fact& fact) {
  const std::string source = fact.source;
  std::string text = source;
  if (source.rfind("DLPack", 0) == 0) {
    text += " (the specification)";
  } else if (source == "dlbridge") {
    text += " (a decision of this library)";
  } else if (source == "policy") {
    text += " (a demand of the consumer's policy)";
  }
  return text;
}

std::vector<std::string> RulesOf(const Fact& status) {
  std::vector<std::string> names;
  for (const Fact& rule : kRules) {
    if (std::strcmp(rule.status, status.name) == 0) {
      names.emplace_back(rule.name);
    }
  }
  return names;
}

void WriteRule(const Fact& fact, Page* page) {
  page->Line(page->Paint(Style::kTitle, fact.name) + "  rule " + std::to_string(fact.number));
  page->Line();
  page->Row("meaning", fact.meaning);
  page->Row("message", Message(fact));
  page->Row("why", fact.why);
  page->Row("how to fix", fact.fix);
  page->Row("status",
            *fact.status != '\0' ? fact.status : "none: it is a note and rejects nothing");
  page->Row("source", Source(fact));
  page->Row("since", fact.since);
  page->Row("constant", fact.constant);
}

void WriteStatus(const Fact& fact, Page* page) {
  page->Line(page->Paint(Style::kTitle, fact.name) + "  status " + std::to_string(fact.number));
  page->Line();
  page->Row("meaning", fact.meaning);
  const std::string_view text = dlbridge_status_text(fact.number);
  page->Row("text", text == fact.meaning ? "" : text);
  page->Row("what to do", fact.fix);
  page->Row("rules", Join(RulesOf(fact), ", "));
  page->Row("Python", fact.python);
  page->Row("since", fact.since);
  page->Row("constant", fact.constant);
}

Json ToJson(const Found& one) {
  const Fact& fact = *one.fact;
  Json json = {{"kind", one.rule ? "rule" : "status"},
               {"number", fact.number},
               {"name", fact.name},
               {"constant", fact.constant},
               {"since", fact.since},
               {"meaning", fact.meaning}};
  if (one.rule) {
    json["message"] = Message(fact);
    json["why"] = fact.why;
    json["fix"] = fact.fix;
    json["status"] = *fact.status != '\0' ? Json(fact.status) : Json(nullptr);
    json["source"] = fact.source;
  } else {
    json["text"] = dlbridge_status_text(fact.number);
    json["fix"] = fact.fix;
    json["rules"] = RulesOf(fact);
    json["python"] = *fact.python != '\0' ? Json(fact.python) : Json(nullptr);
  }
  return json;
}

void List(const std::vector<Found>& all, Page* page) {
  bool rules = true;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || all[i].rule != rules) {
      rules = all[i].rule;
      if (i != 0) {
        page->Line();
      }
      page->Title(rules ? "rules" : "statuses");
    }
    std::string number = std::to_string(all[i].fact->number);
    number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
    page->Wrapped(30, number + "  " + all[i].fact->name, all[i].fact->meaning);
  }
}

}  // namespace

ExitStatus Explain(const ExplainOptions& options, Page* page, Json* json) {
  const std::vector<Found> all = All(options);
  std::vector<Found> shown = all;
  if (options.name) {
    shown = Search(all, Key(*options.name));
    if (shown.empty()) {
      RejectUnknown(options, all);
    }
    for (size_t i = 0; i < shown.size(); ++i) {
      if (i != 0) {
        page->Line();
      }
      (shown[i].rule ? WriteRule : WriteStatus)(*shown[i].fact, page);
    }
  } else {
    List(all, page);
  }
  *json = {{"schema", kJsonSchema}, {"explained", Json::array()}};
  for (const Found& one : shown) {
    (*json)["explained"].push_back(ToJson(one));
  }
  return kFine;
}

}  // namespace dlbridge::tool
