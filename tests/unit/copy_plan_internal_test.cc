// SPDX-License-Identifier: Apache-2.0
// Plans of driver calls, carried out with one memcpy per row, compared with an element-wise copy.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "native/copy_plan.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

using dlbridge::Boxes;
using dlbridge::CopyBox;
using dlbridge::CopyPlan;
using dlbridge::MakeWalk;
using dlbridge::PlanCopy;

constexpr int64_t kMemory = 1 << 16;

// The rules that every driver has for a box.
void ExpectLegal(const CopyBox& box) {
  EXPECT_GT(box.bytes, 0U);
  EXPECT_GT(box.rows, 0U);
  EXPECT_GT(box.planes, 0U);
  if (box.rows == 1) {
    EXPECT_EQ(box.from_row_pitch + box.to_row_pitch, 0U);
    EXPECT_EQ(box.planes, 1U);
    return;
  }
  EXPECT_GE(box.from_row_pitch, box.bytes);
  EXPECT_GE(box.to_row_pitch, box.bytes);
  EXPECT_LE(box.from_row_pitch, static_cast<uint64_t>(INT32_MAX));
  if (box.planes > 1) {
    EXPECT_EQ(box.from_plane_pitch % box.from_row_pitch, 0U);
    EXPECT_EQ(box.to_plane_pitch % box.to_row_pitch, 0U);
    EXPECT_GE(box.from_plane_pitch, box.from_row_pitch * box.rows);
    EXPECT_GE(box.to_plane_pitch, box.to_row_pitch * box.rows);
  }
}

void Carry(const CopyBox& box, const unsigned char* from, unsigned char* to) {
  for (uint64_t plane = 0; plane < box.planes; ++plane) {
    for (uint64_t row = 0; row < box.rows; ++row) {
      std::memcpy(to + box.to_offset + plane * box.to_plane_pitch + row * box.to_row_pitch,
                  from + box.from_offset + plane * box.from_plane_pitch + row * box.from_row_pitch,
                  static_cast<size_t>(box.bytes));
    }
  }
}

struct Layout {
  Axes shape;
  Axes strides;
  int64_t item;
  int64_t start;  // byte offset of element (0,...,0)
};

// Copies element by element, in C order.
std::vector<unsigned char> OneByOne(const Layout& layout, const unsigned char* from) {
  std::vector<unsigned char> to;
  Axes index(layout.shape.size());
  for (bool more = true; more;) {
    int64_t offset = layout.start;
    for (size_t i = 0; i < index.size(); ++i) {
      offset += index[i] * layout.strides[i] * layout.item;
    }
    to.insert(to.end(), from + offset, from + offset + layout.item);
    more = false;
    for (size_t i = index.size(); i-- > 0 && !more;) {
      more = ++index[i] < layout.shape[i];
      index[i] = more ? index[i] : 0;
    }
  }
  return to;
}

int64_t ExpectSame(const Layout& layout, const std::vector<unsigned char>& memory) {
  const std::vector<unsigned char> expected = OneByOne(layout, memory.data());
  const dlbridge::Walk walk = MakeWalk(static_cast<int32_t>(layout.shape.size()),
                                       layout.shape.data(), layout.strides.data());
  CopyPlan plan;
  if (!PlanCopy(walk, layout.item, &plan)) {
    EXPECT_GT(plan.boxes, dlbridge::kMaxBoxes);
    return plan.boxes;
  }
  std::vector<unsigned char> to(expected.size(), 0xee);
  Boxes boxes(plan, static_cast<uint64_t>(layout.start), 0);
  int64_t count = 0;
  do {
    ExpectLegal(boxes.box());
    Carry(boxes.box(), memory.data(), to.data());
    ++count;
  } while (boxes.Next());
  EXPECT_EQ(count, plan.boxes);
  EXPECT_EQ(to, expected);
  return count;
}

std::vector<unsigned char> Memory() {
  std::vector<unsigned char> memory(static_cast<size_t>(kMemory));
  std::mt19937 random(1);
  for (unsigned char& byte : memory) {
    byte = static_cast<unsigned char>(random());
  }
  return memory;
}

TEST(CopyPlan, CountsTheCallsOfALayout) {
  const std::vector<unsigned char> memory = Memory();
  EXPECT_EQ(ExpectSame({{}, {}, 4, 12}, memory), 1) << "a scalar";
  EXPECT_EQ(ExpectSame({{4, 6}, {6, 1}, 4, 0}, memory), 1) << "compact";
  EXPECT_EQ(ExpectSame({{4, 6}, {9, 1}, 4, 0}, memory), 1) << "a rectangle";
  EXPECT_EQ(ExpectSame({{3, 4, 5}, {60, 10, 1}, 4, 0}, memory), 1) << "a box";
  EXPECT_EQ(ExpectSame({{3, 4, 5}, {61, 10, 1}, 4, 0}, memory), 3)
      << "plane pitch not a multiple of the row pitch: one rectangle per plane";
  EXPECT_EQ(ExpectSame({{6, 4}, {1, 6}, 4, 0}, memory), 4) << "transposed: columns as rows";
  EXPECT_EQ(ExpectSame({{64}, {-1}, 4, 252}, memory), 64) << "reversed: one call per element";
  EXPECT_EQ(ExpectSame({{8, 6}, {0, 1}, 4, 0}, memory), 8) << "broadcast: one run per row";
  EXPECT_EQ(ExpectSame({{32}, {2}, 4, 0}, memory), 1)
      << "every second element: rows of one element";
  EXPECT_GT(ExpectSame({{5000}, {-1}, 1, 4999}, memory), dlbridge::kMaxBoxes) << "too many";
}

TEST(CopyPlan, CopiesEveryPlannedLayoutCorrectly) {
  const std::vector<unsigned char> memory = Memory();
  std::mt19937 random(2);
  const auto below = [&random](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (int round = 0; round < 4000; ++round) {
    Layout layout;
    layout.item = int64_t{1} << below(4);
    layout.start = kMemory / 2;
    for (int64_t axes = below(5); axes > 0; --axes) {
      layout.shape.push_back(1 + below(6));
      layout.strides.push_back(below(8) == 0 ? 0 : below(240) - 60);
    }
    if (!layout.strides.empty() && below(2) == 0) {
      layout.strides.back() = 1;
    }
    ExpectSame(layout, memory);
  }
}

}  // namespace
}  // namespace dlbridge_test
