// SPDX-License-Identifier: Apache-2.0
// Which of the rules for every tensor a layout breaks: DLPack's text and the list of rules in
// dlbridge.h, with numbers that cannot overflow. Shares no code with the library.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace dlbridge_fuzz {

__extension__ typedef __int128 Wide;

// The outcomes of a call that breaks several rules: any of these statuses. None: it must succeed.
using Statuses = std::set<DLBridgeStatus>;

// What is known of a device type.
struct DeviceFacts {
  bool known;      // to DLPack 1.3
  bool host_like;  // its id is 0
  char data;       // 'a' address, 'h' handle, '?' not specified
  uint32_t minor;  // of the first DLPack 1 release that has it; 0 also for older ones
};
inline DeviceFacts FactsOf(int32_t type) {
  switch (type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
    case kDLCUDAManaged:
      return {true, true, 'a', 0};
    case kDLCUDA:
    case kDLROCM:
    case kDLOneAPI:
      return {true, false, 'a', 0};
    case kDLOpenCL:
    case kDLVulkan:
    case kDLMetal:
    case kDLVPI:
    case kDLWebGPU:
      return {true, false, 'h', 0};
    case kDLExtDev:
    case kDLHexagon:
    case kDLMAIA:
      return {true, false, '?', 0};
    case kDLTrn:
      return {true, false, '?', 2};
    default:
      return {false, false, '?', 0};
  }
}

// The type as an integer: a fuzzed value need not be one of the enumeration.
inline int32_t TypeOf(const DLDevice& device) {
  int32_t type = 0;
  std::memcpy(&type, &device, sizeof type);
  return type;
}
inline DLDevice MakeDevice(int32_t type, int32_t id) {
  const int32_t fields[] = {type, id};
  DLDevice device;
  std::memcpy(&device, fields, sizeof device);
  return device;
}

// The only width of a dtype code in bits; 0: any.
inline unsigned WidthOf(uint8_t code) {
  if (code == kDLBfloat) {
    return 16;
  }
  if (code == kDLBool || (code >= kDLFloat8_e3m4 && code <= kDLFloat8_e8m0fnu)) {
    return 8;
  }
  return code == kDLFloat6_e2m3fn || code == kDLFloat6_e3m2fn ? 6
                                                              : (code == kDLFloat4_e2m1fn ? 4 : 0);
}

inline bool IsValidDtype(DLDataType dtype) {
  const unsigned width = WidthOf(dtype.code);
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
  const DeviceFacts facts = FactsOf(TypeOf(device));
  if (!facts.known || dtype.code > kDLFloat4_e2m1fn || flags > 7) {
    out->insert(DLBRIDGE_ERROR_UNKNOWN_CODE);
    return;
  }
  const bool newer =
      dtype.code > kDLBool || (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  if ((newer ? 1U : 0U) > minor || facts.minor > minor) {
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
  const char kind = FactsOf(TypeOf(device)).data;
  const Wide start = (kind == 'a' ? static_cast<Wide>(reinterpret_cast<uintptr_t>(data)) : 0) +
                     static_cast<Wide>(byte_offset);
  const Wide most = static_cast<Wide>(UINT64_MAX);
  if (data == nullptr || start > most || start + layout.end > most ||
      (kind != '?' && start + layout.begin < 0)) {
    out->insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_LAYOUT_H_
