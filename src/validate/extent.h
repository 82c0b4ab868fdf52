// SPDX-License-Identifier: Apache-2.0
// The passes over shape and strides: one for count and compactness, one for the range of offsets if
// the strides are not compact. All arithmetic is checked. No other part of the tensor is read.
#ifndef DLBRIDGE_SRC_VALIDATE_EXTENT_H_
#define DLBRIDGE_SRC_VALIDATE_EXTENT_H_

#include <cstddef>
#include <cstdint>

#include "support/checked.h"
#include "support/load.h"

namespace dlbridge {

// The elements that shape and strides describe. Offsets count elements.
struct Extent {
  int64_t count;  // number of elements; 0 when empty
  int64_t first;  // offset of the lowest element; <= 0
  int64_t limit;  // offset past the highest element; 0 when empty
  bool negative;  // an extent is negative; all other fields are meaningless then
  bool overflow;  // `count` does not fit 63 bits
  bool compact;   // C order, ignoring axes of extent 1; true when empty
};

// An extent in bytes, relative to element (0,...,0).
struct ByteExtent {
  int64_t begin;
  int64_t end;
  int64_t packed;
};

// ScanAxes for a tensor whose product of extents overflows; such a tensor is valid only if an
// extent is 0. It starts again from the last axis, so that the copied values are the checked ones.
// Where the producer has changed them meanwhile and nothing overflows any more, it reports the
// overflow that ScanAxes has seen.
template <bool kStrides, bool kCopy>
DLBRIDGE_COLD Extent ScanHugeAxes(int32_t ndim, const int64_t* shape, const int64_t* strides,
                                  int64_t* shape_out, int64_t* strides_out) {
  int64_t product = 1;
  int64_t signs = 0;
  bool empty = false;
  for (int32_t i = ndim - 1; i >= 0; --i) {
    const int64_t extent = Load(shape + i);
    if (kCopy) {
      shape_out[i] = extent;
      strides_out[i] = kStrides ? Load(strides + i) : product;
    }
    signs |= extent;
    empty |= extent == 0;
    if (MulOverflows(product, extent > 1 ? extent : 1, &product)) {
      product = 0;
    }
  }
  return {0, 0, 0, signs < 0, !empty, true};
}

// Reads each entry once, from the last axis to the first. With kCopy it also writes them to
// `shape_out` and `strides_out`, so that the checked values are the kept ones. Without kStrides a
// stride is the product of max(1, extent) over the later axes. Where that overflows, which only an
// empty tensor may do, the stride is 0.
template <bool kStrides, bool kCopy>
DLBRIDGE_INLINE Extent ScanAxes(int32_t ndim, const int64_t* shape, const int64_t* strides,
                                int64_t* shape_out, int64_t* strides_out) {
  // Strides that are filled in must not become 0 before an empty axis, so extents of 0 are counted
  // as 1. Otherwise a product of 0 means that the tensor is empty.
  constexpr bool kFills = kCopy && !kStrides;
  int64_t product = 1;
  int64_t signs = 0;
  bool compact = true;
  bool empty = false;
  for (int64_t i = int64_t{ndim} - 1; i >= 0; --i) {
    const int64_t extent = Load(shape + i);
    const int64_t stride = kStrides ? Load(strides + i) : product;
    if (kCopy) {
      shape_out[i] = extent;
      strides_out[i] = stride;
    }
    signs |= extent;
    if (kStrides && DLBRIDGE_UNLIKELY(stride != product)) {
      compact &= extent == 1;
    }
    if (kFills) {
      empty |= extent == 0;
    }
    if (MulOverflows(product, kFills && extent < 1 ? 1 : extent, &product)) {
      return ScanHugeAxes<kStrides, kCopy>(ndim, shape, strides, shape_out, strides_out);
    }
  }
  if (!kFills) {
    empty = product == 0;
  }
  const int64_t count = empty ? 0 : product;
  return {count, 0, count, signs < 0, false, compact || empty};
}

template <bool kCopy>
DLBRIDGE_INLINE Extent ScanTensor(int32_t ndim, const int64_t* shape, const int64_t* strides,
                                  int64_t* shape_out, int64_t* strides_out) {
  return strides != nullptr ? ScanAxes<true, kCopy>(ndim, shape, strides, shape_out, strides_out)
                            : ScanAxes<false, kCopy>(ndim, shape, nullptr, shape_out, strides_out);
}

// Copies the first `count` entries. If `strides` is NULL, ScanAxes fills the strides later.
DLBRIDGE_COLD inline void CopyRest(size_t count, const int64_t* shape, const int64_t* strides,
                                   int64_t* shape_out, int64_t* strides_out) {
  for (size_t i = 0; i < count; ++i) {
    shape_out[i] = Load(shape + i);
    if (strides != nullptr) {
      strides_out[i] = Load(strides + i);
    }
  }
}

// The entry that ends at byte `end` of an array. A loop that counts bytes uses one register as the
// offset into all arrays.
DLBRIDGE_INLINE const int64_t* EntryBefore(const int64_t* array, size_t end) {
  return reinterpret_cast<const int64_t*>(reinterpret_cast<const char*>(array) + end) - 1;
}
DLBRIDGE_INLINE int64_t* EntryBefore(int64_t* array, size_t end) {
  return reinterpret_cast<int64_t*>(reinterpret_cast<char*>(array) + end) - 1;
}
DLBRIDGE_INLINE size_t BytesOfArray(int32_t ndim) {
  return static_cast<size_t>(static_cast<uint32_t>(ndim)) * sizeof(int64_t);
}

// Copies the entries that the caller has not reached when it stops at the entry that ends at byte
// `end`.
template <bool kStrides, bool kCopy>
DLBRIDGE_INLINE int64_t GiveUp(size_t end, const int64_t* shape, const int64_t* strides,
                               int64_t* shape_out, int64_t* strides_out) {
  if (kCopy) {
    CopyRest(end / sizeof *shape - 1, shape, kStrides ? strides : nullptr, shape_out, strides_out);
  }
  return -1;
}

// Continues ScanPlainAxes at the entry that ends at byte `end`, whose stride is not compact. The
// later axes are compact and have `count` elements.
template <bool kCopy>
DLBRIDGE_INLINE int64_t ScanStridedAxes(size_t end, int64_t count, const int64_t* shape,
                                        const int64_t* strides, int64_t* shape_out,
                                        int64_t* strides_out) {
  int64_t limit = count;
  do {
    DLBRIDGE_FORGET(end);
    const int64_t extent = Load(EntryBefore(shape, end));
    const int64_t stride = Load(EntryBefore(strides, end));
    if (kCopy) {
      *EntryBefore(shape_out, end) = extent;
      *EntryBefore(strides_out, end) = stride;
    }
    int64_t reach = 0;
    if (DLBRIDGE_UNLIKELY((extent | stride) < 0 || MulOverflows(count, extent, &count) ||
                          MulOverflows(extent - 1, stride, &reach) ||
                          AddOverflows(limit, reach, &limit))) {
      return GiveUp<true, kCopy>(end, shape, strides, shape_out, strides_out);
    }
    end -= sizeof extent;
  } while (end != 0);
  const int64_t most = count > limit ? count : limit;
  return DLBRIDGE_LIKELY(count != 0) ? most : -1;  // the limit of an empty tensor has no meaning
}

// Fast path of ScanAxes for ndim > 0. Returns what must fit: the number of elements or, if it is
// larger, the offset past the highest element, as with strides that leave gaps. Returns -1 if a
// number does not fit, and for negative extents; if the strides are not compact, also for negative
// strides and extents of 0; if strides are filled in, also for extents of 0. With kCopy all extents
// are copied in each case, and all strides that are given.
template <bool kStrides, bool kCopy>
DLBRIDGE_INLINE int64_t ScanPlainAxes(int32_t ndim, const int64_t* shape, const int64_t* strides,
                                      int64_t* shape_out, int64_t* strides_out) {
  int64_t product = 1;
  int64_t signs = 0;
  size_t end = BytesOfArray(ndim);
  do {
    const int64_t extent = Load(EntryBefore(shape, end));
    const int64_t stride = kStrides ? Load(EntryBefore(strides, end)) : product;
    if (kCopy) {
      *EntryBefore(shape_out, end) = extent;
      *EntryBefore(strides_out, end) = stride;
    }
    if (DLBRIDGE_UNLIKELY(kStrides && stride != product)) {
      return signs < 0
                 ? GiveUp<kStrides, kCopy>(end, shape, strides, shape_out, strides_out)
                 : ScanStridedAxes<kCopy>(end, product, shape, strides, shape_out, strides_out);
    }
    if (DLBRIDGE_UNLIKELY(MulOverflows(product, extent, &product))) {
      return GiveUp<kStrides, kCopy>(end, shape, strides, shape_out, strides_out);
    }
    signs |= extent;  // after the product, which can then be computed in place
    DLBRIDGE_FORGET_BOTH(end, signs);
    end -= sizeof extent;
  } while (end != 0);
  // Strides that are filled in must not become 0 before an empty axis: ScanAxes handles that.
  const bool filled = kCopy && !kStrides && product == 0;
  if (DLBRIDGE_UNLIKELY(signs < 0 || filled)) {
    return -1;
  }
  if (product < 0) {
    __builtin_unreachable();  // the factors are not negative, and no product overflowed
  }
  return product;
}

template <bool kCopy>
DLBRIDGE_INLINE int64_t ScanPlain(int32_t ndim, const int64_t* shape, const int64_t* strides,
                                  int64_t* shape_out, int64_t* strides_out) {
  if (DLBRIDGE_UNLIKELY(ndim == 0)) {
    return 1;
  }
  return DLBRIDGE_LIKELY(strides != nullptr)
             ? ScanPlainAxes<true, kCopy>(ndim, shape, strides, shape_out, strides_out)
             : ScanPlainAxes<false, kCopy>(ndim, shape, nullptr, shape_out, strides_out);
}

// Copies the shape without checking it, and fills in the strides as ScanAxes does.
DLBRIDGE_COLD inline void FillOddAxes(size_t ndim, const int64_t* shape, int64_t* shape_out,
                                      int64_t* strides_out) {
  ScanAxes<false, true>(static_cast<int32_t>(ndim), shape, nullptr, shape_out, strides_out);
}

// Copies shape and strides without checking them; NULL strides are filled in as ScanAxes does.
DLBRIDGE_INLINE void CopyAxes(int32_t ndim, const int64_t* shape, const int64_t* strides,
                              int64_t* shape_out, int64_t* strides_out) {
  if (DLBRIDGE_UNLIKELY(ndim == 0)) {
    return;
  }
  if (strides == nullptr) {
    if (DLBRIDGE_UNLIKELY(
            (ScanPlainAxes<false, true>(ndim, shape, nullptr, shape_out, strides_out) < 0))) {
      FillOddAxes(BytesOfArray(ndim) / sizeof *shape, shape, shape_out, strides_out);
    }
    return;
  }
  size_t end = BytesOfArray(ndim);
  DLBRIDGE_FORGET(end);  // so that the compiler does not derive it from other counters
  do {
    *EntryBefore(shape_out, end) = Load(EntryBefore(shape, end));
    *EntryBefore(strides_out, end) = Load(EntryBefore(strides, end));
    DLBRIDGE_FORGET(end);
    end -= sizeof *shape;
  } while (end != 0);
}

// Is an extent 0?
inline bool HasZero(int32_t ndim, const int64_t* shape) {
  uint64_t least = UINT64_MAX;
  for (int32_t i = 0; i < ndim; ++i) {
    const auto extent = static_cast<uint64_t>(shape[i]);
    least = extent < least ? extent : least;
  }
  return least == 0;
}

// Computes `first` and `limit` for strides that are not compact; false if they do not fit 63 bits.
// No extent may be below 1. The arrays must be a copy.
[[nodiscard]] DLBRIDGE_INLINE bool ReachOfStrides(int32_t ndim, const int64_t* shape,
                                                  const int64_t* strides, Extent* extent) {
  int64_t first = 0;
  int64_t last = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t steps = shape[i] - 1;
    int64_t reach = 0;
    if (MulOverflows(steps, strides[i], &reach)) {
      return false;
    }
    int64_t* side = reach < 0 ? &first : &last;
    if (AddOverflows(*side, reach, side)) {
      return false;
    }
  }
  extent->first = first;
  return !AddOverflows(last, 1, &extent->limit);
}

// Bytes of elements that are not whole bytes. Passed by value, so that the fast path of BytesOf can
// keep its values in registers.
struct BitExtent {
  ByteExtent bytes;
  bool packed_fits;
  bool reach_fits;
};
DLBRIDGE_COLD inline BitExtent BytesOfBits(Extent extent, uint32_t item_bits) {
  const Wide begin = (static_cast<Wide>(extent.first) * item_bits) >> 3;
  const Wide end = (static_cast<Wide>(extent.limit) * item_bits + 7) >> 3;
  const Wide packed = (static_cast<Wide>(extent.count) * item_bits + 7) >> 3;
  const ByteExtent bytes = {static_cast<int64_t>(begin), static_cast<int64_t>(end),
                            static_cast<int64_t>(packed)};
  return {bytes, bytes.packed == packed, bytes.begin == begin && bytes.end == end};
}

// Converts elements to bytes; false if the offsets do not fit.
[[nodiscard]] DLBRIDGE_INLINE bool BytesOf(const Extent& extent, uint32_t item_bits,
                                           ByteExtent* out, bool* packed_fits) {
  if (DLBRIDGE_UNLIKELY(item_bits % 8 != 0)) {
    const BitExtent bits = BytesOfBits(extent, item_bits);
    *out = bits.bytes;
    *packed_fits = bits.packed_fits;
    return bits.reach_fits;
  }
  const int64_t item = item_bits / 8;
  *packed_fits = !MulOverflows(extent.count, item, &out->packed);
  if (DLBRIDGE_LIKELY(extent.compact)) {
    out->begin = 0;
    out->end = out->packed;
    return true;
  }
  const bool overflow = MulOverflows(extent.first, item, &out->begin);
  return !MulOverflows(extent.limit, item, &out->end) && !overflow;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_EXTENT_H_
