// SPDX-License-Identifier: Apache-2.0
// The copy of one plane, that is, two axes: the fastest axis of the target and, where possible, the
// fastest axis of the source.
#ifndef DLBRIDGE_SRC_COPY_PLANE_COPY_H_
#define DLBRIDGE_SRC_COPY_PLANE_COPY_H_

#include <cstdint>

namespace dlbridge {

constexpr int64_t kLine = 64;  // bytes of a cache line
constexpr int64_t kPage = 4096;
// From this size in bytes the data is in no cache of the core, and lines are prefetched.
constexpr int64_t kFar = 4 << 20;
// From this size in bytes the target will be in no cache when it is read.
constexpr int64_t kHuge = 32 << 20;

// One axis: its extent, and its strides in source and target in bytes.
struct PlaneAxis {
  int64_t extent;
  int64_t from;
  int64_t to;
};

struct Plane {
  PlaneAxis row;
  PlaneAxis column;  // the fastest axis of the target; an element has `column.to` bytes
  int64_t bytes;     // size of the whole copy, of which the plane is a part
};

// The absolute value of a stride.
inline int64_t Distance(int64_t stride) { return stride < 0 ? -stride : stride; }

// True if the row axis is faster than the column axis in the source: the copy transposes.
inline bool Crosses(const Plane& plane) {
  return plane.row.extent > 1 && plane.row.from != 0 &&
         Distance(plane.row.from) < Distance(plane.column.from);
}

using CopyPlane = void (*)(const Plane& plane, const char* from, char* to);

// The fastest kernel for planes of this form. Where the plane crosses, `row.from` must not be
// negative.
CopyPlane ChooseCopy(const Plane& plane);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_PLANE_COPY_H_
