// SPDX-License-Identifier: Apache-2.0
// A strided copy as a few driver calls: contiguous runs, rectangles and boxes.
#ifndef DLBRIDGE_SRC_NATIVE_COPY_PLAN_H_
#define DLBRIDGE_SRC_NATIVE_COPY_PLAN_H_

#include <cstdint>

#include "copy/walk.h"
#include "native/backend.h"

namespace dlbridge {

// The largest number of driver calls for one copy.
constexpr int64_t kMaxBoxes = 4096;

struct CopyPlan {
  CopyBox first;                    // the box at the first element; the others have the same shape
  Walk outer;                       // the remaining axes, with the source's strides in bytes
  int64_t to_stride[kMaxWalkAxes];  // of the target, in bytes
  int64_t boxes;
};

// Plans a copy of the elements of `walk`, `item` bytes each, to compact memory in C order. Returns
// false if it would take more than kMaxBoxes calls. The offsets of the first box are 0.
bool PlanCopy(const Walk& walk, int64_t item, CopyPlan* out);

// Iterates over the boxes of a plan.
class Boxes {
 public:
  Boxes(const CopyPlan& plan, uint64_t from_offset, uint64_t to_offset);
  const CopyBox& box() const { return box_; }
  // Returns false after the last box.
  bool Next();

 private:
  void Step(int axis, int64_t count);

  const CopyPlan& plan_;
  CopyBox box_;
  int64_t index_[kMaxWalkAxes] = {};
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_COPY_PLAN_H_
