// SPDX-License-Identifier: Apache-2.0
// The copy of one plane: two axes, the one that the target is written along, and the one that the
// source lies along.
#ifndef DLBRIDGE_SRC_COPY_PLANE_COPY_H_
#define DLBRIDGE_SRC_COPY_PLANE_COPY_H_

#include <cstdint>

namespace dlbridge {

constexpr int64_t kLine = 64;  // bytes of a cache line

// One axis, in bytes.
struct PlaneAxis {
  int64_t extent;
  int64_t from;
  int64_t to;
};

struct Plane {
  PlaneAxis row;
  PlaneAxis column;  // the fastest of the target, whose elements are `column.to` bytes each
  int64_t bytes;     // of the whole copy
};

// Of a stride, whichever way it goes.
inline int64_t Distance(int64_t stride) { return stride < 0 ? -stride : stride; }

// Does the plane lie in the source the other way round than in the target?
inline bool Crosses(const Plane& plane) {
  return plane.row.extent > 1 && plane.row.from != 0 &&
         Distance(plane.row.from) < Distance(plane.column.from);
}

using CopyPlane = void (*)(const Plane& plane, const char* from, char* to);

// The fastest way for planes such as this one, wherever they begin. A plane that crosses has no
// negative `row.from`.
CopyPlane ChooseCopy(const Plane& plane);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_PLANE_COPY_H_
