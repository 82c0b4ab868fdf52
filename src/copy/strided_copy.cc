// SPDX-License-Identifier: Apache-2.0
// Splits a copy into planes and loops over them.
#include "copy/strided_copy.h"

#include <cstring>

#include "copy/bit_copy.h"
#include "copy/plane_copy.h"
#include "copy/walk.h"

namespace dlbridge {
namespace {

// The axes in bytes, from the slowest of the target. Elements that are adjacent in source and
// target are one item.
class Job {
 public:
  Job(const Walk& walk, int64_t element) : axes_(walk.axes), item_(element * RunOf(walk)) {
    if (RunOf(walk) > 1) {
      --axes_;
    }
    bytes_ = item_;
    for (int i = axes_ - 1; i >= 0; --i) {
      axis_[i] = {walk.extent[i], walk.stride[i] * element, bytes_};
      bytes_ *= walk.extent[i];
    }
  }

  void Run(const char* from, char* to) {
    if (axes_ == 0) {
      std::memcpy(to, from, static_cast<size_t>(item_));
      return;
    }
    Plane plane = {{1, 0, 0}, axis_[axes_ - 1], bytes_};
    --axes_;
    if (axes_ > 0) {
      plane.row = Take(RowAxis(plane.column));
    }
    if (plane.row.from < 0 && Crosses(plane)) {
      // Reverses the rows, so that the source stride is positive and the target stride negative.
      from += (plane.row.extent - 1) * plane.row.from;
      to += (plane.row.extent - 1) * plane.row.to;
      plane.row.from = -plane.row.from;
      plane.row.to = -plane.row.to;
    }
    RunPlanes(plane, from, to);
  }

 private:
  // Chooses the row axis: the fastest axis of the source if it is not the column. An axis that
  // fills a line of the cache is preferred, so that lines are used completely. If the column is the
  // fastest axis of the source, the next slower axis of the target.
  int RowAxis(const PlaneAxis& column) const {
    if (axes_ == 1) {
      return 0;
    }
    const int filling = Nearest(column, true);
    const int any = filling >= 0 ? filling : Nearest(column, false);
    return any >= 0 ? any : axes_ - 1;
  }
  // The axis with the shortest stride in the source, if it is shorter than the column's; -1 if
  // there is none.
  int Nearest(const PlaneAxis& column, bool fills_line) const {
    int nearest = -1;
    int64_t least = Distance(column.from);
    for (int i = axes_ - 1; i >= 0; --i) {
      const int64_t distance = Distance(axis_[i].from);
      if (distance != 0 && distance < least &&
          (!fills_line || FillsLine(axis_[i].extent, distance))) {
        nearest = i;
        least = distance;
      }
    }
    return nearest;
  }
  static bool FillsLine(int64_t extent, int64_t distance) {
    return extent >= kLine || distance >= kLine || extent * distance >= kLine;
  }
  PlaneAxis Take(int index) {
    const PlaneAxis taken = axis_[index];
    --axes_;
    for (int i = index; i < axes_; ++i) {
      axis_[i] = axis_[i + 1];
    }
    return taken;
  }

  // Like Steps::Next, with an offset for source and target.
  bool Next(uint64_t* from, uint64_t* to) {
    for (int i = axes_ - 1; i >= 0; --i) {
      const auto from_step = static_cast<uint64_t>(axis_[i].from);
      const auto to_step = static_cast<uint64_t>(axis_[i].to);
      const auto extent = static_cast<uint64_t>(axis_[i].extent);
      *from += from_step;
      *to += to_step;
      if (++index_[i] < axis_[i].extent) {
        return true;
      }
      *from -= from_step * extent;
      *to -= to_step * extent;
      index_[i] = 0;
    }
    return false;
  }

  void RunPlanes(const Plane& plane, const char* from, char* to) {
    const CopyPlane copy = ChooseCopy(plane);
    uint64_t from_offset = 0;
    uint64_t to_offset = 0;
    for (int i = 0; i < axes_; ++i) {
      index_[i] = 0;
    }
    do {
      copy(plane, from + static_cast<int64_t>(from_offset), to + static_cast<int64_t>(to_offset));
    } while (Next(&from_offset, &to_offset));
  }

  int axes_;
  int64_t item_;
  int64_t bytes_;
  PlaneAxis axis_[kMaxWalkAxes];
  int64_t index_[kMaxWalkAxes];
};

bool IsEmpty(const StridedCopy& copy) {
  for (int32_t i = 0; i < copy.ndim; ++i) {
    if (copy.shape[i] == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

void CopyStrided(const StridedCopy& copy) {
  if (IsEmpty(copy)) {
    return;
  }
  const Walk walk = MakeWalk(copy.ndim, copy.shape, copy.strides);
  const uint32_t item = copy.from_item_bits;
  if (item != copy.to_item_bits || item % 8 != 0) {
    CopyBits(copy, walk);
    return;
  }
  Job job(walk, item / 8);
  job.Run(static_cast<const char*>(copy.from), static_cast<char*>(copy.to));
}

}  // namespace dlbridge
