// SPDX-License-Identifier: Apache-2.0
// Model of conversions, by the header's contract: which faults a call has, and what a result is.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_CONVERT_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_CONVERT_H_

#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/rules.h"

namespace dlbridge_fuzz {

constexpr DLBridgeRule kAnyRule = -1;

// A reason to reject a call. The header does not say which of several reasons is reported.
struct Fault {
  DLBridgeStatus status;
  DLBridgeRule rule = kAnyRule;
  bool certain = true;
};
using Faults = std::vector<Fault>;

inline void AddRule(DLBridgeRule rule, Faults* out, bool certain = true) {
  out->push_back({StatusOf(rule), rule, certain});
}

// What a conversion was asked for.
struct Request {
  uint32_t bits = 0;  // DLBRIDGE_CONVERT_*
  bool to_legacy = false;
  uint64_t reads = Release(1, 3);  // newest release that the consumer reads
  uint64_t label = Release(1, 3);  // version of a versioned result
  uint64_t tensor_flags = 0;
  const DLBridgePolicy* policy = nullptr;
  uint64_t most_bytes = UINT64_MAX;  // that the allocator gives
  bool Has(uint32_t bit) const { return (bits & bit) != 0; }
  bool Reshapes() const {
    return Has(DLBRIDGE_CONVERT_CANONICAL | DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET |
               DLBRIDGE_CONVERT_COPY);
  }
};

inline void AddVerdict(const Verdict& verdict, Faults* out) {
  for (const Findings* list : {&verdict.early, &verdict.stop, &verdict.late}) {
    for (const Broken& one : *list) {
      AddRule(one.rule, out);
    }
  }
  for (const Broken& one : verdict.may) {
    AddRule(one.rule, out, false);
  }
}

inline void AddValidation(const ModelTensor& tensor, const Request& request, Faults* out) {
  const bool copy = request.Has(DLBRIDGE_CONVERT_COPY);
  if (request.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION) && !copy) {
    if (tensor.ndim < 0) {
      AddRule(DLBRIDGE_RULE_NDIM_NEGATIVE, out);
    } else if (tensor.ndim > 64) {
      AddRule(DLBRIDGE_RULE_NDIM_LIMIT, out);
    } else if (tensor.ndim > 0 && !tensor.has_shape) {
      AddRule(DLBRIDGE_RULE_SHAPE_NULL, out);
    }
    return;
  }
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  if (request.policy != nullptr) {
    policy = *request.policy;
  }
  AddVerdict(Judge(tensor, policy).Decide(), out);
  if (copy && policy.level == DLBRIDGE_LEVEL_STRUCT) {
    // A copy depends on the layout.
    policy.level = DLBRIDGE_LEVEL_METADATA;
    AddVerdict(Judge(tensor, policy).Decide(), out);
  }
}

// Rules on codes that no release has.
inline void AddUnknown(const ModelTensor& tensor, Faults* out) {
  if (DtypeRelease(tensor.dtype.code) == kNever) {
    AddRule(DLBRIDGE_RULE_DTYPE_UNKNOWN, out);
  }
  if (DeviceRelease(tensor.type) == kNever) {
    AddRule(DLBRIDGE_RULE_DEVICE_UNKNOWN, out);
  }
  if (FlagsRelease(tensor.flags) == kNever) {
    AddRule(DLBRIDGE_RULE_FLAGS_UNKNOWN, out);
  }
}

inline bool PaddingMatters(const ModelTensor& tensor) {
  return ItemBits(tensor.dtype, tensor.flags) != ItemBits(tensor.dtype, 0);
}

inline void AddLosses(const ModelTensor& tensor, const Request& request, Faults* out) {
  const bool copy = request.Has(DLBRIDGE_CONVERT_COPY);
  if (tensor.versioned) {
    if ((tensor.flags & kReadOnly) != 0 && !copy && !request.Has(DLBRIDGE_CONVERT_DROP_READ_ONLY)) {
      AddRule(DLBRIDGE_RULE_LEGACY_READ_ONLY, out);
    }
    if (PaddingMatters(tensor) && !copy && !request.Has(DLBRIDGE_CONVERT_DROP_PADDED)) {
      AddRule(DLBRIDGE_RULE_LEGACY_PADDED, out);
    }
  }
  if (!request.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN)) {
    AddUnknown(tensor, out);
  }
  if (copy || request.Has(DLBRIDGE_CONVERT_ALLOW_NEWER_CODES)) {
    return;
  }
  const uint64_t dtype = DtypeRelease(tensor.dtype.code);
  const uint64_t device = DeviceRelease(tensor.type);
  if (dtype != kNever && dtype > request.reads) {
    AddRule(DLBRIDGE_RULE_LEGACY_DTYPE, out);
  }
  if (device != kNever && device > request.reads) {
    AddRule(DLBRIDGE_RULE_LEGACY_DEVICE, out);
  }
}

inline uint64_t Needed(const ModelTensor& tensor) {
  return NeededRelease(tensor.dtype.code, tensor.type, tensor.flags);
}

// `tensor` has the flags that are known of it.
inline Faults FaultsOf(const ModelTensor& tensor, const Request& request) {
  Faults faults;
  if (tensor.versioned && tensor.major != 1) {
    AddRule(DLBRIDGE_RULE_VERSION_MAJOR, &faults);
    return faults;
  }
  AddValidation(tensor, request, &faults);
  if (request.to_legacy) {
    AddLosses(tensor, request, &faults);
  } else if (!request.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN) && Needed(tensor) > request.label) {
    AddUnknown(tensor, &faults);
    if (Needed(tensor) != kNever) {
      AddRule(DLBRIDGE_RULE_REQUIRED_VERSION, &faults);
    }
  }
  if (request.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET) && !IsAddress(tensor.type)) {
    AddRule(DLBRIDGE_RULE_OFFSET_FOLD, &faults);
  }
  if (request.Has(DLBRIDGE_CONVERT_COPY)) {
    if (!IsHostLike(tensor.type)) {
      AddRule(DLBRIDGE_RULE_COPY_DEVICE, &faults);
    }
    if (FlagsRelease(tensor.flags) == kNever) {
      AddRule(DLBRIDGE_RULE_FLAGS_UNKNOWN, &faults);
    }
    if (faults.empty() && LayoutOf(tensor).packed > static_cast<Wide>(request.most_bytes)) {
      faults.push_back({DLBRIDGE_ERROR_OUT_OF_MEMORY, DLBRIDGE_RULE_NONE});
    }
  }
  return faults;
}

// The strides of a compact tensor of that shape.
inline std::vector<int64_t> CompactStrides(const ModelTensor& tensor) {
  ModelTensor without = tensor;
  without.has_strides = false;
  std::vector<int64_t> strides;
  for (const Wide stride : StridesOf(without)) {
    strides.push_back(static_cast<int64_t>(stride));
  }
  return strides;
}

// What a new struct has: strides in any case, and what CANONICAL, FOLD_BYTE_OFFSET and COPY change.
// `data` of a copy is not known.
inline ModelTensor Reformed(const ModelTensor& from, const Request& request) {
  ModelTensor to = from;
  const std::vector<int64_t> compact = CompactStrides(from);
  const bool empty = std::find(from.shape.begin(), from.shape.end(), 0) != from.shape.end();
  if (!from.has_strides) {
    to.strides = compact;
  }
  to.has_shape = true;
  to.has_strides = true;
  if (request.Has(DLBRIDGE_CONVERT_COPY)) {
    to.strides = compact;
    to.byte_offset = 0;
    to.type = 1;
    to.id = 0;
    to.data = 0;
    return to;
  }
  if (request.Has(DLBRIDGE_CONVERT_CANONICAL)) {
    for (size_t i = 0; i < to.shape.size(); ++i) {
      to.strides[i] = empty || to.shape[i] == 1 ? compact[i] : to.strides[i];
    }
    to.data = empty ? 0 : to.data;
    to.byte_offset = empty ? 0 : to.byte_offset;
    to.id = IsHostLike(to.type) && to.id > 0 ? 0 : to.id;
  }
  if (request.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET)) {
    to.data += to.data != 0 ? to.byte_offset : 0;
    to.byte_offset = 0;
  }
  return to;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_CONVERT_H_
