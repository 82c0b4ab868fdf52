// SPDX-License-Identifier: Apache-2.0
#include "validate.h"

#include <cstring>

#include "owned.h"
#include "support/boundary.h"

namespace dlbridge {

bool ListsDevice(const Policy& policy, const DLDevice& device) {
  for (size_t i = 0; i < policy.device_count; ++i) {
    const DLDevice& listed = policy.devices[i];
    if (TypeOf(listed) == TypeOf(device) &&
        (listed.device_id == -1 || listed.device_id == device.device_id)) {
      return true;
    }
  }
  return false;
}

bool ListsDtype(const Policy& policy, DLDataType dtype) {
  for (size_t i = 0; i < policy.dtype_count; ++i) {
    if (Packed(policy.dtypes[i]) == Packed(dtype)) {
      return true;
    }
  }
  return false;
}

bool IsFortranContiguous(const LayoutView& view) {
  if (view.extent.count == 0) {
    return true;
  }
  uint64_t product = 1;
  // Strides that are not given are those of C order: also F order if one axis is longer than 1.
  const bool c_order = view.strides == nullptr;
  int longer = 0;
  for (int32_t i = 0; i < view.tensor.ndim; ++i) {
    if (view.shape[i] == 1) {
      continue;
    }
    ++longer;
    if (!c_order && static_cast<uint64_t>(view.strides[i]) != product) {
      return false;
    }
    product *= static_cast<uint64_t>(view.shape[i]);
  }
  return !c_order || longer <= 1;
}

uint64_t AlignmentOf(const DLTensor& tensor) {
  uint64_t address = tensor.byte_offset;
  if (DeviceTypeOf(TypeOf(tensor.device)).data == DataIs::kAddress) {
    address += reinterpret_cast<uintptr_t>(tensor.data);
  }
  return address & (0 - address);
}

DLBridgeStatus Validate(const Subject& subject, const Policy& policy, DLBridgeError* error) {
  FirstBroken sink(error);
  CheckTensor(subject, policy, &sink);
  return sink.status();
}

// NOLINTNEXTLINE(readability-function-size): see the declaration
DLBridgeStatus ValidateFields(void* data, DLDevice device, int32_t ndim, DLDataType dtype,
                              int64_t* shape, int64_t* strides, uint64_t byte_offset,
                              uint64_t flags, Version version, DLBridgeError* error) {
  const DLTensor tensor = {data, device, ndim, dtype, shape, strides, byte_offset};
  // The default policy does not ask whether the tensor may be written to.
  return Validate({tensor, flags, {0, 0}, version, false}, kDefaultPolicy, error);
}

namespace {

// A borrowed or legacy tensor, by a policy of the caller's.
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
