// SPDX-License-Identifier: Apache-2.0
// Which slots of memory the elements of a tensor cover. A slot is as long as an element, and slot 0
// is that of element (0,...,0): every element covers exactly one slot.
#ifndef DLBRIDGE_TOOL_SRC_COVERAGE_H_
#define DLBRIDGE_TOOL_SRC_COVERAGE_H_

#include <vector>

#include "tensor.h"
#include "wide.h"

namespace dlbridge::tool {

// The extents and strides of a valid layout; NULL strides are filled in.
struct Axis {
  Wide extent;
  Wide stride;
  // Do its indices lie at different bytes? Else it is broadcast, or has one index.
  bool moves() const { return extent > 1 && stride != 0; }
};
std::vector<Axis> AxesOf(const Tensor& tensor);

// The first and the last slot.
struct Slots {
  Wide first;
  Wide last;
  Wide count() const { return last - first + 1; }
};
Slots SlotsOf(const std::vector<Axis>& axes);

// The number of elements in each of `cells` parts of `slots_per_cell` slots, from the first slot
// on. Broadcast axes count once. Exact; empty if a bounded effort is not sufficient.
std::vector<double> CountElements(const std::vector<Axis>& axes, size_t cells, Wide slots_per_cell);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_COVERAGE_H_
