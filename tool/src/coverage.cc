// SPDX-License-Identifier: Apache-2.0
#include "coverage.h"

#include <algorithm>

namespace dlbridge::tool {

namespace {

constexpr int kMaxSteps = 200000;

class Counter {
 public:
  Counter(std::vector<Axis> axes, size_t cells, Wide slots_per_cell)
      : axes_(std::move(axes)), cells_(cells), slots_per_cell_(slots_per_cell) {
    blocks_.resize(axes_.size() + 1, {1, 1});
    for (size_t i = axes_.size(); i-- != 0;) {
      blocks_[i].span = blocks_[i + 1].span + (axes_[i].extent - 1) * axes_[i].stride;
      blocks_[i].elements = blocks_[i + 1].elements * static_cast<double>(axes_[i].extent);
    }
  }

  std::vector<double> Run() {
    Place(0, 0);
    return steps_ > kMaxSteps ? std::vector<double>() : cells_;
  }

 private:
  // The slots and elements of the axes from one on.
  struct Block {
    Wide span;
    double elements;
  };

  Wide CellAt(Wide slot) const { return slot / slots_per_cell_; }

  // Adds the elements of the axes from `axis` on, whose first one is in `slot`.
  void Place(size_t axis, Wide slot) {
    const Block& block = blocks_[axis];
    if (++steps_ > kMaxSteps) {
      return;
    }
    if (CellAt(slot) == CellAt(slot + block.span - 1)) {
      cells_[static_cast<size_t>(CellAt(slot))] += block.elements;
      return;
    }
    for (Wide i = 0; i < axes_[axis].extent && steps_ <= kMaxSteps;) {
      i += PlaceSome(axis, slot + i * axes_[axis].stride, axes_[axis].extent - i);
    }
  }

  // Adds the indices of an axis whose blocks lie in the cell of `slot`, or one index whose block
  // crosses its end. Returns their number, at most `left`.
  Wide PlaceSome(size_t axis, Wide slot, Wide left) {
    const Block& inner = blocks_[axis + 1];
    const Wide end = (CellAt(slot) + 1) * slots_per_cell_;
    if (slot + inner.span > end) {
      Place(axis + 1, slot);
      return 1;
    }
    ++steps_;
    const Wide whole = std::min(left, (end - inner.span - slot) / axes_[axis].stride + 1);
    cells_[static_cast<size_t>(CellAt(slot))] += inner.elements * static_cast<double>(whole);
    return whole;
  }

  std::vector<Axis> axes_;
  std::vector<Block> blocks_;
  std::vector<double> cells_;
  Wide slots_per_cell_;
  int steps_ = 0;
};

}  // namespace

std::vector<Axis> AxesOf(const Tensor& tensor) {
  const auto count = static_cast<size_t>(tensor.Axes());
  std::vector<Axis> axes(count);
  Wide compact = 1;
  for (size_t i = count; i-- != 0;) {
    axes[i].extent = (*tensor.shape)[i];
    axes[i].stride = tensor.strides ? Wide{(*tensor.strides)[i]} : compact;
    compact *= axes[i].extent;
  }
  return axes;
}

Slots SlotsOf(const std::vector<Axis>& axes) {
  Slots slots = {0, 0};
  for (const Axis& axis : axes) {
    if (axis.moves()) {
      (axis.stride < 0 ? slots.first : slots.last) += (axis.extent - 1) * axis.stride;
    }
  }
  return slots;
}

std::vector<double> CountElements(const std::vector<Axis>& axes, size_t cells,
                                  Wide slots_per_cell) {
  std::vector<Axis> moving;
  for (const Axis& axis : axes) {
    if (axis.moves()) {
      moving.push_back({axis.extent, axis.stride < 0 ? -axis.stride : axis.stride});
    }
  }
  std::stable_sort(moving.begin(), moving.end(),
                   [](const Axis& one, const Axis& other) { return one.stride > other.stride; });
  return Counter(std::move(moving), cells, slots_per_cell).Run();
}

}  // namespace dlbridge::tool
