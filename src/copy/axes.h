// SPDX-License-Identifier: Apache-2.0
// The axes of a copy in bytes, and a loop over those that no kernel has taken.
#ifndef DLBRIDGE_SRC_COPY_AXES_H_
#define DLBRIDGE_SRC_COPY_AXES_H_

#include <cstdint>

#include "copy/plane_copy.h"
#include "copy/walk.h"

namespace dlbridge {

// The axes from the slowest of the target. Elements that are adjacent in source and target are one
// item.
class Axes {
 public:
  Axes(const Walk& walk, int64_t element) : count_(walk.axes), item_(element * RunOf(walk)) {
    if (RunOf(walk) > 1) {
      --count_;
    }
    bytes_ = item_;
    reach_ = item_;
    for (int i = count_ - 1; i >= 0; --i) {
      axis_[i] = {walk.extent[i], walk.stride[i] * element, bytes_};
      bytes_ *= walk.extent[i];
      reach_ += axis_[i].from > 0 ? (axis_[i].extent - 1) * axis_[i].from : 0;
    }
  }

  int count() const { return count_; }
  int64_t item() const { return item_; }
  // Bytes of the target.
  int64_t bytes() const { return bytes_; }
  // Bytes of the source from the first element to the end of the highest one.
  int64_t reach() const { return reach_; }
  const PlaneAxis& operator[](int index) const { return axis_[index]; }

  PlaneAxis Take(int index) {
    const PlaneAxis taken = axis_[index];
    --count_;
    for (int i = index; i < count_; ++i) {
      axis_[i] = axis_[i + 1];
    }
    return taken;
  }
  PlaneAxis TakeLast() { return axis_[--count_]; }

  // Chooses the row axis of a plane: the fastest axis of the source if it is not the column. An
  // axis that fills a line of the cache is preferred, so that lines are used completely. If the
  // column is the fastest axis of the source, the next slower axis of the target. At least one axis
  // must be left.
  int RowAxis(const PlaneAxis& column) const {
    if (count_ == 1) {
      return 0;
    }
    const int filling = Nearest(column, true);
    const int any = filling >= 0 ? filling : Nearest(column, false);
    return any >= 0 ? any : count_ - 1;
  }

  // Calls `visit` with the source and the target of each step over the axes that are left.
  template <class Visit>
  void ForEach(const char* from, char* to, const Visit& visit) {
    for (int i = 0; i < count_; ++i) {
      index_[i] = 0;
    }
    uint64_t from_offset = 0;
    uint64_t to_offset = 0;
    do {
      visit(from + static_cast<int64_t>(from_offset), to + static_cast<int64_t>(to_offset));
    } while (Next(&from_offset, &to_offset));
  }

 private:
  // The axis with the shortest stride in the source, if it is shorter than the column's; -1 if
  // there is none.
  int Nearest(const PlaneAxis& column, bool fills_line) const {
    int nearest = -1;
    int64_t least = Distance(column.from);
    for (int i = count_ - 1; i >= 0; --i) {
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

  // Like Steps::Next, with an offset for source and target.
  bool Next(uint64_t* from, uint64_t* to) {
    for (int i = count_ - 1; i >= 0; --i) {
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

  int count_;
  int64_t item_;
  int64_t bytes_;
  int64_t reach_;
  PlaneAxis axis_[kMaxWalkAxes];
  int64_t index_[kMaxWalkAxes];
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_AXES_H_
