// SPDX-License-Identifier: Apache-2.0
// Layouts reduced to the fewest axes, and the iteration over them.
#include "copy/walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace dlbridge_test {
namespace {

using dlbridge::MakeWalk;
using dlbridge::RunOf;
using dlbridge::Steps;
using dlbridge::Walk;
using Axes = std::vector<int64_t>;

struct Case {
  Axes shape;
  Axes strides;
  Axes extents;  // expected in the walk
  Axes steps;
  int64_t run;
};

Walk WalkOf(const Axes& shape, const Axes& strides) {
  return MakeWalk(static_cast<int32_t>(shape.size()), shape.data(), strides.data());
}

TEST(Walk, HasTheFewestAxes) {
  const Case cases[] = {
      {{}, {}, {}, {}, 1},
      {{1, 1}, {INT64_MIN, 7}, {}, {}, 1},
      {{5}, {1}, {5}, {1}, 5},
      {{5}, {-1}, {5}, {-1}, 1},
      {{5}, {0}, {5}, {0}, 1},
      {{2, 3, 4}, {12, 4, 1}, {24}, {1}, 24},
      {{2, 3, 4}, {24, 8, 2}, {24}, {2}, 1},
      {{2, 3, 4}, {-12, -4, -1}, {24}, {-1}, 1},
      {{2, 3, 4}, {0, 0, 0}, {24}, {0}, 1},
      {{2, 3, 4}, {0, 4, 1}, {2, 12}, {0, 1}, 12},
      {{2, 3, 4}, {12, 1, 3}, {2, 3, 4}, {12, 1, 3}, 1},
      {{2, 3, 4}, {16, 4, 1}, {2, 12}, {16, 1}, 12},
      {{2, 1, 3, 1, 4}, {12, INT64_MAX, 4, INT64_MIN, 1}, {24}, {1}, 24},
      // Axes are not merged where the product overflows.
      {{2, 4}, {0, INT64_C(1) << 62}, {2, 4}, {0, INT64_C(1) << 62}, 1},
  };
  for (const Case& each : cases) {
    const Walk walk = WalkOf(each.shape, each.strides);
    EXPECT_EQ(Axes(walk.extent, walk.extent + walk.axes), each.extents);
    EXPECT_EQ(Axes(walk.stride, walk.stride + walk.axes), each.steps);
    EXPECT_EQ(RunOf(walk), each.run) << testing::PrintToString(each.shape);
  }
}

Axes OffsetsOf(const Walk& walk, int axes) {
  Axes offsets;
  Steps steps(walk, axes);
  do {
    offsets.push_back(steps.offset());
  } while (steps.Next());
  return offsets;
}

TEST(Walk, StepsThroughTheGivenNumberOfAxes) {
  const Walk walk = WalkOf({2, 3, 2}, {-100, 10, 1});
  ASSERT_EQ(walk.axes, 3);
  EXPECT_EQ(OffsetsOf(walk, 0), Axes({0}));
  EXPECT_EQ(OffsetsOf(walk, 1), Axes({0, -100}));
  EXPECT_EQ(OffsetsOf(walk, 2), Axes({0, 10, 20, -100, -90, -80}));
  EXPECT_EQ(OffsetsOf(walk, 3), Axes({0, 1, 10, 11, 20, 21, -100, -99, -90, -89, -80, -79}));
}

TEST(Walk, OffsetsPastTheEndMayOverflow) {
  const Walk walk = WalkOf({2, 2}, {INT64_MAX - 1, -INT64_MAX});
  ASSERT_EQ(walk.axes, 2);
  EXPECT_EQ(OffsetsOf(walk, 2), Axes({0, -INT64_MAX, INT64_MAX - 1, -1}));
}

}  // namespace
}  // namespace dlbridge_test
