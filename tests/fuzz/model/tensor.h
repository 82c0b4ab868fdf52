// SPDX-License-Identifier: Apache-2.0
// Model of a tensor's layout in 128 bits, one element at a time where that is possible.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_TENSOR_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_TENSOR_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/codes.h"

namespace dlbridge_fuzz {

using Wide = __int128;

// The fields of a tensor and what its managed struct records.
struct ModelTensor {
  uint64_t data = 0;
  int32_t type = 1;
  int32_t id = 0;
  int32_t ndim = 0;
  DLDataType dtype = {2, 32, 1};
  bool has_shape = true;
  bool has_strides = true;
  std::vector<int64_t> shape;  // ndim entries where it is 0 to 64
  std::vector<int64_t> strides;
  uint64_t byte_offset = 0;
  uint64_t flags = 0;
  bool versioned = false;
  bool vouched = false;  // the caller knows that it is writable; READ_ONLY still binds
  uint32_t major = 0;    // of a versioned tensor
  uint32_t minor = 0;
};

// Bits from one element to the next.
inline uint64_t ItemBits(DLDataType dtype, uint64_t flags) {
  uint64_t bits = uint64_t{dtype.bits} * dtype.lanes;
  while ((flags & kPadded) != 0 && bits % 8 != 0) {
    ++bits;
  }
  return bits;
}

struct ModelLayout {
  bool negative = false;  // an extent is negative: nothing else is known
  bool empty = false;
  bool too_many = false;  // elements: nothing else is known
  bool too_large = false;
  bool too_far = false;
  bool far_in_elements = false;  // the offsets fit in bytes, but not in elements
  bool at_limit = false;         // the end is 2^63, so that only the last byte's offset fits
  Wide count = 0;
  Wide packed = 0;
  Wide first = 0;  // in elements
  Wide last = 0;
  Wide begin = 0;  // in bytes
  Wide end = 0;
  std::vector<Wide> strides;  // with NULL strides filled in
};

constexpr Wide kLargest = INT64_MAX;
constexpr Wide kSmallest = INT64_MIN;
constexpr Wide kFar = Wide{1} << 90;

inline Wide FloorDivide(Wide value, Wide by) {
  const Wide quotient = value / by;
  return value % by != 0 && value < 0 ? quotient - 1 : quotient;
}
inline Wide CeilDivide(Wide value, Wide by) { return -FloorDivide(-value, by); }

inline std::vector<Wide> StridesOf(const ModelTensor& tensor) {
  const auto ndim = static_cast<size_t>(tensor.ndim);
  std::vector<Wide> strides(ndim, 0);
  for (size_t i = 0; i < ndim; ++i) {
    if (tensor.has_strides) {
      strides[i] = tensor.strides[i];
      continue;
    }
    // The product of max(1, later extents), or 0 where it does not fit.
    Wide product = 1;
    for (size_t later = ndim; later-- > i + 1;) {
      const Wide extent = std::max<int64_t>(tensor.shape[later], 1);
      product = product == 0 || product * extent > kLargest ? 0 : product * extent;
    }
    strides[i] = product;
  }
  return strides;
}

// For 0 to 64 axes and a shape.
inline ModelLayout LayoutOf(const ModelTensor& tensor) {
  ModelLayout layout;
  const auto ndim = static_cast<size_t>(tensor.ndim);
  for (size_t i = 0; i < ndim; ++i) {
    layout.negative = layout.negative || tensor.shape[i] < 0;
    layout.empty = layout.empty || tensor.shape[i] == 0;
  }
  if (layout.negative) {
    return layout;
  }
  layout.strides = StridesOf(tensor);
  layout.count = 1;
  for (size_t i = 0; i < ndim && !layout.empty; ++i) {
    layout.count *= tensor.shape[i];
    if (layout.count > kLargest) {
      layout.too_many = true;
      return layout;
    }
  }
  if (layout.empty) {
    layout.count = 0;
    return layout;
  }
  const Wide bits = static_cast<Wide>(ItemBits(tensor.dtype, tensor.flags));
  for (size_t i = 0; i < ndim; ++i) {
    const Wide reach = static_cast<Wide>(tensor.shape[i] - 1) * layout.strides[i];
    Wide* end = reach < 0 ? &layout.first : &layout.last;
    *end = std::max(-kFar, std::min(kFar, *end + reach));
  }
  layout.packed = CeilDivide(layout.count * bits, 8);
  layout.begin = FloorDivide(layout.first * bits, 8);
  layout.end = CeilDivide((layout.last + 1) * bits, 8);
  layout.too_large = layout.packed > kLargest;
  layout.far_in_elements = layout.first < kSmallest || layout.last >= kLargest;
  layout.at_limit = layout.end == kLargest + 1;
  layout.too_far = layout.begin < kSmallest || layout.end > kLargest + 1;
  return layout;
}

// Calls visit(element offset) for each element in C order.
template <class Visit>
void ForEachElement(const ModelTensor& tensor, const ModelLayout& layout, Visit visit) {
  std::vector<int64_t> index(tensor.shape.size(), 0);
  for (Wide i = 0; i < layout.count; ++i) {
    Wide offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      offset += index[axis] * layout.strides[axis];
    }
    visit(offset);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < tensor.shape[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
}

// Do two elements have the same offset? UNDECIDED where that takes too long to try.
inline DLBridgeAnswer OverlapOf(const ModelTensor& tensor, const ModelLayout& layout) {
  constexpr Wide kMostTried = 2048;
  if (layout.count > kMostTried) {
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (tensor.shape[i] > 1 && layout.strides[i] == 0) {
        return DLBRIDGE_YES;
      }
    }
    return DLBRIDGE_UNDECIDED;
  }
  std::vector<Wide> offsets;
  ForEachElement(tensor, layout, [&](Wide offset) { offsets.push_back(offset); });
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end() ? DLBRIDGE_YES
                                                                             : DLBRIDGE_NO;
}
inline int LongAxes(const ModelTensor& tensor) {
  return static_cast<int>(std::count_if(tensor.shape.begin(), tensor.shape.end(),
                                        [](int64_t extent) { return extent > 1; }));
}

// May the library leave open whether elements overlap? Its effort is bounded: it gives up on many
// axes and on offsets that span more than 2^62 elements.
inline bool MayGiveUp(const ModelTensor& tensor, const ModelLayout& layout) {
  return LongAxes(tensor) > 4 || layout.last - layout.first >= Wide{1} << 62;
}

// Compact with the last axis fastest, or the first; axes of extent 1 do not count.
inline bool IsContiguous(const ModelTensor& tensor, const ModelLayout& layout, bool last_fastest) {
  if (layout.empty) {
    return true;
  }
  const size_t ndim = tensor.shape.size();
  Wide product = 1;
  for (size_t i = 0; i < ndim; ++i) {
    const size_t axis = last_fastest ? ndim - 1 - i : i;
    if (tensor.shape[axis] == 1) {
      continue;
    }
    if (layout.strides[axis] != product) {
      return false;
    }
    product *= tensor.shape[axis];
  }
  return true;
}

// Address of element (0,...,0), or its offset in a handle; 2^64 wraps.
inline uint64_t OriginOf(const ModelTensor& tensor) {
  return (IsHandle(tensor.type) ? 0 : tensor.data) + tensor.byte_offset;
}

inline uint64_t AlignmentOf(const ModelTensor& tensor) {
  const uint64_t origin = OriginOf(tensor);
  uint64_t alignment = 1;
  while (origin != 0 && (origin / alignment) % 2 == 0) {
    alignment *= 2;
  }
  return origin == 0 ? 0 : alignment;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_TENSOR_H_
