// SPDX-License-Identifier: Apache-2.0
// The copy engine with each kind of vectors that the processor has, and with copies of megabytes,
// which it does in another way. The target `copy` calls it by the library's functions, with the
// processor's best vectors. A model lists the elements; no byte around the target may change.
#include <algorithm>
#include <cstring>

#include "copy/strided_copy.h"
#include "copy/vector_level.h"
#include "fuzz/model/elements.h"
#include "fuzz/support/check.h"
#include "fuzz/support/fenced.h"
#include "fuzz/support/input.h"

namespace dlbridge_fuzz {
namespace {

using dlbridge::VectorLevel;

constexpr size_t kArena = size_t{6} << 20;
constexpr int64_t kMostBytes = int64_t{5} << 20;  // of the target and of the source's reach
constexpr int64_t kUsualBytes = 8192;
constexpr uint8_t kUntouched = 0xA5;
constexpr size_t kBeside = 256;

struct World {
  Fenced source{kArena};
  Fenced target{kArena};

  World() {
    uint32_t state = 12345;
    for (uint8_t* at = source.begin(); at < source.end(); ++at) {
      state = state * 1664525 + 1013904223;
      *at = static_cast<uint8_t>(state >> 24);
    }
    std::memset(target.begin(), kUntouched, kArena);
  }
};

World& TheWorld() {
  static World world;
  return world;
}

using Layout = ElementLayout;

Layout TakeLayout(Input* input) {
  Layout layout;
  const bool large = input->OneIn(64);
  TakeItem(input, &layout);
  // The model lists single bits slowly.
  const bool whole = layout.from_item == layout.to_item && layout.to_item % 8 == 0;
  const int64_t most = large && whole ? kMostBytes : kUsualBytes;
  TakeShape(input, most * 8 / std::max(layout.to_item, layout.bits), &layout);
  TakeStrides(input, &layout);
  LimitReach(most, &layout);
  return layout;
}

void CompareWhole(const Layout& layout, const uint8_t* from, const uint8_t* to) {
  const int64_t item = layout.to_item / 8;
  ForEachElement(layout, [&](int64_t n, int64_t place) {
    Check("the bytes of an element",
          std::memcmp(from + place * item, to + n * item, static_cast<size_t>(item)) == 0);
  });
}

void CompareBits(const Layout& layout, const uint8_t* from, const uint8_t* to) {
  ForEachElement(layout, [&](int64_t n, int64_t place) {
    for (int64_t bit = 0; bit < layout.to_item; ++bit) {
      const unsigned expected = bit < layout.bits ? Bit(from, place * layout.from_item + bit) : 0U;
      CheckEqual("a bit of an element", expected, Bit(to, n * layout.to_item + bit));
    }
  });
  const int64_t end = layout.count * layout.to_item;
  for (int64_t bit = end; bit % 8 != 0; ++bit) {
    CheckEqual("the bits after the last element", 0U, Bit(to, bit));
  }
}

void CheckUntouched(const uint8_t* from, const uint8_t* to) {
  Check("no byte around the copy is changed",
        std::all_of(from, to, [](uint8_t byte) { return byte == kUntouched; }));
}

void Run(Input* input) {
  const auto level = static_cast<VectorLevel>(1 + input->Below(4));
  const Layout layout = TakeLayout(input);
  const World& world = TheWorld();
  const int64_t before = -FloorBytes(-layout.low * layout.from_item);
  const int64_t after = -FloorBytes(-(layout.high + 1) * layout.from_item);
  const uint8_t* from = world.source.begin() +
                        world.source.TakePlace(input, static_cast<size_t>(before + after)) + before;
  const auto bytes = static_cast<size_t>(-FloorBytes(-layout.count * layout.to_item));
  uint8_t* to = world.target.begin() + world.target.TakePlace(input, bytes);
  dlbridge::LimitVectorLevel(level);
  dlbridge::CopyStrided({static_cast<int32_t>(layout.shape.size()), layout.shape.data(),
                         layout.strides.data(), static_cast<uint32_t>(layout.bits),
                         static_cast<uint32_t>(layout.from_item),
                         static_cast<uint32_t>(layout.to_item), from, to});
  if (layout.from_item == layout.to_item && layout.to_item % 8 == 0) {
    CompareWhole(layout, from, to);
  } else {
    CompareBits(layout, from, to);
  }
  CheckUntouched(std::max(world.target.begin(), to - kBeside), to);
  CheckUntouched(to + bytes, std::min(world.target.end(), to + bytes + kBeside));
  std::memset(to, kUntouched, bytes);
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  return 0;
}
