// SPDX-License-Identifier: Apache-2.0
// The copy engine with each kind of vectors that the processor has, and with copies of megabytes,
// which it does in another way. The target `copy` calls it by the library's functions, with the
// processor's best vectors. A model lists the elements; no byte around the target may change.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

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
constexpr int64_t kManyBytes = 8192;
constexpr int64_t kUsualBytes = 1024;
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

bool IsWhole(const Layout& layout) {
  return layout.from_item == layout.to_item && layout.to_item % 8 == 0;
}

// The time of an input is that of its elements. Few inputs may be large, and few of those that
// libFuzzer makes from them: the sum of all bytes decides, which nearly every change changes.
int64_t TakeMost(uint8_t size, unsigned sum, const Layout& layout) {
  if (size == 255 && sum % 64 == 0 && IsWhole(layout)) {
    return kMostBytes;
  }
  return size >= 240 && sum % 8 == 0 ? kManyBytes : kUsualBytes;
}

Layout TakeLayout(Input* input) {
  Layout layout;
  const unsigned sum = std::accumulate(input->data(), input->data() + input->size(), 0U);
  const uint8_t size = input->Byte();
  TakeItem(input, &layout);
  const int64_t most = TakeMost(size, sum, layout);
  TakeShape(input, most * 8 / std::max(layout.to_item, layout.bits), &layout);
  TakeStrides(input, &layout);
  LimitReach(most, &layout);
  return layout;
}

// The target: elements of whole bytes with their padding, others with zeros between and after them.
std::vector<uint8_t> Expected(const Layout& layout, const uint8_t* from, size_t bytes) {
  std::vector<uint8_t> expected(bytes, 0);
  uint8_t* to = expected.data();
  if (IsWhole(layout)) {
    const int64_t item = layout.to_item / 8;
    ForEachElement(layout, [&](int64_t n, int64_t place) {
      std::memcpy(to + n * item, from + place * item, static_cast<size_t>(item));
    });
    return expected;
  }
  ForEachElement(layout, [&](int64_t n, int64_t place) {
    for (int64_t bit = 0; bit < layout.bits; ++bit) {
      const int64_t at = n * layout.to_item + bit;
      const unsigned value = Bit(from, place * layout.from_item + bit) << at % 8;
      to[at / 8] = static_cast<uint8_t>(to[at / 8] | value);
    }
  });
  return expected;
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
  const std::vector<uint8_t> expected = Expected(layout, from, bytes);
  Check("the bytes of the copy", bytes == 0 || std::memcmp(to, expected.data(), bytes) == 0);
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
