// SPDX-License-Identifier: Apache-2.0
// The copy engine compared with an element-wise copy; unreadable pages surround source and target.
#include "copy/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "copy/vector_level.h"
#include "support/pages.h"
#include "support/scale.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyStrided;
using Axes = std::vector<int64_t>;

// Memory between two unreadable pages.
class Fenced {
 public:
  explicit Fenced(size_t size) : size_((size + PageSize() - 1) / PageSize() * PageSize()) {
    const size_t page = PageSize();
    base_ = static_cast<unsigned char*>(MapPages(size_ + 2 * page, Access::kWrite));
    EXPECT_NE(base_, nullptr);
    EXPECT_TRUE(ProtectPages(base_, page, Access::kNone));
    EXPECT_TRUE(ProtectPages(base_ + page + size_, page, Access::kNone));
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { UnmapPages(base_, size_ + 2 * PageSize()); }

  unsigned char* begin() { return base_ + PageSize(); }
  unsigned char* end() { return begin() + size_; }
  // `bytes` bytes that start after the first page or end before the second.
  unsigned char* Place(size_t bytes, bool at_end) {
    EXPECT_LE(bytes, size_);
    return at_end ? end() - bytes : begin();
  }

 private:
  size_t size_;
  unsigned char* base_;
};

struct Layout {
  Axes shape;
  Axes strides;
  uint32_t bits = 32;
  bool from_padded = true;
  bool to_padded = true;

  uint32_t ItemBits(bool padded) const { return padded ? (bits + 7) / 8 * 8 : bits; }
  uint32_t from_item() const { return ItemBits(from_padded); }
  uint32_t to_item() const { return ItemBits(to_padded); }
  int64_t Count() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
  }
  size_t TargetBytes() const { return (static_cast<size_t>(Count()) * to_item() + 7) / 8; }
  // Elements from the lowest to the first, and from the first to one past the highest.
  std::pair<int64_t, int64_t> Reach() const {
    std::pair<int64_t, int64_t> reach = {0, 1};
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t length = (shape[i] - 1) * strides[i];
      (length < 0 ? reach.first : reach.second) += length < 0 ? -length : length;
    }
    return reach;
  }
};

std::string Show(const Layout& layout) {
  return "shape " + testing::PrintToString(layout.shape) + ", strides " +
         testing::PrintToString(layout.strides) + ", bits " + std::to_string(layout.bits) +
         (layout.from_padded ? ", padded" : ", packed") +
         (layout.to_padded ? " to padded" : " to packed");
}

bool BitOf(const unsigned char* origin, int64_t bit) {
  const int64_t byte = bit >= 0 ? bit / 8 : -((7 - bit) / 8);
  return ((origin[byte] >> (bit - byte * 8)) & 1) != 0;
}

// Calls `use(n, offset)` for the n-th element of the target and its offset in the source.
template <class Use>
void ForEachElement(const Layout& layout, const Use& use) {
  Axes index(layout.shape.size(), 0);
  const int64_t count = layout.Count();
  for (int64_t n = 0, offset = 0; n < count; ++n) {
    use(n, offset);
    for (size_t i = index.size(); i-- > 0;) {
      offset += layout.strides[i];
      if (++index[i] < layout.shape[i]) {
        break;
      }
      offset -= layout.strides[i] * layout.shape[i];
      index[i] = 0;
    }
  }
}

// With a constant size, memcpy is no call, which a sanitizer would check.
template <size_t kSize>
void CopyElements(const Layout& layout, const unsigned char* from, unsigned char* to) {
  constexpr int64_t kBytes = kSize;
  ForEachElement(layout, [&](int64_t n, int64_t offset) {
    std::memcpy(to + n * kBytes, from + offset * kBytes, kSize);
  });
}

void CopyElements(const Layout& layout, int64_t item, const unsigned char* from,
                  unsigned char* to) {
  switch (item) {
    case 1:
      return CopyElements<1>(layout, from, to);
    case 2:
      return CopyElements<2>(layout, from, to);
    case 4:
      return CopyElements<4>(layout, from, to);
    case 8:
      return CopyElements<8>(layout, from, to);
    case 16:
      return CopyElements<16>(layout, from, to);
    default:
      ForEachElement(layout, [&](int64_t n, int64_t offset) {
        std::memcpy(to + n * item, from + offset * item, static_cast<size_t>(item));
      });
  }
}

std::vector<unsigned char> Expected(const Layout& layout, const unsigned char* from) {
  std::vector<unsigned char> bytes(layout.TargetBytes(), 0);
  const int64_t from_item = layout.from_item();
  const int64_t to_item = layout.to_item();
  if (from_item == to_item && from_item % 8 == 0) {
    CopyElements(layout, from_item / 8, from, bytes.data());
    return bytes;
  }
  ForEachElement(layout, [&](int64_t n, int64_t offset) {
    for (int64_t bit = 0; bit < layout.bits; ++bit) {
      const int64_t at = n * to_item + bit;
      bytes[static_cast<size_t>(at / 8)] |=
          static_cast<unsigned char>(BitOf(from, offset * from_item + bit) << (at % 8));
    }
  });
  return bytes;
}

using dlbridge::VectorLevel;

constexpr VectorLevel kLevels[] = {VectorLevel::kNone, VectorLevel::kShuffle, VectorLevel::kAvx2,
                                   VectorLevel::kAvx512Vbmi};

// Calls `use` with each kind of vectors that this processor has.
template <class Use>
void ForEachLevel(const Use& use) {
  for (const VectorLevel level : kLevels) {
    if (dlbridge::LimitVectorLevel(level) == level) {
      use("level " + std::to_string(static_cast<int>(level)));
    }
  }
  dlbridge::LimitVectorLevel(VectorLevel::kAvx512Vbmi);
}

// Source and target, filled once, and the layouts that are copied between them, with each kind of
// vectors that this processor has.
class StridedCopyTest : public testing::Test {
 protected:
  static constexpr size_t kSourceBytes = 12 << 20;
  static constexpr size_t kTargetBytes = 7 << 20;
  static constexpr unsigned char kUnwritten = 0xa5;

  StridedCopyTest() : source_(kSourceBytes), target_(kTargetBytes) {
    Random random(21);
    for (unsigned char* at = source_.begin(); at < source_.end(); at += 8) {
      const uint64_t bits = random.Bits();
      std::memcpy(at, &bits, sizeof bits);
    }
    EXPECT_TRUE(ProtectPages(source_.begin(), kSourceBytes, Access::kRead));
  }

  static size_t SourceBytes(const Layout& layout, int64_t* below) {
    const auto reach = layout.Reach();
    *below = (reach.first * layout.from_item() + 7) / 8;
    return static_cast<size_t>(*below + (reach.second * layout.from_item() + 7) / 8);
  }

  // With source and target at either end of their memory. Only one end touches an unreadable page;
  // the other end is tested in the second round.
  void Check(const Layout& layout) {
    for (const bool at_end : {false, true}) {
      // Large tensors take most of the time.
      if (!at_end && Scale() < 1 && layout.Count() > 10000) {
        continue;
      }
      CheckAt(layout, at_end);
      if (HasFailure()) {
        FAIL() << Show(layout) << (at_end ? ", at the end" : ", at the beginning");
      }
    }
  }

 private:
  void CheckAt(const Layout& layout, bool at_end) {
    int64_t below = 0;
    const size_t bytes = SourceBytes(layout, &below);
    const unsigned char* from = source_.Place(bytes, at_end) + below;
    const std::vector<unsigned char> expected = Expected(layout, from);
    unsigned char* to = target_.Place(expected.size(), at_end);
    // Bytes beside the target must not change.
    constexpr size_t kBeside = 256;
    unsigned char* beside = at_end ? to - kBeside : to + expected.size();
    ForEachLevel([&](const std::string& level) {
      std::memset(beside, kUnwritten, kBeside);
      std::memset(to, kUnwritten, expected.size());
      CopyStrided({static_cast<int32_t>(layout.shape.size()), layout.shape.data(),
                   layout.strides.data(), layout.bits, layout.from_item(), layout.to_item(), from,
                   to});
      ASSERT_EQ(std::memcmp(to, expected.data(), expected.size()), 0) << level;
      ASSERT_EQ(std::count(beside, beside + kBeside, kUnwritten), static_cast<ptrdiff_t>(kBeside))
          << level;
    });
  }

  Fenced source_;
  Fenced target_;
};

// Like a compact tensor with the axes in any order, with gaps, reversed or repeated.
Axes PickStrides(Random* random, const Axes& shape) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[static_cast<size_t>(random->Between(0, static_cast<int64_t>(i)))]);
  }
  Axes strides(shape.size());
  int64_t product = 1;
  const int64_t odds = random->Between(2, 12);
  for (const size_t axis : order) {
    product = random->OneIn(odds) ? product * 2 : random->OneIn(odds) ? product + 3 : product;
    const bool none = random->OneIn(2 * odds);
    strides[axis] = none ? 0 : random->OneIn(odds) ? -product : product;
    product *= none ? 1 : shape[axis];
  }
  return strides;
}

Layout PickLayout(Random* random, int64_t elements) {
  const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129};
  Layout layout;
  const int64_t ndim = random->Between(0, 6);
  for (int64_t i = 0, count = 1; i < ndim; ++i) {
    const int64_t extent = random->Pick(extents);
    layout.shape.push_back(count * extent <= elements ? extent : 1);
    count *= layout.shape.back();
  }
  layout.strides = PickStrides(random, layout.shape);
  return layout;
}

TEST_F(StridedCopyTest, OfWholeBytesAgreesWithElementwise) {
  Random random(22);
  const uint32_t sizes[] = {1, 2, 4, 8,  16, 1,  2,  4,  8,  3,  5,
                            6, 7, 9, 12, 15, 17, 24, 31, 32, 33, 48};
  for (size_t round = 0; round < Scaled(6000); ++round) {
    Layout layout = PickLayout(&random, random.OneIn(8) ? 20000 : 1500);
    layout.bits = 8 * random.Pick(sizes);
    const auto reach = layout.Reach();
    if ((reach.first + reach.second) * layout.bits / 8 < static_cast<int64_t>(kSourceBytes) &&
        layout.TargetBytes() + 256 < kTargetBytes) {
      ASSERT_NO_FATAL_FAILURE(Check(layout));
    }
  }
}

TEST_F(StridedCopyTest, OfBitsAgreesWithElementwise) {
  Random random(23);
  const uint32_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 33, 56, 57, 63, 64, 65, 100, 120, 510};
  for (size_t round = 0; round < Scaled(1500); ++round) {
    Layout layout = PickLayout(&random, 300);
    layout.bits = random.Pick(widths);
    for (const int padding : {0, 1, 2, 3}) {
      layout.from_padded = (padding & 1) != 0;
      layout.to_padded = (padding & 2) != 0;
      ASSERT_NO_FATAL_FAILURE(Check(layout));
    }
  }
}

// Every tile and square size, one less and one more, in each direction of either axis.
TEST_F(StridedCopyTest, OfPlanesInEachDirection) {
  const int64_t extents[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 65, 129};
  const uint32_t sizes[] = {1, 2, 4, 8, 16, 3, 12, 24, 40};
  Random random(24);
  for (const uint32_t size : sizes) {
    for (const int64_t rows : extents) {
      for (const int64_t columns : extents) {
        if (!random.OneIn(Scale() < 1 ? 50 : 1)) {
          continue;
        }
        const int64_t pitch = rows + random.Between(0, 3);
        for (const int64_t row : {1, -1, 2}) {
          for (const int64_t column : {pitch * 2, -pitch * 2}) {
            ASSERT_NO_FATAL_FAILURE(Check({{rows, columns}, {row, column}, 8 * size}));
          }
        }
      }
    }
  }
}

// Packed elements that are adjacent across the rows of the target, from even and odd places.
TEST_F(StridedCopyTest, OfPackedPlanes) {
  const int64_t rows[] = {8, 9, 15, 16, 17, 127, 128, 129, 258};
  const int64_t columns[] = {8, 16, 120, 128, 136, 264};
  for (const uint32_t bits : {1U, 2U, 4U}) {
    for (const int64_t row : rows) {
      for (const int64_t column : columns) {
        for (const int64_t pitch : {row, row + 1, row + 8, -row, -row - 1}) {
          // Large planes, which take most of the time, lie packed and reversed with a gap.
          const bool left_out = row > 100 && column > 100 && pitch != row && pitch != -row - 1;
          if (left_out && Scale() < 1) {
            continue;
          }
          ASSERT_NO_FATAL_FAILURE(Check({{row, column}, {1, pitch}, bits, false, false}));
          ASSERT_NO_FATAL_FAILURE(
              Check({{2, row, column}, {row, 1, pitch * 3}, bits, false, false}));
        }
      }
    }
  }
}

TEST_F(StridedCopyTest, OfRowsWithEachStep) {
  for (const uint32_t size : {1, 2, 3, 4, 8, 12, 16, 24, 40}) {
    for (int64_t length = 1; length <= 70; ++length) {
      for (const int64_t step : {1, -1, 2, -2, 0, 3}) {
        ASSERT_NO_FATAL_FAILURE(Check({{length}, {step}, 8 * size}));
        ASSERT_NO_FATAL_FAILURE(Check({{3, length}, {length * 3 + 1, step}, 8 * size}));
        ASSERT_NO_FATAL_FAILURE(Check({{2, length}, {0, step}, 8 * size}));
      }
    }
  }
}

// Pixels: channels to planes, planes to channels, some of the channels, in either order.
TEST_F(StridedCopyTest, OfChannelsAgreesWithElementwise) {
  Random random(25);
  const uint32_t sizes[] = {1, 1, 2, 4, 8, 3, 16};
  for (size_t round = 0; round < Scaled(400); ++round) {
    const int64_t channels = random.Between(1, 17);
    const int64_t step = channels + (random.OneIn(3) ? random.Between(0, 4) : 0);
    const int64_t width = random.OneIn(8) ? random.Between(1, 20) : random.Between(20, 700);
    const int64_t height = random.Between(1, 5);
    const int64_t pitch = width + (random.OneIn(2) ? random.Between(0, 9) : 0);
    const int64_t sign = random.OneIn(3) ? -1 : 1;
    const uint32_t bits = 8 * random.Pick(sizes);
    const int64_t plane = pitch * height;
    const Layout layouts[] = {
        {{channels, height, width}, {sign, pitch * step, step}, bits},
        {{height, width, channels}, {pitch, sign, plane}, bits},
        {{height, width, channels}, {pitch * step, step, sign}, bits},
        {{height, width, channels}, {pitch * step, step, -sign}, bits},
        {{2, width, channels}, {0, 2 * step, 2}, bits},
        {{width, height, channels}, {step, pitch * step, sign}, bits},
    };
    for (const Layout& layout : layouts) {
      ASSERT_NO_FATAL_FAILURE(Check(layout));
    }
  }
}

// Source and target begin and end at any place of a vector.
TEST_F(StridedCopyTest, OfLongRowsWithEachStep) {
  for (const uint32_t size : {1, 2, 4, 8}) {
    for (int64_t length = 1000; length < 1070; length += Scale() < 1 ? 13 : 1) {
      for (const int64_t step : {1, -1, 2, -2, 3, -3, 4, 5, 7, 8, -9, 15, 16, 17, 33}) {
        ASSERT_NO_FATAL_FAILURE(Check({{length}, {step}, 8 * size}));
        ASSERT_NO_FATAL_FAILURE(Check({{2, length}, {1, step}, 8 * size}));
      }
    }
  }
}

// Many rows of few elements, so that the last vector of a row is copied with the first one.
TEST_F(StridedCopyTest, OfShortRowsWithEachStep) {
  for (const uint32_t size : {1, 2, 4, 8, 12, 24}) {
    for (int64_t length = 2; length <= 70; length += Scale() < 1 ? 5 : 1) {
      for (const int64_t step : {-1, 2, -2, 3, -3, 4, 5, -7}) {
        const int64_t pitch = length * (step < 0 ? -step : step);
        const int64_t rows = 2048 / (length * size) + 2;
        ASSERT_NO_FATAL_FAILURE(Check({{rows, length}, {pitch, step}, 8 * size}));
        ASSERT_NO_FATAL_FAILURE(Check({{rows, length}, {-pitch - 1, step}, 8 * size}));
        ASSERT_NO_FATAL_FAILURE(Check({{rows, 3, length}, {3 * pitch, 1, step}, 8 * size}));
      }
    }
  }
}

// Rows of one element, of each length around the sizes of the vectors, at each place of a line.
TEST_F(StridedCopyTest, OfRepeatedElements) {
  for (const uint32_t size : {1, 2, 4, 8, 16, 3, 12, 24, 40}) {
    for (int64_t length = 1; length < 600 / size + 2; length += Scale() < 1 ? 7 : 1) {
      ASSERT_NO_FATAL_FAILURE(Check({{length}, {0}, 8 * size}));
      ASSERT_NO_FATAL_FAILURE(Check({{5, length}, {1, 0}, 8 * size}));
      ASSERT_NO_FATAL_FAILURE(Check({{2, 3, length}, {1, -2, 0}, 8 * size}));
      ASSERT_NO_FATAL_FAILURE(Check({{3, length, 5}, {5, 0, 1}, 8 * size}));
    }
  }
}

// Runs of more bytes than an element has.
TEST_F(StridedCopyTest, OfRuns) {
  for (int64_t length = 33; length < 420; length += Scale() < 1 ? 17 : 1) {
    for (const int64_t gap : {0, 1, 5, -1}) {
      ASSERT_NO_FATAL_FAILURE(Check({{7, length}, {length + gap, 1}, 8}));
      ASSERT_NO_FATAL_FAILURE(Check({{3, 2, length}, {-length - gap, 4 * length, 1}, 8}));
    }
  }
}

// Runs that overlap in the source, near the end of a vector.
TEST_F(StridedCopyTest, OfOverlappingRuns) {
  for (int64_t step = 1; step < 140; ++step) {
    ASSERT_NO_FATAL_FAILURE(Check({{400, 3}, {1, 1}, 8}));
    ASSERT_NO_FATAL_FAILURE(Check({{400, 2, 3}, {1, step, 1}, 8}));
    ASSERT_NO_FATAL_FAILURE(Check({{400, 2, 3}, {-1, step, 1}, 16}));
  }
}

// Several short axes in another order, some reversed: they are rows or columns together, and long
// ones are cut into parts.
TEST_F(StridedCopyTest, OfPermutedShortAxes) {
  Random random(26);
  const int64_t extents[] = {2, 3, 4, 5, 7, 8, 11, 16, 17, 31, 64, 65, 130, 257, 300};
  const uint32_t sizes[] = {1, 2, 4, 8, 16};
  for (size_t round = 0; round < Scaled(400); ++round) {
    const int64_t ndim = random.Between(2, 6);
    Layout layout;
    layout.bits = 8 * random.Pick(sizes);
    for (int64_t i = 0, count = 1; i < ndim; ++i) {
      const int64_t extent = random.Pick(extents);
      layout.shape.push_back(count * extent <= 40000 ? extent : 2);
      count *= layout.shape.back();
    }
    const bool reversed_axes = random.OneIn(2);
    layout.strides.assign(layout.shape.size(), 0);
    int64_t step = 1;
    for (size_t i = 0; i < layout.shape.size(); ++i) {
      // The axes from the fastest of the source: those of the target from the slowest, or rotated.
      const size_t axis = reversed_axes ? i : (i + layout.shape.size() / 2) % layout.shape.size();
      layout.strides[axis] = random.OneIn(6) ? -step : step;
      step = step * layout.shape[axis] + (random.OneIn(12) ? 3 : 0);
    }
    if (static_cast<size_t>(step) * layout.bits / 8 < kSourceBytes) {
      ASSERT_NO_FATAL_FAILURE(Check(layout));
    }
  }
}

// Targets that are not aligned to their elements.
TEST(StridedCopyToUnalignedMemory, AgreesWithElementwise) {
  constexpr int64_t kCount = 100;
  std::vector<unsigned char> from(16 * kCount * 5);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> to(16 * kCount * 5 + 64);
  ForEachLevel([&](const std::string& level) {
    for (const size_t size : {2U, 4U, 8U, 16U}) {
      for (const Axes& strides : {Axes{1, 0}, Axes{0, 1}, Axes{1, 5}, Axes{-1, -5}}) {
        const Layout layout = {{5, kCount}, strides, static_cast<uint32_t>(8 * size)};
        for (size_t shift = 1; shift < 16; ++shift) {
          const int64_t first = layout.Reach().first;
          CopyStrided({2, layout.shape.data(), strides.data(), layout.bits, layout.bits,
                       layout.bits, &from[size * static_cast<size_t>(first)], &to[shift]});
          ForEachElement(layout, [&](int64_t n, int64_t offset) {
            ASSERT_EQ(std::memcmp(&to[shift + size * static_cast<size_t>(n)],
                                  &from[size * static_cast<size_t>(first + offset)], size),
                      0)
                << Show(layout) << ", " << level << ", shift " << shift;
          });
        }
      }
    }
  });
}

TEST(StridedCopyOfAnEmptyTensor, AccessesNothing) {
  for (const uint32_t bits : {4U, 32U}) {
    const Axes shape = {3, 0, INT64_MAX};
    const Axes strides = {INT64_MIN, 7, INT64_MAX};
    CopyStrided({3, shape.data(), strides.data(), bits, bits, bits, nullptr, nullptr});
  }
}

// Prefetching starts at copies of 4 MiB.
TEST_F(StridedCopyTest, OfLargeTensorsAgreesWithElementwise) {
  const Layout layouts[] = {
      {{2100, 2050}, {1, 2100}, 8},
      {{1500, 1501}, {-1, 1502}, 16},
      {{1046, 1037}, {1, -1046}, 32},
      {{740, 743}, {1, 743}, 64},
      {{523, 525}, {1, 523}, 128},
      {{1280, 1290}, {1, 1280}, 24},
      {{33, 34, 35, 36}, {1, 33, 1122, 39270}, 32},
      {{3, 500, 401}, {1, 3, 1500}, 16},
      {{200, 300, 3, 3}, {1, 200, 60000, 180000}, 32},
      {{700, 750}, {0, 1}, 32},
      {{700, 750}, {1, 0}, 32},
      {{300, 5, 700}, {1, 300, 1500}, 32},
      {{4, 724, 724}, {1, 4, 2896}, 16},
      {{256, 1024, 4}, {1, 256, 262144}, 8},
      // Runs, in planes of more and of fewer columns than are prefetched.
      {{5, 100, 26, 42}, {4200, 42, 21000, 1}, 64},
      {{25, 100, 5, 42}, {4200, 42, -105000, 1}, 64},
      // Few columns, which are read side by side.
      {{15, 34, 33, 35}, {33, 17325, 1, 495}, 64},
      {{15, 34, 33, 35}, {33, 17325, -1, -495}, 64},
      {{8, 8, 8, 8, 4, 4, 8}, {1, 8, 64, 512, 4096, 16384, 65536}, 64},
      {{6, 50, 66, 64}, {66, 25344, 1, 396}, 32},
      {{150, 400, 50}, {400, 1, 60000}, 16},
      {{280, 400, 50}, {400, 1, -112000}, 8},
      // As few, whose lines compete for the same places of the cache.
      {{54, 54, 256}, {512, 27648, 1}, 64},
      {{54, 200, 54}, {1, 54, 512 * 54}, 64},
  };
  for (const Layout& layout : layouts) {
    ASSERT_NO_FATAL_FAILURE(Check(layout));
  }
}

// Without memcmp, which is a call under a sanitizer.
template <size_t kSize>
bool IsSame(const unsigned char* a, const unsigned char* b) {
  using Word = std::conditional_t<kSize >= 8, uint64_t,
                                  std::conditional_t<kSize == 4, uint32_t, unsigned char>>;
  bool same = true;
  for (size_t at = 0; at < kSize; at += sizeof(Word)) {
    Word of_a;
    Word of_b;
    std::memcpy(&of_a, a + at, sizeof of_a);
    std::memcpy(&of_b, b + at, sizeof of_b);
    same &= of_a == of_b;
  }
  return same;
}

// From 32 MiB on, stores bypass the cache, starting at the first aligned element.
TEST(StridedCopyOfHugeRows, AgreesWithElementwise) {
  constexpr int64_t kElements = (8 << 20) + 5;
  std::vector<uint32_t> from(2 * kElements);
  std::iota(from.begin(), from.end(), 1U);
  Fenced target((kElements + 8) * sizeof(uint32_t));
  for (const int64_t step : {-1, 2}) {
    // Shifts where no element is aligned, and where the second one is.
    for (const int shift : {2, 12}) {
      if (shift != 12 && Scale() < 1) {
        continue;  // each takes half a second under a sanitizer
      }
      auto* to = target.end() - kElements * sizeof(uint32_t) - shift;
      const uint32_t* first = step < 0 ? &from[kElements - 1] : from.data();
      CopyStrided({1, &kElements, &step, 32, 32, 32, first, to});
      int64_t wrong = 0;
      for (int64_t i = 0; i < kElements; ++i) {
        const auto* source = reinterpret_cast<const unsigned char*>(first + i * step);
        wrong += IsSame<4>(to + 4 * i, source) ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0) << "step " << step << ", shift " << shift;
    }
  }
}

template <size_t kSize>
int64_t WrongElements(const int64_t* shape, const int64_t* strides, const unsigned char* from,
                      const unsigned char* to) {
  constexpr int64_t kItem = kSize;
  int64_t wrong = 0;
  for (int64_t row = 0; row < shape[0]; ++row) {
    for (int64_t column = 0; column < shape[1]; ++column) {
      const unsigned char* copied = to + (row * shape[1] + column) * kItem;
      const unsigned char* source = from + (row * strides[0] + column * strides[1]) * kItem;
      wrong += IsSame<kSize>(copied, source) ? 0 : 1;
    }
  }
  return wrong;
}

// Planes whose lines are aligned, repeated rows and elements, and contiguous memory.
TEST(StridedCopyOfHugeLayouts, AgreesWithElementwise) {
  constexpr int64_t kSide = 2912;  // a row is 182 lines, a plane 32.3 MiB
  constexpr int64_t kElements = kSide * kSide;
  const int64_t shape[] = {kSide, kSide};
  const int64_t layouts[][2] = {{1, kSide}, {kSide, 1}, {0, 1}, {1, 0}};
  std::vector<uint32_t> from(kElements);
  std::iota(from.begin(), from.end(), 1U);
  Fenced target(kElements * sizeof(uint32_t) + 4096);
  ForEachLevel([&](const std::string& level) {
    for (const auto& strides : layouts) {
      for (const int shift : {0, 4, 6}) {
        if (shift != 4 && Scale() < 1) {
          continue;  // each takes a second under a sanitizer
        }
        auto* to = target.begin() + shift;
        CopyStrided({2, shape, strides, 32, 32, 32, from.data(), to});
        const auto* source = reinterpret_cast<const unsigned char*>(from.data());
        EXPECT_EQ(WrongElements<4>(shape, strides, source, to), 0)
            << "stride " << strides[0] << ", shift " << shift << ", " << level;
      }
    }
  });
}

// A plane of more than 32 MiB with its axes exchanged; `side` elements are whole lines.
template <size_t kSize>
void CheckTransposed(int64_t side, const std::vector<unsigned char>& from, unsigned char* to) {
  const int64_t shape[] = {side, side};
  const int64_t strides[] = {1, side};
  CopyStrided({2, shape, strides, 8 * kSize, 8 * kSize, 8 * kSize, from.data(), to});
  EXPECT_EQ(WrongElements<kSize>(shape, strides, from.data(), to), 0) << "size " << kSize;
}

TEST(StridedCopyOfHugeTransposedPlanes, AgreesWithElementwise) {
  constexpr size_t kBytes = 34U << 20;
  std::vector<unsigned char> from(kBytes);
  for (size_t i = 0; i < kBytes; ++i) {
    from[i] = static_cast<unsigned char>(i * 2654435761U >> 24U);
  }
  Fenced target(kBytes);
  ForEachLevel([&](const std::string& level) {
    SCOPED_TRACE(level);
    if (Scale() >= 1) {  // these take seconds under a sanitizer
      CheckTransposed<1>(5824, from, target.begin());
      CheckTransposed<2>(4128, from, target.begin());
    }
    CheckTransposed<8>(2064, from, target.begin());
    CheckTransposed<16>(1456, from, target.begin());
  });
}

// Rows of one element that begin at any place of a line.
TEST(StridedCopyOfHugeRepeatedElements, AgreesWithElementwise) {
  constexpr int64_t kRows = 8000;
  Fenced target(36 << 20);
  ForEachLevel([&](const std::string& level) {
    for (const int64_t size : {1, 2, 4, 8, 16}) {
      const int64_t shape[] = {kRows, 4300 / size + 1};
      const int64_t strides[] = {1, 0};
      const auto row_bytes = static_cast<size_t>(shape[1] * size);
      std::vector<unsigned char> from(static_cast<size_t>(kRows * size));
      std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
      for (const size_t shift : {size_t{0}, static_cast<size_t>(size), size_t{3}}) {
        auto* to = target.Place(kRows * row_bytes + shift, true);
        const auto bits = static_cast<uint32_t>(8 * size);
        CopyStrided({2, shape, strides, bits, bits, bits, from.data(), to});
        int64_t wrong = 0;
        for (int64_t r = 0; r < kRows; ++r) {
          const unsigned char* row = to + static_cast<size_t>(r) * row_bytes;
          const auto item = static_cast<size_t>(size);
          wrong += std::memcmp(row, &from[static_cast<size_t>(r) * item], item) == 0 &&
                           std::memcmp(row, row + item, row_bytes - item) == 0
                       ? 0
                       : 1;
        }
        EXPECT_EQ(wrong, 0) << "size " << size << ", shift " << shift << ", " << level;
      }
    }
  });
}

}  // namespace
}  // namespace dlbridge_test
