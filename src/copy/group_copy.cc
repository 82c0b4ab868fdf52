// SPDX-License-Identifier: Apache-2.0
#include "copy/group_copy.h"

#include "copy/byte_shuffle.h"
#include "copy/plane_copy.h"

namespace dlbridge {
namespace {

// Smaller copies take less time than the plan of a shuffle.
constexpr int64_t kLeastBytes = 1024;
// Size of a vector of the baseline: copying elements of this size one by one is as fast.
constexpr int64_t kVector = 16;
// Bytes of the source that are read again for each row of a plane that crosses: they stay in the
// first-level cache.
constexpr int64_t kChunk = 8192;

// The fastest axes of the target, as many as fit a vector.
struct Grouping {
  Group group;
  int axes;  // that remain outside; the last of them is the row
};

void MakeGrouping(const Axes& axes, int64_t width, Grouping* out) {
  Group& group = out->group;
  group = {axes.item(), axes.item(), 0, {}};
  out->axes = axes.count();
  while (out->axes > 1 && axes[out->axes - 1].extent <= width / group.bytes) {
    const PlaneAxis& axis = axes[--out->axes];
    group.axis[group.axes++] = axis;
    group.bytes *= axis.extent;
  }
}

// A number whose factors 1, 2, 4 and so on divide an element and all distances in the source.
int64_t GrainOf(const Axes& axes) {
  int64_t grain = axes.item();
  for (int i = 0; i < axes.count(); ++i) {
    grain |= axes[i].from;
  }
  return grain;
}

// True if squares in registers are faster: an axis with adjacent elements crosses the fastest axis
// of the target, and both are long enough.
bool IsTransposition(const Axes& axes, int64_t width) {
  const int64_t side = (width == 64 ? 32 : 16) / axes.item();
  const PlaneAxis& column = axes[axes.count() - 1];
  if (column.extent < side || Distance(column.from) == axes.item()) {
    return false;
  }
  for (int i = 0; i + 1 < axes.count(); ++i) {
    if (Distance(axes[i].from) == axes.item() && axes[i].extent >= side) {
      return true;
    }
  }
  return false;
}

// True if the kernels of plane_copy.cc stream the rows: reversed or every second element, of rows
// that no cache holds.
bool IsStreamed(const PlaneAxis& column, const Group& group, int64_t item) {
  return group.bytes == item && (column.from == -item || column.from == 2 * item) &&
         column.extent * item >= kHuge;
}

struct Rows {
  const Shuffle* shuffle;
  PlaneAxis row;     // rows of groups
  PlaneAxis column;  // groups of a row
  int64_t chunk;     // groups
  const char* source_end;
};

int64_t ChunkOf(const Shuffle& shuffle, const PlaneAxis& row, const PlaneAxis& column) {
  if (row.extent == 1 || Distance(row.from) >= Distance(column.from)) {
    return column.extent;
  }
  const int64_t vectors = kChunk / Distance(shuffle.from_step);
  return (vectors > 0 ? vectors : 1) * shuffle.groups;
}

void CopyRows(const Rows& rows, const char* from, char* to) {
  const int64_t extent = rows.column.extent;
  for (int64_t first = 0; first < extent; first += rows.chunk) {
    int64_t begin = first;
    int64_t count = extent - begin < rows.chunk ? extent - begin : rows.chunk;
    if (count < rows.shuffle->groups) {  // copies some groups of the previous chunk again
      begin = extent - rows.shuffle->groups;
      count = rows.shuffle->groups;
    }
    RunShuffle(*rows.shuffle, rows.row, count, from + begin * rows.column.from,
               to + begin * rows.column.to, rows.source_end);
  }
}

}  // namespace

bool CopyGroups(Axes* axes, const char* from, char* to) {
  const int64_t width = ShuffleWidth(GrainOf(*axes));
  if (axes->bytes() < kLeastBytes || axes->item() > width / 2 || axes->item() == kVector ||
      IsTransposition(*axes, width)) {
    return false;
  }
  Grouping grouping;
  MakeGrouping(*axes, width, &grouping);
  const PlaneAxis column = (*axes)[grouping.axes - 1];
  Shuffle shuffle;
  if (IsStreamed(column, grouping.group, axes->item()) ||
      !PlanShuffle(grouping.group, {column.extent, column.from}, width, &shuffle)) {
    return false;
  }
  const char* source_end = from + axes->reach();
  while (axes->count() >= grouping.axes) {
    axes->TakeLast();
  }
  PlaneAxis row = {1, 0, 0};
  if (axes->count() > 0) {
    row = axes->Take(axes->RowAxis(column));
  }
  const Rows rows = {&shuffle, row, column, ChunkOf(shuffle, row, column), source_end};
  axes->ForEach(from, to,
                [&](const char* source, char* target) { CopyRows(rows, source, target); });
  return true;
}

}  // namespace dlbridge
