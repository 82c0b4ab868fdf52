// SPDX-License-Identifier: Apache-2.0
#include "native/copy_plan.h"

#include "support/checked.h"

namespace dlbridge {
namespace {

// The largest row pitch that every driver accepts.
constexpr int64_t kMaxPitch = INT32_MAX;
constexpr int kNone = -1;

// Converts element strides to bytes and computes the target's. They fit, since the extent does.
void PlaceAxes(const Walk& walk, int64_t item, int axes, int64_t run_bytes, CopyPlan* plan) {
  plan->outer = walk;
  plan->outer.axes = axes;
  int64_t step = run_bytes;
  for (int i = axes - 1; i >= 0; --i) {
    plan->outer.stride[i] = walk.stride[i] * item;
    plan->to_stride[i] = step;
    step *= walk.extent[i];
  }
}

bool IsPitch(int64_t stride, int64_t least) { return stride >= least && stride <= kMaxPitch; }

// The longest axis whose steps can be the rows of a rectangle.
int FindRows(const CopyPlan& plan) {
  const auto bytes = static_cast<int64_t>(plan.first.bytes);
  int best = kNone;
  for (int i = 0; i < plan.outer.axes; ++i) {
    const bool fits = IsPitch(plan.outer.stride[i], bytes) && IsPitch(plan.to_stride[i], bytes);
    if (fits && (best == kNone || plan.outer.extent[i] > plan.outer.extent[best])) {
      best = i;
    }
  }
  return best;
}

// Drivers count the plane pitch in rows.
bool IsPlanePitch(int64_t stride, int64_t row_pitch, int64_t rows) {
  int64_t least = 0;
  return !MulOverflows(row_pitch, rows, &least) && stride >= least && stride % row_pitch == 0 &&
         stride / row_pitch <= kMaxPitch;
}

int FindPlanes(const CopyPlan& plan, int rows) {
  const int64_t count = plan.outer.extent[rows];
  int best = kNone;
  for (int i = 0; i < plan.outer.axes; ++i) {
    const bool fits = i != rows &&
                      IsPlanePitch(plan.outer.stride[i], plan.outer.stride[rows], count) &&
                      IsPlanePitch(plan.to_stride[i], plan.to_stride[rows], count);
    if (fits && (best == kNone || plan.outer.extent[i] > plan.outer.extent[best])) {
      best = i;
    }
  }
  return best;
}

void Remove(int axis, CopyPlan* plan) {
  --plan->outer.axes;
  for (int i = axis; i < plan->outer.axes; ++i) {
    plan->outer.extent[i] = plan->outer.extent[i + 1];
    plan->outer.stride[i] = plan->outer.stride[i + 1];
    plan->to_stride[i] = plan->to_stride[i + 1];
  }
}

// Moves the axes of rows and planes from the plan into its box.
void TakeRectangle(CopyPlan* plan) {
  const int rows = FindRows(*plan);
  if (rows == kNone) {
    return;
  }
  const int planes = FindPlanes(*plan, rows);
  CopyBox& box = plan->first;
  box.rows = static_cast<uint64_t>(plan->outer.extent[rows]);
  box.from_row_pitch = static_cast<uint64_t>(plan->outer.stride[rows]);
  box.to_row_pitch = static_cast<uint64_t>(plan->to_stride[rows]);
  if (planes != kNone) {
    box.planes = static_cast<uint64_t>(plan->outer.extent[planes]);
    box.from_plane_pitch = static_cast<uint64_t>(plan->outer.stride[planes]);
    box.to_plane_pitch = static_cast<uint64_t>(plan->to_stride[planes]);
    Remove(planes > rows ? planes : rows, plan);
    Remove(planes > rows ? rows : planes, plan);
  } else {
    Remove(rows, plan);
  }
}

int64_t CountBoxes(const Walk& outer) {
  int64_t count = 1;
  for (int i = 0; i < outer.axes; ++i) {
    if (MulOverflows(count, outer.extent[i], &count)) {
      return INT64_MAX;
    }
  }
  return count;
}

}  // namespace

bool PlanCopy(const Walk& walk, int64_t item, CopyPlan* out) {
  const bool run = walk.axes > 0 && walk.last_stride() == 1;
  const int64_t bytes = RunOf(walk) * item;
  out->first = {static_cast<uint64_t>(bytes), 1, 1, 0, 0, 0, 0, 0, 0};
  PlaceAxes(walk, item, walk.axes - (run ? 1 : 0), bytes, out);
  TakeRectangle(out);
  out->boxes = CountBoxes(out->outer);
  return out->boxes <= kMaxBoxes;
}

Boxes::Boxes(const CopyPlan& plan, uint64_t from_offset, uint64_t to_offset)
    : plan_(plan), box_(plan.first) {
  box_.from_offset = from_offset;
  box_.to_offset = to_offset;
}

// Unsigned: offsets before an address wrap, as addresses do.
void Boxes::Step(int axis, int64_t count) {
  const auto steps = static_cast<uint64_t>(count);
  box_.from_offset += steps * static_cast<uint64_t>(plan_.outer.stride[axis]);
  box_.to_offset += steps * static_cast<uint64_t>(plan_.to_stride[axis]);
}

bool Boxes::Next() {
  for (int i = plan_.outer.axes - 1; i >= 0; --i) {
    Step(i, 1);
    if (++index_[i] < plan_.outer.extent[i]) {
      return true;
    }
    Step(i, -plan_.outer.extent[i]);
    index_[i] = 0;
  }
  return false;
}

}  // namespace dlbridge
