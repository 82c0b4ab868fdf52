// SPDX-License-Identifier: Apache-2.0
// Self-overlap of random layouts, compared with visiting every element, and of large layouts that
// are built to overlap or not to overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

struct Strided {
  Axes shape;
  Axes strides;
};

DLBridgeAnswer OverlapOf(const Strided& strided) {
  Strided copy = strided;
  DLTensor tensor = {};
  tensor.data = reinterpret_cast<void*>(uintptr_t{1} << 60);
  tensor.device = Device(kDLCPU);
  tensor.dtype = Dtype(kDLInt, 8);
  tensor.ndim = static_cast<int32_t>(copy.shape.size());
  tensor.shape = copy.shape.data();
  tensor.strides = copy.strides.data();
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  EXPECT_EQ(dlbridge_layout(&tensor, 0, &layout, &error), DLBRIDGE_OK) << error.message;
  return layout.self_overlap;
}

// The offset of each element.
std::vector<int64_t> OffsetsOf(const Strided& strided) {
  std::vector<int64_t> offsets = {0};
  for (size_t axis = 0; axis < strided.shape.size(); ++axis) {
    std::vector<int64_t> more;
    for (int64_t i = 0; i < strided.shape[axis]; ++i) {
      for (const int64_t offset : offsets) {
        more.push_back(offset + i * strided.strides[axis]);
      }
    }
    offsets.swap(more);
  }
  return offsets;
}

bool Overlaps(const Strided& strided) {
  std::vector<int64_t> offsets = OffsetsOf(strided);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

Strided SmallLayout(Random* random, size_t ndim) {
  Strided strided;
  const int64_t reach = random->OneIn(3) ? 200 : 30;
  for (size_t i = 0; i < ndim; ++i) {
    strided.shape.push_back(random->OneIn(40) ? 0 : random->Between(1, ndim > 4 ? 4 : 6));
    strided.strides.push_back(random->OneIn(30) ? 0 : random->Between(-reach, reach));
  }
  return strided;
}

std::string Show(const Strided& strided) {
  return "shape " + testing::PrintToString(strided.shape) + ", strides " +
         testing::PrintToString(strided.strides);
}

TEST(Overlap, IsExactUpToFourAxes) {
  Random random(2);
  size_t overlapping = 0;
  const size_t rounds = Scaled(60000);
  for (size_t round = 0; round < rounds; ++round) {
    const Strided strided = SmallLayout(&random, static_cast<size_t>(random.Between(0, 4)));
    const bool overlaps = Overlaps(strided);
    overlapping += overlaps ? 1 : 0;
    ASSERT_EQ(OverlapOf(strided), overlaps ? DLBRIDGE_YES : DLBRIDGE_NO) << Show(strided);
  }
  if (rounds > 1000) {
    EXPECT_GT(overlapping, rounds / 10);
    EXPECT_LT(overlapping, rounds * 9 / 10);
  }
}

TEST(Overlap, IsExactUpToFourAxesLongerThanOne) {
  Random random(3);
  for (size_t round = 0; round < Scaled(5000); ++round) {
    Strided strided = SmallLayout(&random, 4);
    for (int i = 0; i < 6; ++i) {
      const auto at = random.Between(0, static_cast<int64_t>(strided.shape.size()));
      strided.shape.insert(strided.shape.begin() + at, 1);
      strided.strides.insert(strided.strides.begin() + at, random.Between(INT64_MIN, INT64_MAX));
    }
    ASSERT_EQ(OverlapOf(strided), Overlaps(strided) ? DLBRIDGE_YES : DLBRIDGE_NO) << Show(strided);
  }
}

// Strides far beyond 32 bits; often one of them is a small combination of the others.
Strided LongStrides(Random* random, size_t ndim) {
  Strided strided;
  int64_t combination = 0;
  for (size_t i = 0; i < ndim; ++i) {
    strided.shape.push_back(random->Between(2, 6));
    strided.strides.push_back(random->Between(-(int64_t{1} << 50), int64_t{1} << 50));
    combination += i + 1 < ndim ? random->Between(-5, 5) * strided.strides.back() : 0;
  }
  if (random->OneIn(2)) {
    strided.strides.back() = combination / random->Between(1, 2);
  }
  return strided;
}

TEST(Overlap, IsExactWithLongStrides) {
  Random random(8);
  for (size_t round = 0; round < Scaled(20000); ++round) {
    const Strided strided = LongStrides(&random, static_cast<size_t>(random.Between(2, 4)));
    ASSERT_EQ(OverlapOf(strided), Overlaps(strided) ? DLBRIDGE_YES : DLBRIDGE_NO) << Show(strided);
  }
}

TEST(Overlap, IsNotDecidedByCommonDivisorsAlone) {
  EXPECT_EQ(OverlapOf({{3, 2}, {2, 3}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{4, 2}, {2, 3}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{4, 3}, {2, 3}}), DLBRIDGE_YES);
}

TEST(Overlap, IsUndecidedWhereTheSearchWouldTakeLong) {
  // An exact answer would take millions of steps.
  EXPECT_EQ(
      OverlapOf({{4000, 3999, 3998, 3997},
                 {1LL << 39, (1LL << 39) + 7919, (1LL << 39) + 104729, (1LL << 39) + 1299709}}),
      DLBRIDGE_UNDECIDED);
}

TEST(Overlap, IsNeverWrongOnFiveAndSixAxes) {
  Random random(4);
  size_t undecided = 0;
  const size_t rounds = Scaled(8000);
  for (size_t round = 0; round < rounds; ++round) {
    const Strided strided = SmallLayout(&random, static_cast<size_t>(random.Between(5, 6)));
    const DLBridgeAnswer answer = OverlapOf(strided);
    if (answer == DLBRIDGE_UNDECIDED) {
      ++undecided;
      continue;
    }
    ASSERT_EQ(answer, Overlaps(strided) ? DLBRIDGE_YES : DLBRIDGE_NO) << Show(strided);
  }
  RecordProperty("undecided", static_cast<int>(undecided));
  EXPECT_LE(undecided, rounds / 100) << "the bound on the search leaves too many layouts undecided";
}

void Shuffle(Random* random, Strided* strided) {
  for (size_t i = strided->shape.size(); i-- > 1;) {
    const auto j = static_cast<size_t>(random->Between(0, static_cast<int64_t>(i)));
    std::swap(strided->shape[i], strided->shape[j]);
    std::swap(strided->strides[i], strided->strides[j]);
  }
}

// Strides such that `steps` along the axes lead back to the same byte: the last stride is minus the
// sum of the others, which are multiples of the last step.
Strided Planted(Random* random, size_t ndim, int64_t longest) {
  Strided strided;
  Axes steps;
  for (size_t i = 0; i < ndim; ++i) {
    strided.shape.push_back(random->Between(2, longest));
    steps.push_back(random->Between(1, strided.shape.back() - 1) * (random->OneIn(2) ? 1 : -1));
  }
  int64_t last = 0;
  for (size_t i = 0; i + 1 < ndim; ++i) {
    const int64_t part = random->Between(-1000, 1000);
    strided.strides.push_back(part * steps.back());
    last -= part * steps[i];
  }
  strided.strides.push_back(last);
  Shuffle(random, &strided);
  return strided;
}

TEST(Overlap, BuiltIntoLargeLayoutsIsFound) {
  Random random(5);
  for (size_t round = 0; round < Scaled(5000); ++round) {
    const auto ndim = static_cast<size_t>(random.Between(2, 4));
    const Strided strided = Planted(&random, ndim, 1 << 14);
    ASSERT_EQ(OverlapOf(strided), DLBRIDGE_YES) << Show(strided);
  }
}

TEST(Overlap, BuiltIntoManyAxesIsNeverDenied) {
  Random random(6);
  for (size_t round = 0; round < Scaled(2000); ++round) {
    const auto ndim = static_cast<size_t>(random.Between(5, 12));
    const Strided strided = Planted(&random, ndim, 16);
    ASSERT_NE(OverlapOf(strided), DLBRIDGE_NO) << Show(strided);
  }
}

// Each stride is larger than the span of all faster axes.
Strided Apart(Random* random, size_t ndim, int64_t longest) {
  Strided strided;
  int64_t reach = 1;
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t extent = random->Between(2, longest);
    const int64_t stride = reach + random->Between(0, 3);
    strided.shape.push_back(extent);
    strided.strides.push_back(random->OneIn(3) ? -stride : stride);
    reach += stride * (extent - 1);
  }
  Shuffle(random, &strided);
  return strided;
}

TEST(Overlap, IsExcludedWhereEveryStrideExceedsTheFasterAxes) {
  Random random(7);
  for (size_t round = 0; round < Scaled(5000); ++round) {
    const auto ndim = static_cast<size_t>(random.Between(1, 14));
    const Strided strided = Apart(&random, ndim, ndim > 4 ? 8 : 4000);
    ASSERT_EQ(OverlapOf(strided), DLBRIDGE_NO) << Show(strided);
  }
}

TEST(Overlap, OfHugeExtentsNeedsNoEnumeration) {
  // Visiting every index would not end.
  EXPECT_EQ(OverlapOf({{1LL << 30, 1LL << 30}, {1LL << 30, 1}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{(1LL << 30) + 1, (1LL << 30) + 1}, {1LL << 30, 1}}), DLBRIDGE_YES);
  EXPECT_EQ(OverlapOf({{1000000007, 998244353}, {998244353, 1000000007}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{1000000008, 998244354}, {998244353, 1000000007}}), DLBRIDGE_YES);
}

TEST(Overlap, OfEmptyTensorsAndScalarsIsExcluded) {
  EXPECT_EQ(OverlapOf({{}, {}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{5, 0}, {0, 0}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{1, 1}, {0, 0}}), DLBRIDGE_NO);
  EXPECT_EQ(OverlapOf({{2}, {0}}), DLBRIDGE_YES);
}

}  // namespace
}  // namespace dlbridge_test
