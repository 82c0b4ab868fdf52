// SPDX-License-Identifier: Apache-2.0
// Splits a copy into planes and loops over them.
#include "copy/strided_copy.h"

#include "copy/axes.h"
#include "copy/bit_copy.h"
#include "copy/group_copy.h"
#include "copy/permuted_copy.h"
#include "copy/plane_copy.h"
#include "copy/stream_copy.h"
#include "copy/vector_level.h"
#include "copy/walk.h"

namespace dlbridge {
namespace {

void CopyPlanes(Axes* axes, const char* from, char* to) {
  Plane plane = {{1, 0, 0}, axes->TakeLast(), axes->bytes()};
  if (axes->count() > 0) {
    plane.row = axes->Take(axes->RowAxis(plane.column));
  }
  if (plane.row.from < 0 && Crosses(plane)) {
    // Reverses the rows, so that the source stride is positive and the target stride negative.
    from += (plane.row.extent - 1) * plane.row.from;
    to += (plane.row.extent - 1) * plane.row.to;
    plane.row.from = -plane.row.from;
    plane.row.to = -plane.row.to;
  }
  const CopyPlane copy = ChooseCopy(plane);
  axes->ForEach(from, to, [&](const char* source, char* target) { copy(plane, source, target); });
}

void CopyAxes(Axes* axes, const char* from, char* to) {
  if (axes->count() == 0) {
    CopyContiguous(from, to, axes->item());
  } else if (!(DLBRIDGE_SHUFFLES != 0 &&
               (CopyPermuted(axes, from, to) || CopyGroups(axes, from, to)))) {
    CopyPlanes(axes, from, to);
  }
}

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
  Axes axes(walk, item / 8);
  CopyAxes(&axes, static_cast<const char*>(copy.from), static_cast<char*>(copy.to));
}

}  // namespace dlbridge
