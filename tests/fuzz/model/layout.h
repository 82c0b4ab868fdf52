// SPDX-License-Identifier: Apache-2.0
// Which of the rules for every tensor a layout breaks: DLPack's text and the list of rules in
// dlbridge.h, with numbers that cannot overflow. Shares no code with the library.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_

#include <cstdint>
#include <set>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/codes.h"

namespace dlbridge_fuzz {

__extension__ typedef __int128 Wide;

// The outcomes of a call that breaks several rules: any of these statuses. None: it must succeed.
using Statuses = std::set<DLBridgeStatus>;

inline bool IsValidDtype(DLDataType dtype) {
  const unsigned width = DemandedBits(dtype.code);
  return dtype.bits != 0 && dtype.lanes != 0 && dtype.lanes < 0x8000 &&
         (width == 0 || width == dtype.bits);
}

inline int64_t ItemBitsOf(DLDataType dtype, uint64_t flags) {
  const int64_t bits = int64_t{dtype.bits} * dtype.lanes;
  return (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0 ? (bits + 7) / 8 * 8 : bits;
}

// The status of codes and flags that DLPack 1.`minor` does not have.
inline void AddCodes(DLDevice device, DLDataType dtype, uint64_t flags, uint32_t minor,
                     Statuses* out) {
  const uint64_t needed = NeededRelease(dtype.code, TypeOf(device), flags);
  if (needed == kNever) {
    out->insert(DLBRIDGE_ERROR_UNKNOWN_CODE);
  } else if (needed > Release(1, minor)) {
    out->insert(DLBRIDGE_ERROR_VERSION);
  }
}

// A layout whose rules are checked; NULL strides are compact ones.
struct LayoutModel {
  std::vector<int64_t> shape;
  const std::vector<int64_t>* strides = nullptr;
  int64_t item_bits = 8;

  bool negative = false;
  bool empty = false;
  Wide count = 1;
  Wide packed = 0;  // bytes
  Wide begin = 0;   // bytes, from the first element
  Wide end = 0;
  bool fits = true;  // all numbers fit 63 bits

  static constexpr Wide kHuge = static_cast<Wide>(1) << 90;
  static Wide Clamp(Wide value) {
    return value > kHuge ? kHuge : (value < -kHuge ? -kHuge : value);
  }
  static Wide Floor(Wide bits) { return bits >= 0 ? bits / 8 : -((-bits + 7) / 8); }

  void Compute() {
    for (const int64_t extent : shape) {
      negative = negative || extent < 0;
      empty = empty || extent == 0;
    }
    if (negative || empty) {
      count = 0;
      return;
    }
    for (const int64_t extent : shape) {
      count = count > INT64_MAX ? kHuge : count * extent;
    }
    count = Clamp(count);
    packed = Floor(count * item_bits + 7);
    Wide low = 0;
    Wide high = strides == nullptr ? count - 1 : 0;
    for (size_t i = 0; strides != nullptr && i < shape.size(); ++i) {
      const Wide reach = static_cast<Wide>(shape[i] - 1) * (*strides)[i];
      (reach < 0 ? low : high) = Clamp((reach < 0 ? low : high) + Clamp(reach));
    }
    begin = Floor(low * item_bits);
    end = Floor(high * item_bits + item_bits + 7);
    fits = count <= INT64_MAX && packed <= INT64_MAX && end <= INT64_MAX && begin >= INT64_MIN &&
           high < INT64_MAX && low >= INT64_MIN;
  }
};

// Adds the statuses of the rules on extents, sizes and addresses.
inline void AddLayout(const LayoutModel& layout, DLDevice device, const void* data,
                      uint64_t byte_offset, Statuses* out) {
  if (layout.negative || !layout.fits) {
    out->insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  if (layout.negative || layout.empty) {
    return;
  }
  const int32_t type = TypeOf(device);
  const Wide start = (IsAddress(type) ? static_cast<Wide>(reinterpret_cast<uintptr_t>(data)) : 0) +
                     static_cast<Wide>(byte_offset);
  const Wide most = static_cast<Wide>(UINT64_MAX);
  if (data == nullptr || start > most || start + layout.end > most ||
      ((IsAddress(type) || IsHandle(type)) && start + layout.begin < 0)) {
    out->insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_
