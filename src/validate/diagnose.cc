// SPDX-License-Identifier: Apache-2.0
// Reports every finding on a tensor, by the rules that validation uses.
#include "describe/boundary.h"
#include "describe/known_values.h"
#include "validate/rules.h"

namespace dlbridge {
namespace {

class Collector {
 public:
  static constexpr bool kCollects = true;
  Collector(DLBridgeFinding* findings, size_t capacity)
      : findings_(findings), capacity_(capacity) {}
  bool Broken(const Violation& violation) {
    Add(violation, DLBRIDGE_SEVERITY_BROKEN, StatusOfRule(violation.rule));
    return false;
  }
  void Note(const Violation& violation) { Add(violation, DLBRIDGE_SEVERITY_NOTE, DLBRIDGE_OK); }
  // An unanswerable check is reported as a note, not as an error.
  bool Unanswered(DLBridgeStatus /*status*/, const Violation& violation) {
    Note(violation);
    return false;
  }
  DLBridgeError* error() const { return nullptr; }
  size_t count() const { return count_; }

 private:
  void Add(const Violation& violation, int32_t severity, DLBridgeStatus status) {
    if (count_ < capacity_) {
      DLBridgeFinding& finding = findings_[count_];
      finding.rule = violation.rule;
      finding.axis = violation.axis;
      finding.severity = severity;
      finding.status = status;
      finding.reserved[0] = 0;
      finding.reserved[1] = 0;
      TextWriter expected(finding.expected, sizeof finding.expected);
      WriteExpected(violation, &expected);
      TextWriter found(finding.found, sizeof finding.found);
      WriteFound(violation, &found);
    }
    ++count_;
  }

  DLBridgeFinding* findings_;
  size_t capacity_;
  size_t count_ = 0;
};

void Diagnose(const void* tensor, DLBridgeKind kind, uint64_t flags, const Policy& policy,
              Collector* sink) {
  const bool vouched = policy.Has(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  if (kind == DLBRIDGE_KIND_LEGACY) {
    const auto& legacy = *static_cast<const DLManagedTensor*>(tensor);
    CheckTensor(BorrowedSubject(legacy.dl_tensor, 0, vouched), policy, sink);
  } else if (kind == DLBRIDGE_KIND_BORROWED) {
    CheckTensor(BorrowedSubject(*static_cast<const DLTensor*>(tensor), flags, vouched), policy,
                sink);
  } else {
    const auto& versioned = *static_cast<const DLManagedTensorVersioned*>(tensor);
    const DLPackVersion label = LoadVersion(versioned.version);
    if (label.major != kMajor) {
      sink->Broken({DLBRIDGE_RULE_VERSION_MAJOR, kNoAxis, kMajor, label.major});
      return;
    }
    CheckTensor(VersionedSubject(versioned, label), policy, sink);
  }
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_diagnose(const void* tensor, DLBridgeKind kind, uint64_t tensor_flags,
                                 const DLBridgePolicy* policy, DLBridgeFinding* findings,
                                 size_t capacity, size_t* count, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(count);
  if (findings == nullptr && capacity != 0) {
    return dlbridge::RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "findings",
                                 "must not be NULL with a non-zero capacity", capacity);
  }
  if (kind < DLBRIDGE_KIND_LEGACY || kind > DLBRIDGE_KIND_BORROWED) {
    return dlbridge::RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "kind",
                                 "must be " DLBRIDGE_LIST_KIND, kind);
  }
  if (kind != DLBRIDGE_KIND_BORROWED && tensor_flags != 0) {
    return dlbridge::RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "tensor_flags",
                                 "must be 0 for a managed tensor", tensor_flags);
  }
  dlbridge::Policy storage;
  const dlbridge::Policy* rules = nullptr;
  DLBRIDGE_TRY(dlbridge::ResolvePolicy(policy, &storage, &rules, error));
  dlbridge::Collector sink(findings, capacity);
  dlbridge::Diagnose(tensor, kind, tensor_flags, *rules, &sink);
  *count = sink.count();
  return DLBRIDGE_OK;
}

}  // extern "C"
