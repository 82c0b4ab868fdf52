// SPDX-License-Identifier: Apache-2.0
// The rules, each stated once. Validation, which stops at the first broken rule, and diagnosis,
// which collects all findings, are the same code with different sinks.
//
// A sink has
// - `Broken(violation)`: a rule is broken; returns true to stop,
// - `Note(violation)`: a finding that never rejects,
// - `Unanswered(status, violation)`: no driver can answer; returns true to stop,
// - kCollects: true if the sink wants notes and every axis that breaks a rule.
#ifndef DLBRIDGE_SRC_VALIDATE_RULES_H_
#define DLBRIDGE_SRC_VALIDATE_RULES_H_

#include <cstdint>

#include "describe/device.h"
#include "describe/dtype.h"
#include "describe/status.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/load.h"
#include "validate/device_facts.h"
#include "validate/extent.h"
#include "validate/overlap.h"
#include "validate/policy.h"

namespace dlbridge {

// The tensor to validate: a copy of its fields, and its flags and version. Shape and strides still
// point to the producer's arrays.
struct Subject {
  DLTensor tensor;
  uint64_t flags;
  DLPackVersion label;  // the version that the tensor carries; {0, 0} for legacy and borrowed ones
  Version version;      // the same as one number; 0 for legacy and borrowed ones
  bool may_write;       // versioned and not READ_ONLY, or the caller assumes that it is writable
};

DLBRIDGE_INLINE Subject BorrowedSubject(const DLTensor& tensor, uint64_t flags, bool vouched) {
  return {LoadTensor(tensor), flags, {0, 0}, 0, vouched && (flags & kReadOnly) == 0};
}

// Only for major 1: with another major, no field after `version` may be read.
DLBRIDGE_INLINE Subject VersionedSubject(const DLManagedTensorVersioned& tensor,
                                         DLPackVersion label) {
  const uint64_t flags = Load(&tensor.flags);
  return {LoadTensor(tensor.dl_tensor), flags, label, VersionOfMinor(label.minor),
          (flags & kReadOnly) == 0};
}

// Stops at the first broken rule and reports it.
class FirstBroken {
 public:
  static constexpr bool kCollects = false;
  explicit FirstBroken(DLBridgeError* error) : error_(error) {}
  DLBRIDGE_INLINE bool Broken(const Violation& violation) {
    status_ = Reject(error_, violation);
    return true;
  }
  void Note(const Violation& /*violation*/) {}
  // The error already has the reason. A tensor that cannot be checked is rejected.
  bool Unanswered(DLBridgeStatus status, const Violation& /*violation*/) {
    status_ = status;
    return true;
  }
  DLBridgeError* error() const { return error_; }
  DLBridgeStatus status() const { return status_; }
  // The status after a failed check, which is never DLBRIDGE_OK.
  DLBRIDGE_INLINE DLBridgeStatus failure() const {
    if (status_ == DLBRIDGE_OK) {
      __builtin_unreachable();
    }
    return status_;
  }

 private:
  DLBridgeError* error_;
  DLBridgeStatus status_ = DLBRIDGE_OK;
};

constexpr uint64_t Bits(int64_t value) { return static_cast<uint64_t>(value); }

// ------------------------------------------------------------------------------- struct level

// Each check below returns false if no later check may run.
template <class Sink>
DLBRIDGE_COLD bool RejectNdim(int32_t ndim, int32_t least, int32_t most, Sink* sink) {
  if (ndim < 0) {
    sink->Broken({DLBRIDGE_RULE_NDIM_NEGATIVE, kNoAxis, 0, Bits(ndim)});
  } else {
    const uint64_t limits = static_cast<uint64_t>(least) << 32 | static_cast<uint32_t>(most);
    sink->Broken({DLBRIDGE_RULE_NDIM_LIMIT, kNoAxis, limits, Bits(ndim)});
  }
  return false;
}

// True also for a negative ndim, which is huge as an unsigned number.
constexpr bool IsAbove(int32_t ndim, int32_t most) {
  return static_cast<uint32_t>(ndim) > static_cast<uint32_t>(most);
}

// Fast path: true if width and lanes break no rule. CheckOddDtype checks all other dtypes.
DLBRIDGE_INLINE bool IsPlainDtype(DLDataType dtype) {
  const unsigned fixed = FixedBits(dtype.code);
  return dtype.bits != 0 && dtype.lanes - 1U < kMaxLanes && (fixed == 0 || fixed == dtype.bits);
}

template <class Sink>
DLBRIDGE_COLD bool CheckOddDtype(DLDataType dtype, const Policy& policy, Sink* sink) {
  const unsigned fixed = FixedBits(dtype.code);
  if (dtype.bits == 0) {
    if (sink->Broken({DLBRIDGE_RULE_DTYPE_BITS_ZERO, kNoAxis, 1, 0})) {
      return false;
    }
  } else if (fixed != 0 && dtype.bits != fixed) {
    if (sink->Broken({DLBRIDGE_RULE_DTYPE_BITS_FIXED, kNoAxis, fixed, Packed(dtype)})) {
      return false;
    }
  }
  if (dtype.lanes == 0) {
    return !sink->Broken({DLBRIDGE_RULE_DTYPE_LANES_ZERO, kNoAxis, 1, 0});
  }
  if (dtype.lanes > kMaxLanes && !policy.Has(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES)) {
    return !sink->Broken({DLBRIDGE_RULE_DTYPE_LANES_SCALABLE, kNoAxis, kMaxLanes, dtype.lanes});
  }
  return true;
}

// A code that `policy.version` does not know is rejected if the policy says so, else noted.
template <class Sink>
bool CheckKnown(bool known, bool reject, const Violation& violation, Sink* sink) {
  if (known) {
    return true;
  }
  if (reject) {
    return !sink->Broken(violation);
  }
  sink->Note(violation);
  return true;
}

template <class Sink>
bool CheckUnknowns(const Subject& subject, const Policy& policy, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  const int32_t type = TypeOf(tensor.device);
  const uint64_t known = FlagsKnownTo(policy.version);
  return CheckKnown(
             DtypeSince(tensor.dtype.code) <= policy.version,
             policy.Has(DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE),
             {DLBRIDGE_RULE_DTYPE_UNKNOWN, kNoAxis, Packed(policy.version), tensor.dtype.code},
             sink) &&
         CheckKnown(DeviceTypeOf(type).since <= policy.version,
                    policy.Has(DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE),
                    {DLBRIDGE_RULE_DEVICE_UNKNOWN, kNoAxis, Packed(policy.version), Bits(type)},
                    sink) &&
         CheckKnown((subject.flags & ~known) == 0, policy.Has(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS),
                    {DLBRIDGE_RULE_FLAGS_UNKNOWN, kNoAxis, known, subject.flags}, sink);
}

// Does the policy list the device, or the dtype?
bool ListsDevice(const Policy& policy, const DLDevice& device);
bool ListsDtype(const Policy& policy, DLDataType dtype);

template <class Sink>
bool CheckLists(const DLTensor& tensor, const Policy& policy, Sink* sink) {
  if (policy.devices.items != nullptr && !ListsDevice(policy, tensor.device) &&
      sink->Broken({DLBRIDGE_RULE_DEVICE_REJECTED, kNoAxis, ListFact(policy.devices),
                    Packed(tensor.device)})) {
    return false;
  }
  return policy.dtypes.items == nullptr || ListsDtype(policy, tensor.dtype) ||
         !sink->Broken({DLBRIDGE_RULE_DTYPE_REJECTED, kNoAxis, ListFact(policy.dtypes),
                        Packed(tensor.dtype)});
}

template <class Sink>
bool CheckLeastNdim(int32_t ndim, const Policy& policy, Sink* sink) {
  return ndim >= policy.min_ndim || RejectNdim(ndim, policy.min_ndim, policy.max_ndim, sink);
}

// The demands of the policy on the struct itself.
template <class Sink>
bool CheckStructDemands(const Subject& subject, const Policy& policy, Sink* sink) {
  if (!CheckLeastNdim(subject.tensor.ndim, policy, sink) || !CheckUnknowns(subject, policy, sink) ||
      !CheckLists(subject.tensor, policy, sink)) {
    return false;
  }
  return !policy.Has(DLBRIDGE_POLICY_REQUIRE_WRITABLE) || subject.may_write ||
         !sink->Broken({DLBRIDGE_RULE_NOT_WRITABLE, kNoAxis, 0, subject.flags & kReadOnly});
}

// Notes on the struct. No policy rejects these.
template <class Sink>
void NoteStruct(const Subject& subject, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  const DeviceType& type = DeviceTypeOf(TypeOf(tensor.device));
  if (type.host_like && tensor.device.device_id > 0) {
    sink->Note({DLBRIDGE_RULE_DEVICE_ID_HOST, kNoAxis, 0, Bits(tensor.device.device_id)});
  }
  Version needed = FlagsSince(subject.flags);
  needed = DtypeSince(tensor.dtype.code) > needed ? DtypeSince(tensor.dtype.code) : needed;
  needed = type.since > needed ? type.since : needed;
  if (subject.version != 0 && needed != kNoRelease && needed > subject.version) {
    sink->Note({DLBRIDGE_RULE_VERSION_LABEL, kNoAxis, Packed(needed), Packed(subject.version)});
  }
}

template <class Sink>
bool CheckPointers(const Subject& subject, const Policy& policy, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  if (tensor.ndim == 0) {
    // A scalar has one element, so its data must not be NULL.
    return DLBRIDGE_LIKELY(tensor.data != nullptr) ||
           !sink->Broken({DLBRIDGE_RULE_DATA_NULL, kNoAxis, 1, 0});
  }
  if (DLBRIDGE_UNLIKELY(tensor.shape == nullptr)) {
    sink->Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(tensor.ndim), 0});
    return false;
  }
  if (DLBRIDGE_UNLIKELY(tensor.strides == nullptr && subject.version >= kStridesSince &&
                        !policy.Has(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES))) {
    return !sink->Broken({DLBRIDGE_RULE_STRIDES_NULL, kNoAxis, Bits(tensor.ndim), 0});
  }
  return true;
}

// DLBRIDGE_LEVEL_STRUCT: reads the struct but not its arrays.
template <class Sink>
bool CheckHead(const Subject& subject, const Policy& policy, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  if (DLBRIDGE_UNLIKELY(IsAbove(tensor.ndim, policy.max_ndim))) {
    return RejectNdim(tensor.ndim, policy.min_ndim, policy.max_ndim, sink);
  }
  if (DLBRIDGE_UNLIKELY(!IsPlainDtype(tensor.dtype)) &&
      !CheckOddDtype(tensor.dtype, policy, sink)) {
    return false;
  }
  if (DLBRIDGE_UNLIKELY(tensor.device.device_id < 0) &&
      sink->Broken({DLBRIDGE_RULE_DEVICE_ID_NEGATIVE, kNoAxis, 0, Bits(tensor.device.device_id)})) {
    return false;
  }
  if ((Sink::kCollects || DLBRIDGE_UNLIKELY(policy.demands)) &&
      !CheckStructDemands(subject, policy, sink)) {
    return false;
  }
  if (Sink::kCollects) {
    NoteStruct(subject, sink);
  }
  return CheckPointers(subject, policy, sink);
}

// ----------------------------------------------------------------------------- metadata level

template <class Sink>
DLBRIDGE_COLD void RejectNegativeExtents(int32_t ndim, const int64_t* shape, Sink* sink) {
  for (int32_t i = 0; i < ndim; ++i) {
    // The scan has read or written every entry.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    if (shape[i] < 0 && sink->Broken({DLBRIDGE_RULE_EXTENT_NEGATIVE, i, 0, Bits(shape[i])})) {
      return;
    }
  }
}

// Checks shape and strides only. `shape` and `strides` are read a second time: they are the copies
// if the scan made copies.
template <class Sink>
bool CheckExtent(int32_t ndim, const int64_t* shape, const int64_t* strides, uint32_t item_bits,
                 Extent* extent, ByteExtent* bytes, Sink* sink) {
  if (DLBRIDGE_UNLIKELY(extent->negative)) {
    RejectNegativeExtents(ndim, shape, sink);
    return false;
  }
  if (DLBRIDGE_UNLIKELY(extent->overflow)) {
    sink->Broken({DLBRIDGE_RULE_COUNT_OVERFLOW, kNoAxis, 0, 0});
    return false;
  }
  if (!extent->compact && DLBRIDGE_UNLIKELY(!ReachOfStrides(ndim, shape, strides, extent))) {
    sink->Broken({DLBRIDGE_RULE_OFFSET_OVERFLOW, kNoAxis, 0, 0});
    return false;
  }
  bool packed_fits = true;
  const bool reach_fits = BytesOf(*extent, item_bits, bytes, &packed_fits);
  if (!packed_fits) {
    sink->Broken({DLBRIDGE_RULE_SIZE_OVERFLOW, kNoAxis, 0, Bits(extent->count)});
    return false;
  }
  if (DLBRIDGE_UNLIKELY(!reach_fits)) {
    sink->Broken({DLBRIDGE_RULE_OFFSET_OVERFLOW, kNoAxis, 0, 0});
    return false;
  }
  return true;
}

// Checks that data + byte_offset + [begin, end) stays inside the address space and, on a handle,
// does not begin before its start.
template <class Sink>
bool CheckAddresses(const DLTensor& tensor, const ByteExtent& bytes, Sink* sink) {
  const DataIs data = DeviceTypeOf(TypeOf(tensor.device)).data;
  uint64_t start = data == DataIs::kAddress ? reinterpret_cast<uintptr_t>(tensor.data) : 0;
  uint64_t end = 0;
  if (AddOverflows(start, tensor.byte_offset, &start) ||
      AddOverflows(start, static_cast<uint64_t>(bytes.end), &end)) {
    return !sink->Broken({DLBRIDGE_RULE_ADDRESS_RANGE, kNoAxis, 0, tensor.byte_offset});
  }
  const uint64_t below = 0 - static_cast<uint64_t>(bytes.begin);
  if (start < below && data == DataIs::kAddress) {
    return !sink->Broken({DLBRIDGE_RULE_ADDRESS_RANGE, kNoAxis, 0, tensor.byte_offset});
  }
  if (start < below && data == DataIs::kHandle) {
    return !sink->Broken({DLBRIDGE_RULE_HANDLE_RANGE, kNoAxis, 0, start - below});
  }
  return true;
}

// The input of the checks of layout demands.
struct LayoutView {
  DLTensor tensor;
  const int64_t* shape;
  const int64_t* strides;  // NULL: compact
  Extent extent;
  ByteExtent bytes;
  bool may_write;  // as in Subject
};

// Column-major, ignoring axes of extent 1.
bool IsFortranContiguous(const LayoutView& view);
// Largest power of two that divides the address of element (0,...,0), as in DLBridgeLayout.
uint64_t AlignmentOf(const DLTensor& tensor);

template <class Sink>
bool CheckStrideSigns(const LayoutView& view, const Policy& policy, Sink* sink) {
  const bool negative = policy.Has(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES);
  const bool zero = policy.Has(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  // NULL strides are positive, and the strides of an empty tensor do not matter.
  if (!(negative || zero) || view.strides == nullptr || view.extent.count == 0) {
    return true;
  }
  for (int32_t i = 0; i < view.tensor.ndim; ++i) {
    if (view.shape[i] == 1) {
      continue;
    }
    const int64_t stride = view.strides[i];
    if (negative && stride < 0 &&
        sink->Broken({DLBRIDGE_RULE_NEGATIVE_STRIDE, i, 0, Bits(stride)})) {
      return false;
    }
    if (zero && stride == 0 &&
        sink->Broken({DLBRIDGE_RULE_ZERO_STRIDE, i, Bits(view.shape[i]), 0})) {
      return false;
    }
  }
  return true;
}

template <class Sink>
bool CheckContiguity(const LayoutView& view, const Policy& policy, Sink* sink) {
  const bool c_order = (policy.contiguity & DLBRIDGE_CONTIGUITY_C) != 0 && view.extent.compact;
  if (policy.contiguity == DLBRIDGE_CONTIGUITY_ANY || c_order ||
      ((policy.contiguity & DLBRIDGE_CONTIGUITY_F) != 0 && IsFortranContiguous(view))) {
    return true;
  }
  return !sink->Broken({DLBRIDGE_RULE_CONTIGUITY, kNoAxis, Bits(policy.contiguity), 0});
}

template <class Sink>
bool CheckAlignment(const LayoutView& view, const Policy& policy, Sink* sink) {
  // AlignmentOf is 0 for the address 0, which is a multiple of every alignment.
  const uint64_t alignment = AlignmentOf(view.tensor);
  return policy.alignment == 0 || view.extent.count == 0 || alignment == 0 ||
         alignment >= policy.alignment ||
         !sink->Broken({DLBRIDGE_RULE_ALIGNMENT, kNoAxis, policy.alignment, alignment});
}

// The buffer begins at `data`; every byte that the tensor touches must be inside.
template <class Sink>
bool CheckBuffer(const LayoutView& view, const Policy& policy, Sink* sink) {
  if (!policy.Has(DLBRIDGE_POLICY_LIMIT_BUFFER) || view.extent.count == 0) {
    return true;
  }
  const Wide begin = static_cast<Wide>(view.tensor.byte_offset) + view.bytes.begin;
  const Wide end = static_cast<Wide>(view.tensor.byte_offset) + view.bytes.end;
  if (begin >= 0 && end <= static_cast<Wide>(policy.buffer_size)) {
    return true;
  }
  const Wide found = begin < 0 ? begin : end - 1;
  return !sink->Broken(
      {DLBRIDGE_RULE_BUFFER_BOUNDS, kNoAxis, policy.buffer_size, static_cast<uint64_t>(found)});
}

inline DLBridgeAnswer OverlapOf(const LayoutView& view) {
  return view.extent.compact ? DLBRIDGE_NO
                             : SelfOverlap(view.tensor.ndim, view.shape, view.strides);
}

template <class Sink>
bool CheckOverlap(const LayoutView& view, const Policy& policy, Sink* sink) {
  if (!policy.Has(DLBRIDGE_POLICY_REQUIRE_WRITABLE) ||
      policy.Has(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP)) {
    return true;
  }
  const DLBridgeAnswer overlap = OverlapOf(view);
  return overlap == DLBRIDGE_NO ||
         !sink->Broken({DLBRIDGE_RULE_SELF_OVERLAP, kNoAxis, 0, Bits(overlap)});
}

// DLBRIDGE_LEVEL_DEVICE. An empty tensor touches no memory.
template <class Sink>
bool CheckDevice(const LayoutView& view, const Policy& policy, Sink* sink) {
  if (policy.level < DLBRIDGE_LEVEL_DEVICE || view.extent.count == 0) {
    return true;
  }
  const DLTensor& tensor = view.tensor;
  const TouchedMemory memory = {tensor.data, tensor.device,
                                tensor.byte_offset + Bits(view.bytes.begin),
                                tensor.byte_offset + Bits(view.bytes.end), view.may_write};
  const DeviceVerdict verdict = JudgeDevice(memory, sink->error());
  if (verdict.status != DLBRIDGE_OK) {
    return !sink->Unanswered(verdict.status, verdict.violation);
  }
  return !verdict.rejected || !sink->Broken(verdict.violation);
}

// Compares the extents with the policy's shape, which has as many axes as the tensor (CheckHead).
template <class Sink>
bool CheckShape(const LayoutView& view, const Policy& policy, Sink* sink) {
  for (int32_t i = 0; policy.shape != nullptr && i < view.tensor.ndim; ++i) {
    if (policy.shape[i] != -1 && policy.shape[i] != view.shape[i] &&
        sink->Broken(
            {DLBRIDGE_RULE_SHAPE_MISMATCH, i, Bits(policy.shape[i]), Bits(view.shape[i])})) {
      return false;
    }
  }
  return true;
}

// The demands of the policy on the layout.
template <class Sink>
bool CheckLayoutDemands(const LayoutView& view, const Policy& policy, Sink* sink) {
  return CheckShape(view, policy, sink) && CheckBuffer(view, policy, sink) &&
         CheckContiguity(view, policy, sink) && CheckAlignment(view, policy, sink) &&
         CheckStrideSigns(view, policy, sink) && CheckOverlap(view, policy, sink) &&
         CheckDevice(view, policy, sink);
}

template <class Sink>
void NoteLayout(const LayoutView& view, const Policy& policy, Sink* sink) {
  const uint64_t natural = NaturalAlignment(view.tensor.dtype);
  const uint64_t alignment = AlignmentOf(view.tensor);
  if (view.extent.count != 0 && alignment != 0 && alignment < natural) {
    sink->Note({DLBRIDGE_RULE_DATA_UNALIGNED, kNoAxis, natural, alignment});
  }
  const bool rejected = policy.Has(DLBRIDGE_POLICY_REQUIRE_WRITABLE) &&
                        !policy.Has(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP);
  const DLBridgeAnswer overlap = rejected ? DLBRIDGE_NO : OverlapOf(view);
  if (overlap != DLBRIDGE_NO) {
    sink->Note({DLBRIDGE_RULE_SELF_OVERLAP, kNoAxis, 0, Bits(overlap)});
  }
}

// DLBRIDGE_LEVEL_METADATA for arrays that only this call writes to; `extent` is from their first
// pass.
template <class Sink>
bool CheckScanned(const Subject& subject, const Policy& policy, const int64_t* shape,
                  const int64_t* strides, Extent extent, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  ByteExtent bytes;
  if (!CheckExtent(tensor.ndim, shape, strides, ItemBits(tensor.dtype, subject.flags), &extent,
                   &bytes, sink)) {
    return false;
  }
  if (extent.count != 0) {
    if (tensor.data == nullptr && tensor.ndim != 0 &&
        sink->Broken({DLBRIDGE_RULE_DATA_NULL, kNoAxis, Bits(extent.count), 0})) {
      return false;
    }
    if (!CheckAddresses(tensor, bytes, sink)) {
      return false;
    }
  }
  if (Sink::kCollects || policy.demands) {
    const LayoutView view = {tensor, shape, tensor.strides != nullptr ? strides : nullptr,
                             extent, bytes, subject.may_write};
    if (!CheckLayoutDemands(view, policy, sink)) {
      return false;
    }
    if (Sink::kCollects) {
      NoteLayout(view, policy, sink);
    }
  }
  return true;
}

// Checks the layout of a tensor that passed CheckHead. Shape and strides are copied to `shape_out`
// and `strides_out` in the first pass, and the copies are checked.
template <class Sink>
bool CheckLayout(const Subject& subject, const Policy& policy, int64_t* shape_out,
                 int64_t* strides_out, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  const Extent extent =
      ScanTensor<true>(tensor.ndim, tensor.shape, tensor.strides, shape_out, strides_out);
  return CheckScanned(subject, policy, shape_out, strides_out, extent, sink);
}

// Both levels, as far as the policy asks, on a copy of the arrays.
template <class Sink>
void CheckTensor(const Subject& subject, const Policy& policy, Sink* sink) {
  if (CheckHead(subject, policy, sink) && policy.level >= DLBRIDGE_LEVEL_METADATA) {
    int64_t shape[DLBRIDGE_MAX_NDIM];
    int64_t strides[DLBRIDGE_MAX_NDIM];
    CheckLayout(subject, policy, shape, strides, sink);
  }
}

// ---------------------------------------------------------------------------------- fast path

// Most tensors are compact, permuted or sliced, and break no rule. These predicates recognise such
// tensors with as little code as possible. A tensor that they do not recognise may still be valid:
// the checks above decide.

// True if the struct breaks no rule of the default policy.
DLBRIDGE_INLINE bool IsPlainHead(const Subject& subject) {
  const DLTensor& tensor = subject.tensor;
  return !IsAbove(tensor.ndim, DLBRIDGE_MAX_NDIM) && IsPlainDtype(tensor.dtype) &&
         tensor.device.device_id >= 0 &&
         (DLBRIDGE_LIKELY(tensor.ndim != 0)
              ? tensor.shape != nullptr &&
                    (tensor.strides != nullptr || subject.version < kStridesSince)
              : tensor.data != nullptr);
}

// True if the bytes of `count` adjacent elements fit; `count` is what ScanPlain returns. Elements
// that are not whole bytes are not recognised.
DLBRIDGE_INLINE bool FitsPlain(const Subject& subject, int64_t count) {
  const DLTensor& tensor = subject.tensor;
  const uint32_t item_bits = static_cast<uint32_t>(tensor.dtype.bits) * tensor.dtype.lanes;
  int64_t bytes = 0;
  uint64_t end = 0;
  return count >= 0 && item_bits % 8 == 0 &&
         !MulOverflows(count, static_cast<int64_t>(item_bits / 8), &bytes) &&
         (count == 0 ||
          (tensor.data != nullptr &&
           !AddOverflows(reinterpret_cast<uintptr_t>(tensor.data), tensor.byte_offset, &end) &&
           !AddOverflows(end, static_cast<uint64_t>(bytes), &end)));
}

// True if the tensor surely passes the default policy.
DLBRIDGE_INLINE bool IsPlainlyValid(const Subject& subject) {
  const DLTensor& tensor = subject.tensor;
  return IsPlainHead(subject) &&
         FitsPlain(subject,
                   ScanPlain<false>(tensor.ndim, tensor.shape, tensor.strides, nullptr, nullptr));
}

// Validates by the default policy. The fields are separate parameters, so that callers keep them in
// registers: a struct would have to be written to memory even on the fast path.
DLBRIDGE_NOINLINE DLBridgeStatus ValidateFields(void* data, DLDevice device, int32_t ndim,
                                                DLDataType dtype, int64_t* shape, int64_t* strides,
                                                uint64_t byte_offset, uint64_t flags,
                                                Version version, DLBridgeError* error);

DLBRIDGE_INLINE DLBridgeStatus ValidateInline(const Subject& subject, DLBridgeError* error) {
  const DLTensor& tensor = subject.tensor;
  return DLBRIDGE_LIKELY(IsPlainlyValid(subject))
             ? DLBRIDGE_OK
             : ValidateFields(tensor.data, tensor.device, tensor.ndim, tensor.dtype, tensor.shape,
                              tensor.strides, tensor.byte_offset, subject.flags, subject.version,
                              error);
}

DLBridgeStatus Validate(const Subject& subject, const Policy& policy, DLBridgeError* error);

DLBRIDGE_INLINE DLBridgeStatus CheckMajor(DLPackVersion label, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(label.major == kMajor)) {
    return DLBRIDGE_OK;
  }
  return Reject(error, {DLBRIDGE_RULE_VERSION_MAJOR, kNoAxis, kMajor, label.major});
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_RULES_H_
