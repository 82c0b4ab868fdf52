// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <algorithm>
#include <charconv>

#include "facts_table.h"

namespace dlbridge::tool {

namespace {

const char* RemedyOf(DLBridgeRule rule) {
  for (const Fact& fact : kRules) {
    if (fact.number == rule) {
      return fact.remedy;
    }
  }
  return "";
}

std::string StatusName(DLBridgeStatus status) {
  const std::string name = dlbridge_status_name(status);
  const std::string prefix = "DLBRIDGE_";
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

Finding Translate(const DLBridgeFinding& given) {
  Finding finding;
  finding.rule = given.rule;
  finding.name = dlbridge_rule_name(given.rule);
  finding.axis = given.axis;
  finding.broken = given.severity == DLBRIDGE_SEVERITY_BROKEN;
  finding.status = finding.broken ? StatusName(given.status) : "";
  finding.what = dlbridge_rule_text(given.rule);
  finding.expected = given.expected;
  finding.found = given.found;
  finding.remedy = RemedyOf(given.rule);
  return finding;
}

// The struct that the library expects for each kind. Its deleter is never called.
struct Structs {
  explicit Structs(const Tensor& tensor)
      : borrowed(tensor.View()),
        legacy{borrowed, nullptr, nullptr},
        versioned{tensor.version, nullptr, nullptr, tensor.flags, borrowed},
        pointer(tensor.kind == DLBRIDGE_KIND_LEGACY      ? static_cast<const void*>(&legacy)
                : tensor.kind == DLBRIDGE_KIND_VERSIONED ? static_cast<const void*>(&versioned)
                                                         : &borrowed) {}
  Structs(const Structs&) = delete;
  Structs& operator=(const Structs&) = delete;

  DLTensor borrowed;
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  const void* pointer;
};

std::vector<DLBridgeFinding> Diagnose(const Tensor& tensor, const DLBridgePolicy& policy) {
  const Structs structs(tensor);
  const uint64_t flags = tensor.kind == DLBRIDGE_KIND_BORROWED ? tensor.flags : 0;
  DLBridgeError error;
  std::vector<DLBridgeFinding> findings;
  size_t count = 0;
  do {
    findings.resize(count);
    if (dlbridge_diagnose(structs.pointer, tensor.kind, flags, &policy, findings.data(),
                          findings.size(), &count, &error) != DLBRIDGE_OK) {
      throw Failure(kUsage, error.message);
    }
  } while (count != findings.size());
  return findings;
}

void AddLayout(const Tensor& tensor, Judgement* judgement) {
  if (tensor.kind == DLBRIDGE_KIND_VERSIONED && tensor.version.major != 1) {
    judgement->why_no_layout = "another major version may order these fields in another way";
    return;
  }
  const DLTensor view = tensor.View();
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBridgeError error;
  if (dlbridge_layout(&view, tensor.flags, &layout, &error) == DLBRIDGE_OK) {
    judgement->layout = layout;
  } else {
    judgement->why_no_layout = std::string(dlbridge_rule_text(error.rule));
  }
}

// No rule of the library, which cannot know how long an array is.
Finding ShortArrays(const Tensor& tensor) {
  const auto length = [](const auto& numbers) {
    return numbers ? std::to_string(numbers->size()) : std::string("NULL");
  };
  Finding finding;
  finding.name = "ARRAY_LENGTH";
  finding.status = "ERROR_INVALID_TENSOR";
  finding.what = "an array is shorter than ndim: every consumer would read past its end";
  finding.expected = "ndim = " + std::to_string(tensor.ndim) + " in each array";
  finding.found = length(tensor.shape) + " in shape, " + length(tensor.strides) + " in strides";
  finding.remedy = "correct the arrays or ndim in the producer";
  return finding;
}

DLPackVersion ParseVersion(const std::string& text) {
  DLPackVersion version = {0, 0};
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    if (minor.ec == std::errc() && minor.ptr == end) {
      return version;
    }
  }
  throw Failure(kUsage,
                "--dlpack: expected a version such as 1.0, found '" + Printable(text, 40) + "'");
}

}  // namespace

bool Judgement::broken() const {
  return std::any_of(findings.begin(), findings.end(), [](const auto& one) { return one.broken; });
}

uint64_t Judgement::notes() const {
  return static_cast<uint64_t>(
      std::count_if(findings.begin(), findings.end(), [](const auto& one) { return !one.broken; }));
}

DLBridgePolicy PolicyOf(const CheckOptions& options) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  if (options.strict) {
    policy.options |= DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
                      DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;
  }
  if (options.writable) {
    policy.options |= DLBRIDGE_POLICY_REQUIRE_WRITABLE;
  }
  policy.contiguity = options.contiguous == "c"        ? DLBRIDGE_CONTIGUITY_C
                      : options.contiguous == "f"      ? DLBRIDGE_CONTIGUITY_F
                      : options.contiguous == "either" ? DLBRIDGE_CONTIGUITY_C_OR_F
                                                       : DLBRIDGE_CONTIGUITY_ANY;
  policy.alignment = options.alignment;
  if (!options.dlpack.empty()) {
    policy.version = ParseVersion(options.dlpack);
  }
  return policy;
}

Judgement Judge(const Tensor& tensor, const DLBridgePolicy& policy) {
  Judgement judgement;
  const bool short_arrays = tensor.HasShortArrays();
  // This level reads no array, and has no demands on them.
  DLBridgePolicy without_arrays = DLBRIDGE_POLICY_INIT;
  without_arrays.level = DLBRIDGE_LEVEL_STRUCT;
  for (const DLBridgeFinding& one : Diagnose(tensor, short_arrays ? without_arrays : policy)) {
    judgement.findings.push_back(Translate(one));
  }
  if (short_arrays) {
    judgement.findings.push_back(ShortArrays(tensor));
    judgement.why_no_layout = "shape or strides are shorter than ndim";
  } else {
    AddLayout(tensor, &judgement);
  }
  return judgement;
}

}  // namespace dlbridge::tool
