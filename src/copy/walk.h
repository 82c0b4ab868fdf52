// SPDX-License-Identifier: Apache-2.0
// The fewest axes that visit the same elements as a layout in the same order.
//
// A copy to compact memory writes its elements in C order; the walk describes where each element is
// in the source. Runs of `RunOf` elements are adjacent in the source. The other axes give the
// distances between the runs: with one such axis the runs are a rectangle, with two a box.
#ifndef DLBRIDGE_SRC_COPY_WALK_H_
#define DLBRIDGE_SRC_COPY_WALK_H_

#include <cstdint>

#include "support/checked.h"

namespace dlbridge {

// A tensor of less than 2^63 elements has at most 62 axes longer than 1.
constexpr int kMaxWalkAxes = 62;

// The axes from the slowest to the fastest. Axes of extent 1 are left out, and axes that continue
// each other are joined. Strides count elements. A single element has no axes.
struct Walk {
  int64_t extent[kMaxWalkAxes];
  int64_t stride[kMaxWalkAxes];
  int axes;

  int64_t last_stride() const { return stride[axes - 1]; }
  int64_t last_extent() const { return extent[axes - 1]; }
};

// True if an outer axis continues an inner axis of `extent` and `stride`, so that both are one
// axis.
inline bool Continues(int64_t outer_stride, int64_t extent, int64_t stride) {
  int64_t joined = 0;
  return !MulOverflows(stride, extent, &joined) && outer_stride == joined;
}

// No extent may be 0, and their product must fit 63 bits.
inline Walk MakeWalk(int32_t ndim, const int64_t* shape, const int64_t* strides) {
  Walk walk;
  walk.axes = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] == 1) {
      continue;
    }
    const int last = walk.axes - 1;
    if (last >= 0 && Continues(walk.stride[last], shape[i], strides[i])) {
      walk.extent[last] *= shape[i];
      walk.stride[last] = strides[i];
    } else {
      walk.extent[walk.axes] = shape[i];
      walk.stride[walk.axes] = strides[i];
      ++walk.axes;
    }
  }
  return walk;
}

// The number of elements of each run: the extent of the last axis if its stride is 1, else 1.
inline int64_t RunOf(const Walk& walk) {
  return walk.axes > 0 && walk.last_stride() == 1 ? walk.last_extent() : 1;
}

// Iterates over the first `axes` axes of a walk; offset() is the distance from element 0 in
// elements.
class Steps {
 public:
  Steps(const Walk& walk, int axes) : walk_(walk), axes_(axes) {}
  int64_t offset() const { return static_cast<int64_t>(offset_); }

  // False after the last step.
  bool Next() {
    for (int i = axes_ - 1; i >= 0; --i) {
      offset_ += Unsigned(walk_.stride[i]);
      if (++index_[i] < walk_.extent[i]) {
        return true;
      }
      offset_ -= Unsigned(walk_.stride[i]) * Unsigned(walk_.extent[i]);
      index_[i] = 0;
    }
    return false;
  }

 private:
  static uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

  const Walk& walk_;
  int axes_;
  int64_t index_[kMaxWalkAxes] = {};
  uint64_t offset_ = 0;  // unsigned: the offset past the end of an axis may not fit 63 bits
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_WALK_H_
