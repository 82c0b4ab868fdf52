// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// A borrowed tensor with its arrays.
struct Bare {
  Axes shape;
  Axes strides;
  DLTensor tensor;

  Bare(Axes extents, Axes steps, DLDataType dtype = Dtype(kDLFloat, 32))
      : shape(std::move(extents)), strides(std::move(steps)), tensor{} {
    tensor.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
    tensor.device = Device(kDLCPU);
    tensor.dtype = dtype;
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
};

DLBridgeLayout Describe(const DLTensor& tensor, uint64_t flags = 0) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  EXPECT_EQ(dlbridge_layout(&tensor, flags, &layout, &error), DLBRIDGE_OK) << error.message;
  return layout;
}

DLBridgeRule RuleOf(const DLTensor& tensor, uint64_t flags = 0) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  dlbridge_layout(&tensor, flags, &layout, &error);
  return error.rule;
}

// The same layout, computed by visiting every element.
struct Slow {
  int64_t count = 0;
  int64_t first = 0;  // offset of the lowest element
  int64_t last = 0;   // of the highest
  uint32_t flags = 0;
  uint64_t broadcast = 0;
  uint64_t negative = 0;
};

// Steps through all multi-indices, the last axis fastest; returns false after the last one.
bool NextIndex(const Axes& shape, Axes* index) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++(*index)[i] < shape[i]) {
      return true;
    }
    (*index)[i] = 0;
  }
  return false;
}

int64_t OffsetOf(const Axes& index, const Axes& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    offset += index[i] * strides[i];
  }
  return offset;
}

// True if the elements are adjacent when the axes are visited in this order.
bool IsCompact(const Axes& shape, const Axes& strides, bool reversed) {
  Axes extents = shape;
  Axes steps = strides;
  if (reversed) {
    std::reverse(extents.begin(), extents.end());
    std::reverse(steps.begin(), steps.end());
  }
  Axes index(extents.size(), 0);
  int64_t expected = 0;
  do {
    if (OffsetOf(index, steps) != expected++) {
      return false;
    }
  } while (NextIndex(extents, &index));
  return true;
}

Slow DescribeSlowly(const Axes& shape, const Axes& strides) {
  Slow slow;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    slow.flags =
        DLBRIDGE_LAYOUT_EMPTY | DLBRIDGE_LAYOUT_C_CONTIGUOUS | DLBRIDGE_LAYOUT_F_CONTIGUOUS;
    return slow;
  }
  Axes index(shape.size(), 0);
  do {
    ++slow.count;
    slow.first = std::min(slow.first, OffsetOf(index, strides));
    slow.last = std::max(slow.last, OffsetOf(index, strides));
  } while (NextIndex(shape, &index));
  for (size_t i = 0; i < shape.size(); ++i) {
    slow.broadcast |= shape[i] > 1 && strides[i] == 0 ? uint64_t{1} << i : 0;
    slow.negative |= shape[i] > 1 && strides[i] < 0 ? uint64_t{1} << i : 0;
  }
  slow.flags |= slow.broadcast != 0 ? uint32_t{DLBRIDGE_LAYOUT_BROADCAST} : 0U;
  slow.flags |= slow.negative != 0 ? uint32_t{DLBRIDGE_LAYOUT_NEGATIVE_STRIDES} : 0U;
  slow.flags |= IsCompact(shape, strides, false) ? uint32_t{DLBRIDGE_LAYOUT_C_CONTIGUOUS} : 0U;
  slow.flags |= IsCompact(shape, strides, true) ? uint32_t{DLBRIDGE_LAYOUT_F_CONTIGUOUS} : 0U;
  return slow;
}

int64_t FloorDiv8(int64_t bits) { return bits >= 0 ? bits / 8 : -((-bits + 7) / 8); }

void ExpectSame(const Bare& bare, const DLBridgeLayout& layout, uint32_t item_bits) {
  const Axes strides = bare.strides.empty() ? CompactStrides(bare.shape) : bare.strides;
  const Slow slow = DescribeSlowly(bare.shape, strides);
  EXPECT_EQ(layout.item_bits, item_bits);
  EXPECT_EQ(layout.element_count, slow.count);
  EXPECT_EQ(layout.packed_bytes, (slow.count * item_bits + 7) / 8);
  EXPECT_EQ(layout.begin, FloorDiv8(slow.first * item_bits));
  EXPECT_EQ(layout.end, slow.count == 0 ? 0 : ((slow.last + 1) * item_bits + 7) / 8);
  EXPECT_EQ(layout.properties & ~uint32_t{DLBRIDGE_LAYOUT_PADDED}, slow.flags);
  EXPECT_EQ(layout.broadcast_axes, slow.broadcast);
  EXPECT_EQ(layout.negative_axes, slow.negative);
}

TEST(Layout, AgreesWithVisitingAllElements) {
  const DLDataType dtypes[] = {Dtype(kDLFloat, 32),          Dtype(kDLInt, 8),
                               Dtype(kDLFloat4_e2m1fn, 4),   Dtype(kDLUInt, 1),
                               Dtype(kDLFloat6_e2m3fn, 6),   Dtype(kDLFloat, 32, 3),
                               Dtype(kDLFloat4_e2m1fn, 4, 3)};
  Random random(1);
  for (size_t round = 0; round < Scaled(20000); ++round) {
    Axes shape(static_cast<size_t>(random.Between(0, 5)));
    for (int64_t& extent : shape) {
      extent = random.OneIn(20) ? 0 : random.Between(1, 4);
    }
    Axes strides = CompactStrides(shape);
    for (int64_t& stride : strides) {
      stride = random.OneIn(3) ? random.Between(-20, 20) : stride;
    }
    if (random.OneIn(4)) {
      std::reverse(strides.begin(), strides.end());
    }
    const DLDataType dtype = random.Pick(dtypes);
    const Bare bare(shape, random.OneIn(5) ? Axes() : strides, dtype);
    const bool padded = random.OneIn(2);
    const uint32_t bits = static_cast<uint32_t>(dtype.bits) * dtype.lanes;
    const uint32_t item_bits = padded ? (bits + 7) / 8 * 8 : bits;
    const DLBridgeLayout layout = Describe(bare.tensor, padded ? kPadded : 0);
    ExpectSame(bare, layout, item_bits);
    EXPECT_EQ((layout.properties & DLBRIDGE_LAYOUT_PADDED) != 0, item_bits != bits);
    if (HasFailure()) {
      FAIL() << "round " << round << ", shape " << testing::PrintToString(shape) << ", strides "
             << testing::PrintToString(strides);
    }
  }
}

TEST(Layout, OfAScalarIsOneElement) {
  const Bare scalar({}, {});
  const DLBridgeLayout layout = Describe(scalar.tensor);
  EXPECT_EQ(layout.element_count, 1);
  EXPECT_EQ(layout.end, 4);
  EXPECT_EQ(layout.properties,
            uint32_t{DLBRIDGE_LAYOUT_C_CONTIGUOUS | DLBRIDGE_LAYOUT_F_CONTIGUOUS});
  DLTensor without_arrays = scalar.tensor;
  without_arrays.shape = nullptr;
  without_arrays.strides = nullptr;
  EXPECT_EQ(Describe(without_arrays).element_count, 1);
}

TEST(Layout, AcceptsAnyDeviceIdAndData) {
  Bare bare({2, 3}, {3, 1});
  for (const int32_t type : {-1, 0, 1, 5, 21, 22, INT32_MAX, INT32_MIN}) {
    bare.tensor.device = Device(type, -7);
    bare.tensor.data = nullptr;
    EXPECT_EQ(Describe(bare.tensor).element_count, 6);
  }
}

TEST(Layout, RejectsTensorsWithoutALayout) {
  Bare bare({2, 3}, {3, 1});
  bare.tensor.ndim = -1;
  EXPECT_EQ(RuleOf(bare.tensor), DLBRIDGE_RULE_NDIM_NEGATIVE);
  bare.tensor.ndim = 2;
  bare.tensor.dtype.bits = 0;
  EXPECT_EQ(RuleOf(bare.tensor), DLBRIDGE_RULE_DTYPE_BITS_ZERO);
  bare.tensor.dtype = Dtype(kDLFloat, 32, 0);
  EXPECT_EQ(RuleOf(bare.tensor), DLBRIDGE_RULE_DTYPE_LANES_ZERO);
  bare.tensor.dtype = Dtype(kDLFloat, 32);
  bare.tensor.shape = nullptr;
  EXPECT_EQ(RuleOf(bare.tensor), DLBRIDGE_RULE_SHAPE_NULL);
  EXPECT_EQ(RuleOf(Bare({2, -3}, {1, 1}).tensor), DLBRIDGE_RULE_EXTENT_NEGATIVE);
  EXPECT_EQ(RuleOf(Bare({INT64_MAX, 2}, {1, 1}).tensor), DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_EQ(RuleOf(Bare({INT64_MAX}, {1}).tensor), DLBRIDGE_RULE_SIZE_OVERFLOW);
  EXPECT_EQ(RuleOf(Bare({3}, {INT64_MAX}).tensor), DLBRIDGE_RULE_OFFSET_OVERFLOW);
}

TEST(Layout, NamesTheAxisThatIsNegative) {
  const Bare bare({2, -3, -4}, {1, 1, 1});
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  EXPECT_EQ(dlbridge_layout(&bare.tensor, 0, &layout, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.axis, 1);
  EXPECT_TRUE(error.Says("-3")) << error.message;
}

TEST(Layout, SizesAtTheEdgeFit) {
  EXPECT_EQ(Describe(Bare({INT64_MAX}, {1}, Dtype(kDLInt, 8)).tensor).packed_bytes, INT64_MAX);
  EXPECT_EQ(Describe(Bare({INT64_MAX}, {1}, Dtype(kDLUInt, 1)).tensor).packed_bytes,
            INT64_MAX / 8 + 1);
  EXPECT_EQ(Describe(Bare({INT64_MAX / 8}, {1}, Dtype(kDLInt, 64)).tensor).packed_bytes,
            INT64_MAX / 8 * 8);
  EXPECT_EQ(RuleOf(Bare({INT64_MAX / 8 + 1}, {1}, Dtype(kDLInt, 64)).tensor),
            DLBRIDGE_RULE_SIZE_OVERFLOW);
  const DLBridgeLayout down = Describe(Bare({2}, {-INT64_MAX}, Dtype(kDLInt, 8)).tensor);
  EXPECT_EQ(down.begin, -INT64_MAX);
  EXPECT_EQ(down.end, 1);
  EXPECT_EQ(Describe(Bare({2}, {INT64_MIN}, Dtype(kDLInt, 8)).tensor).begin, INT64_MIN)
      << "an offset of 63 bits and a sign";
  EXPECT_EQ(RuleOf(Bare({2}, {INT64_MAX}, Dtype(kDLInt, 8)).tensor), DLBRIDGE_RULE_OFFSET_OVERFLOW)
      << "the end is one past the last byte";
}

TEST(Layout, The64thAxisHasABit) {
  Axes shape(DLBRIDGE_MAX_NDIM, 1);
  shape[63] = 2;
  const Axes strides(DLBRIDGE_MAX_NDIM, 0);
  const DLBridgeLayout layout = Describe(Bare(shape, strides).tensor);
  EXPECT_EQ(layout.broadcast_axes, uint64_t{1} << 63);
  EXPECT_NE(layout.properties & DLBRIDGE_LAYOUT_BROADCAST, 0U);
}

TEST(Layout, AlignmentIsThatOfTheAddressOrOfTheOffsetInAHandle) {
  Bare bare({2}, {1});
  bare.tensor.data = reinterpret_cast<void*>(uintptr_t{0x7000});
  EXPECT_EQ(Describe(bare.tensor).alignment, 0x1000U);
  bare.tensor.byte_offset = 0x10;
  EXPECT_EQ(Describe(bare.tensor).alignment, 0x10U);
  bare.tensor.device = Device(kDLVulkan);
  bare.tensor.data = reinterpret_cast<void*>(uintptr_t{3});
  EXPECT_EQ(Describe(bare.tensor).alignment, 0x10U);
  EXPECT_NE(Describe(bare.tensor).properties & DLBRIDGE_LAYOUT_OPAQUE, 0U);
  bare.tensor.byte_offset = 0;
  EXPECT_EQ(Describe(bare.tensor).alignment, 0U);
  bare.tensor.device = Device(kDLCPU);
  bare.tensor.data = nullptr;
  EXPECT_EQ(Describe(bare.tensor).alignment, 0U);
}

TEST(Layout, OpaqueMatchesTheHandleDevicesOfDlpack) {
  for (int32_t type = 0; type < 24; ++type) {
    Bare bare({2}, {1});
    bare.tensor.device = Device(type);
    const bool handle = type == kDLOpenCL || type == kDLVulkan || type == kDLMetal ||
                        type == kDLVPI || type == kDLWebGPU;
    EXPECT_EQ((Describe(bare.tensor).properties & DLBRIDGE_LAYOUT_OPAQUE) != 0, handle) << type;
  }
}

TEST(Layout, IsWrittenUpToTheSmallerSize) {
  struct {
    DLBridgeLayout known;
    unsigned char tail[32];
  } larger;
  std::memset(&larger, 0xaa, sizeof larger);
  larger.known = DLBRIDGE_LAYOUT_INIT;
  larger.known.struct_size = sizeof larger;
  const Bare bare({2, 3}, {3, 1});
  ASSERT_EQ(dlbridge_layout(&bare.tensor, 0, &larger.known, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(larger.known.element_count, 6);
  EXPECT_EQ(larger.known.struct_size, sizeof larger.known) << "set to the size that was filled";
  for (const unsigned char byte : larger.tail) {
    EXPECT_EQ(byte, 0xaa);
  }
}

TEST(Layout, IsUnwrittenOnFailure) {
  const Bare bare({2, -3}, {3, 1});
  DLBridgeLayout layout;
  std::memset(&layout, 0xaa, sizeof layout);
  layout.struct_size = sizeof layout;
  const DLBridgeLayout before = layout;
  EXPECT_NE(dlbridge_layout(&bare.tensor, 0, &layout, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(std::memcmp(&before, &layout, sizeof layout), 0);
}

TEST(Layout, RejectsInvalidArguments) {
  const Bare bare({2}, {1});
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  EXPECT_EQ(dlbridge_layout(nullptr, 0, &layout, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("tensor"));
  EXPECT_EQ(dlbridge_layout(&bare.tensor, 0, nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("out"));
  layout.struct_size = 8;
  EXPECT_EQ(dlbridge_layout(&bare.tensor, 0, &layout, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("out"));
}

}  // namespace
}  // namespace dlbridge_test
