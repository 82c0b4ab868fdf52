// SPDX-License-Identifier: Apache-2.0
// Layouts of real memory, and a list of their elements: what a copy must read and write, slowly.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_ELEMENTS_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "fuzz/support/input.h"

namespace dlbridge_fuzz {

struct ElementLayout {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t bits = 8;
  int64_t from_item = 8;
  int64_t to_item = 8;
  int64_t count = 1;
  int64_t low = 0;  // elements from the lowest to the first one
  int64_t high = 0;
};

// ------------------------------------------------------------------------------------- the input

inline void TakeItem(Input* input, ElementLayout* layout) {
  layout->bits =
      input->Pick<int64_t>({8,   16,  32,  64, 128, 8, 16, 32, 64, 24, 40, 48, 72, 96, 136,
                            192, 256, 320, 4,  2,   1, 3,  5,  6,  7,  12, 20, 57, 65, 120});
  const int64_t padded = (layout->bits + 7) / 8 * 8;
  layout->from_item = input->OneIn(3) ? layout->bits : padded;
  layout->to_item = input->OneIn(3) ? layout->bits : padded;
}

inline void TakeShape(Input* input, int64_t most, ElementLayout* layout) {
  const auto ndim = static_cast<size_t>(input->Below(6));
  int64_t left = most;
  for (size_t i = 0; i < ndim; ++i) {
    const uint8_t choice = input->Byte();
    int64_t extent = choice < 32 ? 1 + choice % 4 : choice;
    if (choice >= 200) {
      extent = static_cast<int64_t>(choice >= 224 && most > 65536 ? input->Any<uint32_t>() % 4000000
                                                                  : input->Any<uint16_t>() % 3000);
    }
    extent = std::min(extent, left);
    layout->shape.push_back(extent);
    layout->count *= extent;
    left /= std::max<int64_t>(extent, 1);
  }
}

// The strides of a compact array whose axes are in another order, some of them with gaps, reversed
// or repeated.
inline void TakeStrides(Input* input, ElementLayout* layout) {
  std::vector<size_t> order(layout->shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[input->Below(i)]);
  }
  layout->strides.resize(order.size());
  int64_t stride = 1;
  for (const size_t axis : order) {
    const uint8_t change = input->Byte();
    stride += change % 8 == 1 ? change / 32 : 0;
    stride *= change % 16 == 4 ? 2 : 1;
    layout->strides[axis] = change % 8 == 2 ? -stride : (change % 8 == 3 ? 0 : stride);
    stride *= std::max<int64_t>(layout->shape[axis], 1);
  }
}

// Sets strides to 0 until the source fits.
inline void LimitReach(int64_t most, ElementLayout* layout) {
  for (size_t axis = 0; axis <= layout->shape.size(); ++axis) {
    layout->low = layout->high = 0;
    for (size_t i = 0; i < layout->shape.size(); ++i) {
      const int64_t reach = std::max<int64_t>(layout->shape[i] - 1, 0) * layout->strides[i];
      (reach < 0 ? layout->low : layout->high) += std::abs(reach);
    }
    if ((layout->low + layout->high + 1) * layout->from_item <= 8 * most) {
      return;
    }
    layout->strides[axis] = 0;
  }
}

// Calls `use` with the number of each element in row-major order and its place in the source.
template <class Use>
void ForEachElement(const ElementLayout& layout, const Use& use) {
  std::vector<int64_t> index(layout.shape.size(), 0);
  int64_t place = 0;
  for (int64_t n = 0; n < layout.count; ++n) {
    use(n, place);
    for (size_t i = index.size(); i-- > 0;) {
      place += layout.strides[i];
      if (++index[i] < layout.shape[i]) {
        break;
      }
      place -= layout.strides[i] * layout.shape[i];
      index[i] = 0;
    }
  }
}

inline int64_t FloorBytes(int64_t bits) { return bits >= 0 ? bits / 8 : -((-bits + 7) / 8); }

inline unsigned Bit(const uint8_t* bytes, int64_t at) {
  const int64_t byte = FloorBytes(at);
  return bytes[byte] >> (at - 8 * byte) & 1U;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_ELEMENTS_H_
