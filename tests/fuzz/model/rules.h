// SPDX-License-Identifier: Apache-2.0
// Model of the rules: which of them a tensor breaks under a policy, by the header's list of rules
// alone.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_RULES_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_RULES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/tensor.h"

namespace dlbridge_fuzz {

struct Broken {
  DLBridgeRule rule;
  int32_t axis;
  bool operator==(const Broken& other) const { return rule == other.rule && axis == other.axis; }
};
using Findings = std::vector<Broken>;

inline bool Contains(const Findings& findings, const Broken& one) {
  return std::find(findings.begin(), findings.end(), one) != findings.end();
}

struct Verdict {
  Findings early;  // all that can be seen before `stop`
  Findings stop;   // rules that make the rest unreadable; one of them is the last finding
  Findings late;   // only if nothing stops
  Findings may;    // neither certain nor excluded
  Findings notes;  // that must be there if nothing stops
  Findings may_note;
  bool valid() const { return early.empty() && stop.empty() && late.empty(); }
  bool MayReport(const Broken& one) const {
    return Contains(early, one) || Contains(stop, one) || Contains(late, one) || Contains(may, one);
  }
};

// The status that the header and docs/rules.md give a rule.
inline DLBridgeStatus StatusOf(DLBridgeRule rule) {
  switch (rule) {
    case DLBRIDGE_RULE_VERSION_MAJOR:
    case DLBRIDGE_RULE_REQUIRED_VERSION:
      return DLBRIDGE_ERROR_VERSION;
    case DLBRIDGE_RULE_NDIM_LIMIT:
    case DLBRIDGE_RULE_BUFFER_BOUNDS:
    case DLBRIDGE_RULE_CONTIGUITY:
    case DLBRIDGE_RULE_ALIGNMENT:
    case DLBRIDGE_RULE_DEVICE_REJECTED:
    case DLBRIDGE_RULE_DTYPE_REJECTED:
    case DLBRIDGE_RULE_NOT_WRITABLE:
    case DLBRIDGE_RULE_NEGATIVE_STRIDE:
    case DLBRIDGE_RULE_ZERO_STRIDE:
    case DLBRIDGE_RULE_SELF_OVERLAP:
    case DLBRIDGE_RULE_SHAPE_MISMATCH:
      return DLBRIDGE_ERROR_POLICY;
    case DLBRIDGE_RULE_DTYPE_UNKNOWN:
    case DLBRIDGE_RULE_DEVICE_UNKNOWN:
    case DLBRIDGE_RULE_FLAGS_UNKNOWN:
      return DLBRIDGE_ERROR_UNKNOWN_CODE;
    case DLBRIDGE_RULE_LEGACY_READ_ONLY:
    case DLBRIDGE_RULE_LEGACY_PADDED:
    case DLBRIDGE_RULE_LEGACY_DTYPE:
    case DLBRIDGE_RULE_LEGACY_DEVICE:
      return DLBRIDGE_ERROR_UNREPRESENTABLE;
    case DLBRIDGE_RULE_OFFSET_FOLD:
    case DLBRIDGE_RULE_IN_STORAGE:
    case DLBRIDGE_RULE_COPY_DEVICE:
      return DLBRIDGE_ERROR_UNSUPPORTED;
    case DLBRIDGE_RULE_VIEW_BOUNDS:
    case DLBRIDGE_RULE_VIEW_OFFSET:
      return DLBRIDGE_ERROR_BOUNDS;
    default:
      return DLBRIDGE_ERROR_INVALID_TENSOR;
  }
}

class Judge {
 public:
  // `policy` must pass PolicyFaults.
  Judge(const ModelTensor& tensor, const DLBridgePolicy& policy) : t_(tensor), p_(policy) {}

  Verdict Decide() {
    if (t_.versioned && t_.major != 1) {
      Stop(DLBRIDGE_RULE_VERSION_MAJOR);
      return v_;
    }
    if (t_.ndim < 0) {
      Stop(DLBRIDGE_RULE_NDIM_NEGATIVE);
      return v_;
    }
    if (t_.ndim > MaxNdim()) {
      Stop(DLBRIDGE_RULE_NDIM_LIMIT);
      return v_;
    }
    JudgeDtype();
    if (t_.id < 0) {
      v_.early.push_back({DLBRIDGE_RULE_DEVICE_ID_NEGATIVE, -1});
    }
    if (t_.ndim < p_.min_ndim) {
      // The rules on codes and lists may be seen before or not.
      Findings seen;
      std::swap(seen, v_.early);
      JudgeStruct();
      v_.may = v_.early;
      v_.early = seen;
      Stop(DLBRIDGE_RULE_NDIM_LIMIT);
      return v_;
    }
    JudgeStruct();
    if (!JudgePointers() || p_.level == DLBRIDGE_LEVEL_STRUCT) {
      return v_;
    }
    JudgeLayout();
    return v_;
  }

 private:
  bool Has(uint32_t option) const { return (p_.options & option) != 0; }
  void Stop(DLBridgeRule rule, int32_t axis = -1) { v_.stop.push_back({rule, axis}); }
  int32_t MaxNdim() const { return Has(DLBRIDGE_POLICY_LIMIT_NDIM) ? p_.max_ndim : 64; }

  void JudgeDtype() {
    const DLDataType dtype = t_.dtype;
    const unsigned demanded = DemandedBits(dtype.code);
    if (dtype.bits == 0) {
      v_.early.push_back({DLBRIDGE_RULE_DTYPE_BITS_ZERO, -1});
    } else if (demanded != 0 && dtype.bits != demanded) {
      v_.early.push_back({DLBRIDGE_RULE_DTYPE_BITS_FIXED, -1});
    }
    if (dtype.lanes == 0) {
      v_.early.push_back({DLBRIDGE_RULE_DTYPE_LANES_ZERO, -1});
    }
    if (dtype.lanes >= 0x8000 && !Has(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES)) {
      v_.early.push_back({DLBRIDGE_RULE_DTYPE_LANES_SCALABLE, -1});
    }
  }

  // The newest release that the policy's consumer reads.
  uint64_t Reads() const {
    if (p_.version.major == 0 && p_.version.minor != 0) {
      return Release(0, std::min(p_.version.minor, 8U));
    }
    return p_.version.major == 0 ? Release(1, 3) : Release(1, std::min(p_.version.minor, 3U));
  }

  void JudgeKnown(bool known, uint32_t option, DLBridgeRule rule) {
    if (!known) {
      (Has(option) ? v_.early : v_.notes).push_back({rule, -1});
    }
  }

  void JudgeStruct() {
    const uint64_t reads = Reads();
    JudgeKnown(DtypeRelease(t_.dtype.code) <= reads, DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE,
               DLBRIDGE_RULE_DTYPE_UNKNOWN);
    JudgeKnown(DeviceRelease(t_.type) <= reads, DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE,
               DLBRIDGE_RULE_DEVICE_UNKNOWN);
    // READ_ONLY and IS_COPIED are known to a legacy consumer too: it can only not see them.
    const uint64_t known = reads >= Release(1, 1) ? kKnownFlags : kReadOnly | kCopied;
    JudgeKnown((t_.flags & ~known) == 0, DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS,
               DLBRIDGE_RULE_FLAGS_UNKNOWN);
    if (p_.devices != nullptr &&
        std::none_of(p_.devices, p_.devices + p_.device_count, [&](const DLDevice& device) {
          return TypeOf(device) == t_.type && (device.device_id == -1 || device.device_id == t_.id);
        })) {
      v_.early.push_back({DLBRIDGE_RULE_DEVICE_REJECTED, -1});
    }
    if (p_.dtypes != nullptr &&
        std::none_of(p_.dtypes, p_.dtypes + p_.dtype_count, [&](const DLDataType& dtype) {
          return dtype.code == t_.dtype.code && dtype.bits == t_.dtype.bits &&
                 dtype.lanes == t_.dtype.lanes;
        })) {
      v_.early.push_back({DLBRIDGE_RULE_DTYPE_REJECTED, -1});
    }
    const bool read_only = (t_.flags & kReadOnly) != 0;
    const bool writable =
        !read_only && (t_.versioned || t_.vouched || Has(DLBRIDGE_POLICY_VOUCH_WRITABLE));
    if (Has(DLBRIDGE_POLICY_REQUIRE_WRITABLE) && !writable) {
      v_.early.push_back({DLBRIDGE_RULE_NOT_WRITABLE, -1});
    }
    NoteStruct();
  }

  void NoteStruct() {
    if (IsHostLike(t_.type) && t_.id > 0) {
      v_.notes.push_back({DLBRIDGE_RULE_DEVICE_ID_HOST, -1});
    }
    const uint64_t needed = NeededRelease(t_.dtype.code, t_.type, t_.flags);
    if (t_.versioned && needed != kNever && needed > Release(1, t_.minor)) {
      v_.notes.push_back({DLBRIDGE_RULE_VERSION_LABEL, -1});
    }
  }

  bool JudgePointers() {
    if (t_.ndim == 0) {
      if (t_.data == 0) {
        v_.early.push_back({DLBRIDGE_RULE_DATA_NULL, -1});
      }
      return true;
    }
    if (!t_.has_shape) {
      Stop(DLBRIDGE_RULE_SHAPE_NULL);
      return false;
    }
    if (!t_.has_strides && t_.versioned && t_.minor >= 2 &&
        !Has(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES)) {
      v_.early.push_back({DLBRIDGE_RULE_STRIDES_NULL, -1});
    }
    return true;
  }

  void JudgeLayout() {
    const ModelLayout layout = LayoutOf(t_);
    for (int32_t i = 0; i < t_.ndim && layout.negative; ++i) {
      if (t_.shape[static_cast<size_t>(i)] < 0) {
        Stop(DLBRIDGE_RULE_EXTENT_NEGATIVE, i);
      }
    }
    if (layout.too_many) {
      Stop(DLBRIDGE_RULE_COUNT_OVERFLOW);
    }
    if (layout.too_large) {
      Stop(DLBRIDGE_RULE_SIZE_OVERFLOW);
    }
    if (layout.too_far) {
      Stop(DLBRIDGE_RULE_OFFSET_OVERFLOW);
    }
    if (layout.far_in_elements || layout.at_limit) {
      v_.may.push_back({DLBRIDGE_RULE_OFFSET_OVERFLOW, -1});
    }
    if (v_.stop.empty()) {
      JudgeMemory(layout);
      JudgeDemands(layout);
    }
  }

  void JudgeMemory(const ModelLayout& layout) {
    if (layout.empty) {
      return;
    }
    if (t_.data == 0 && t_.ndim != 0) {
      v_.late.push_back({DLBRIDGE_RULE_DATA_NULL, -1});
    }
    const Wide origin =
        (IsAddress(t_.type) ? static_cast<Wide>(t_.data) : 0) + static_cast<Wide>(t_.byte_offset);
    constexpr Wide kSpace = Wide{1} << 64;
    const Wide end = origin + layout.end;
    if (origin >= kSpace || end > kSpace || (IsAddress(t_.type) && origin + layout.begin < 0)) {
      v_.late.push_back({DLBRIDGE_RULE_ADDRESS_RANGE, -1});
    } else if (end == kSpace) {
      v_.may.push_back({DLBRIDGE_RULE_ADDRESS_RANGE, -1});
      v_.may.push_back({DLBRIDGE_RULE_HANDLE_RANGE, -1});
    } else if (IsHandle(t_.type) && origin + layout.begin < 0) {
      v_.late.push_back({DLBRIDGE_RULE_HANDLE_RANGE, -1});
    }
    if (origin >= kSpace && layout.begin < 0) {
      v_.may.push_back({DLBRIDGE_RULE_HANDLE_RANGE, -1});
    }
  }

  void JudgeDemands(const ModelLayout& layout) {
    for (int32_t i = 0; p_.shape != nullptr && i < t_.ndim; ++i) {
      if (p_.shape[i] != -1 && p_.shape[i] != t_.shape[static_cast<size_t>(i)]) {
        v_.late.push_back({DLBRIDGE_RULE_SHAPE_MISMATCH, i});
      }
    }
    const bool c = IsContiguous(t_, layout, true);
    const bool f = IsContiguous(t_, layout, false);
    const bool fits =
        p_.contiguity == 0 || ((p_.contiguity & 1) != 0 && c) || ((p_.contiguity & 2) != 0 && f);
    if (!fits) {
      v_.late.push_back({DLBRIDGE_RULE_CONTIGUITY, -1});
    }
    JudgeOverlap(layout);
    if (layout.empty) {
      return;
    }
    const Wide begin = static_cast<Wide>(t_.byte_offset) + layout.begin;
    const Wide end = static_cast<Wide>(t_.byte_offset) + layout.end;
    if (Has(DLBRIDGE_POLICY_LIMIT_BUFFER) &&
        (begin < 0 || end > static_cast<Wide>(p_.buffer_size))) {
      v_.late.push_back({DLBRIDGE_RULE_BUFFER_BOUNDS, -1});
    }
    if (p_.alignment != 0 && OriginOf(t_) % p_.alignment != 0) {
      v_.late.push_back({DLBRIDGE_RULE_ALIGNMENT, -1});
    }
    for (int32_t i = 0; i < t_.ndim; ++i) {
      const auto axis = static_cast<size_t>(i);
      if (t_.shape[axis] == 1) {
        continue;
      }
      if (layout.strides[axis] < 0 && Has(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES)) {
        v_.late.push_back({DLBRIDGE_RULE_NEGATIVE_STRIDE, i});
      }
      if (layout.strides[axis] == 0 && Has(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES)) {
        v_.late.push_back({DLBRIDGE_RULE_ZERO_STRIDE, i});
      }
    }
    NoteAlignment();
  }

  void JudgeOverlap(const ModelLayout& layout) {
    const bool demanded =
        Has(DLBRIDGE_POLICY_REQUIRE_WRITABLE) && !Has(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP);
    const Broken finding = {DLBRIDGE_RULE_SELF_OVERLAP, -1};
    DLBridgeAnswer answer = OverlapOf(t_, layout);
    // Where the library gives up, it reports an overlap.
    if (answer == DLBRIDGE_NO && MayGiveUp(t_, layout)) {
      answer = DLBRIDGE_UNDECIDED;
    }
    if (answer == DLBRIDGE_YES) {
      (demanded ? v_.late : v_.notes).push_back(finding);
    } else if (answer == DLBRIDGE_UNDECIDED) {
      (demanded ? v_.may : v_.may_note).push_back(finding);
    }
  }

  // Elements of 1, 2, 4, 8 or 16 bytes have an alignment; a complex number that of its parts.
  void NoteAlignment() {
    uint64_t bits = t_.dtype.bits;
    if (t_.dtype.code == 5 || t_.dtype.code == 18) {
      bits /= 2;
    }
    const bool known = bits == 16 || bits == 32 || bits == 64 || bits == 128;
    if (known && OriginOf(t_) % (bits / 8) != 0) {
      v_.notes.push_back({DLBRIDGE_RULE_DATA_UNALIGNED, -1});
    }
  }

  ModelTensor t_;
  DLBridgePolicy p_;
  Verdict v_;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_RULES_H_
