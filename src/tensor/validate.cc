// SPDX-License-Identifier: Apache-2.0
#include "validate/rules.h"

#include <cstring>

#include "describe/boundary.h"
#include "tensor/owned.h"

namespace dlbridge {

namespace {

// Validates a borrowed or legacy tensor by the caller's policy.
DLBRIDGE_NOINLINE DLBridgeStatus ValidateBorrowed(const DLTensor& tensor, uint64_t flags,
                                                  const DLBridgePolicy* policy,
                                                  DLBridgeError* error) {
  Policy rules;
  DLBRIDGE_TRY(ReadPolicy(policy, &rules, error));
  const bool vouched = rules.Has(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  return Validate(BorrowedSubject(tensor, flags, vouched), rules, error);
}

DLBRIDGE_NOINLINE DLBridgeStatus ValidateOwned(const DLManagedTensorVersioned& tensor,
                                               const DLBridgePolicy* policy, DLBridgeError* error) {
  Policy storage;
  const Policy* rules = nullptr;
  DLBRIDGE_TRY(ResolvePolicy(policy, &storage, &rules, error));
  Subject subject;
  DLBRIDGE_TRY(LoadVersioned(tensor, &subject, error));
  return Validate(subject, *rules, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_validate(const DLTensor* tensor, uint64_t tensor_flags,
                                 const DLBridgePolicy* policy, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  if (policy != nullptr) {
    return dlbridge::ValidateBorrowed(*tensor, tensor_flags, policy, error);
  }
  return dlbridge::ValidateInline(dlbridge::BorrowedSubject(*tensor, tensor_flags, false), error);
}

DLBridgeStatus dlbridge_validate_legacy(const DLManagedTensor* tensor, const DLBridgePolicy* policy,
                                        DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  if (policy != nullptr) {
    return dlbridge::ValidateBorrowed(tensor->dl_tensor, 0, policy, error);
  }
  return dlbridge::ValidateInline(dlbridge::BorrowedSubject(tensor->dl_tensor, 0, false), error);
}

DLBridgeStatus dlbridge_validate_versioned(const DLManagedTensorVersioned* tensor,
                                           const DLBridgePolicy* policy, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  const DLPackVersion label = dlbridge::LoadVersion(tensor->version);
  DLBRIDGE_TRY(dlbridge::CheckMajor(label, error));
  if (policy != nullptr || dlbridge::OwnNode(tensor) != nullptr) {
    return dlbridge::ValidateOwned(*tensor, policy, error);
  }
  return dlbridge::ValidateInline(dlbridge::VersionedSubject(*tensor, label), error);
}

}  // extern "C"
