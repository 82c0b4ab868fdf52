// SPDX-License-Identifier: Apache-2.0
// Calls with the default options have fast paths. They give the answers of the general path, which
// a policy selects, even one that demands nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr int64_t kHuge = INT64_C(1) << 31;
constexpr int64_t kUsualExtents[] = {1, 2, 3, 4, 7};
constexpr int64_t kOddExtents[] = {0, 1, -1, kHuge, INT64_C(1) << 62, INT64_MAX, INT64_MIN};
constexpr int64_t kOddStrides[] = {0,         1,        -1, 2, -3, kHuge, -kHuge, INT64_C(1) << 61,
                                   INT64_MAX, INT64_MIN};

// Layouts as producers make them, and others that break rules.
class Layouts {
 public:
  explicit Layouts(uint64_t seed) : random_(seed) {}

  void Next() {
    shape_.resize(static_cast<size_t>(random_.Between(0, 6)));
    for (int64_t& extent : shape_) {
      extent = random_.OneIn(12) ? random_.Pick(kOddExtents) : random_.Pick(kUsualExtents);
    }
    strides_ = CompactStrides(shape_);
    if (!random_.OneIn(4)) {
      Permute();
    }
    for (int64_t& stride : strides_) {
      if (random_.OneIn(12)) {
        stride = random_.Pick(kOddStrides);
      } else if (random_.OneIn(6)) {
        stride = static_cast<int64_t>(2 * static_cast<uint64_t>(stride));
      }
    }
    Fill();
  }
  DLTensor* tensor() { return &managed_.dl_tensor; }
  DLManagedTensor* managed() { return &managed_; }
  const Axes& shape() const { return shape_; }
  const Axes& strides() const { return strides_; }

 private:
  // Puts extents and strides of a compact tensor into another order of axes.
  void Permute() {
    for (size_t i = shape_.size(); i-- > 1;) {
      const auto other = static_cast<size_t>(random_.Between(0, static_cast<int64_t>(i)));
      std::swap(shape_[i], shape_[other]);
      std::swap(strides_[i], strides_[other]);
    }
  }
  void Fill() {
    DLTensor& tensor = managed_.dl_tensor;
    const uint64_t address = random_.OneIn(20) ? UINT64_MAX - 64 : uint64_t{1} << 40;
    tensor.data = reinterpret_cast<void*>(random_.OneIn(20) ? 0 : address);
    tensor.device = Device(random_.OneIn(8) ? kDLOpenCL : kDLCPU);
    tensor.ndim = static_cast<int32_t>(shape_.size());
    tensor.dtype = Dtype(kDLUInt, random_.OneIn(8) ? 4 : 32, random_.OneIn(8) ? 3 : 1);
    tensor.shape = shape_.data();
    tensor.strides = random_.OneIn(10) ? nullptr : strides_.data();
    tensor.byte_offset = random_.OneIn(8) ? 60 : 0;
  }

  Random random_;
  Axes shape_;
  Axes strides_;
  DLManagedTensor managed_ = {};
};

std::string Shown(const Layouts& layouts) {
  return testing::PrintToString(layouts.shape()) + " " + testing::PrintToString(layouts.strides());
}

TEST(FastPath, ValidatesAsTheGeneralPath) {
  Layouts layouts(1);
  const DLBridgePolicy policy = Policy();
  size_t valid = 0;
  size_t permuted = 0;
  const size_t rounds = Scaled(50000);
  for (size_t i = 0; i < rounds; ++i) {
    layouts.Next();
    Error expected;
    Error found;
    const DLBridgeStatus status = dlbridge_validate(layouts.tensor(), 0, &policy, &expected);
    ASSERT_EQ(dlbridge_validate(layouts.tensor(), 0, nullptr, &found), status) << Shown(layouts);
    if (status != DLBRIDGE_OK) {
      ASSERT_STREQ(found.message, expected.message) << Shown(layouts);
      continue;
    }
    ++valid;
    permuted += layouts.strides() != CompactStrides(layouts.shape()) ? 1 : 0;
  }
  // The layouts are not all of one kind.
  EXPECT_GT(valid, rounds / 4);
  EXPECT_LT(valid, rounds * 9 / 10);
  EXPECT_GT(permuted, rounds / 10);
}

TEST(FastPath, UpgradesAsTheGeneralPath) {
  Layouts layouts(2);
  const DLBridgePolicy policy = Policy();
  DLBridgeConvertOptions general = Options();
  general.policy = &policy;
  for (size_t i = 0; i < Scaled(25000); ++i) {
    layouts.Next();
    Error expected;
    Error found;
    DLManagedTensorVersioned* wanted = nullptr;
    DLManagedTensorVersioned* made = nullptr;
    const DLBridgeStatus status = dlbridge_upgrade(layouts.managed(), &general, &wanted, &expected);
    ASSERT_EQ(dlbridge_upgrade(layouts.managed(), nullptr, &made, &found), status)
        << Shown(layouts);
    if (status != DLBRIDGE_OK) {
      ASSERT_STREQ(found.message, expected.message) << Shown(layouts);
      continue;
    }
    ASSERT_EQ(ShapeOf(made->dl_tensor), ShapeOf(wanted->dl_tensor));
    ASSERT_EQ(StridesOf(made->dl_tensor), StridesOf(wanted->dl_tensor));
    made->deleter(made);
    wanted->deleter(wanted);
  }
}

DLBridgeWrapSpec SpecOf(const DLTensor& tensor, uint32_t options) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = tensor.ndim;
  spec.shape = tensor.shape;
  spec.strides = tensor.strides;
  spec.dtype = tensor.dtype;
  spec.device = tensor.device;
  spec.byte_offset = tensor.byte_offset;
  spec.buffer.handle = reinterpret_cast<uintptr_t>(tensor.data);
  spec.options = options;
  return spec;
}

TEST(FastPath, WrapsAsTheGeneralPath) {
  Layouts layouts(3);
  const DLBridgePolicy policy = Policy();
  for (size_t i = 0; i < Scaled(25000); ++i) {
    layouts.Next();
    DLBridgeWrapSpec spec = SpecOf(*layouts.tensor(), 0);
    Error expected;
    Error found;
    DLManagedTensorVersioned* wanted = nullptr;
    DLManagedTensorVersioned* made = nullptr;
    const DLBridgeStatus plain = dlbridge_wrap(&spec, &made, &found);
    spec.policy = &policy;
    ASSERT_EQ(dlbridge_wrap(&spec, &wanted, &expected), plain) << Shown(layouts);
    if (plain != DLBRIDGE_OK) {
      ASSERT_STREQ(found.message, expected.message) << Shown(layouts);
      continue;
    }
    ASSERT_EQ(made->dl_tensor.data, wanted->dl_tensor.data);
    ASSERT_EQ(made->dl_tensor.byte_offset, wanted->dl_tensor.byte_offset);
    ASSERT_EQ(ShapeOf(made->dl_tensor), ShapeOf(wanted->dl_tensor));
    ASSERT_EQ(StridesOf(made->dl_tensor), StridesOf(wanted->dl_tensor));
    made->deleter(made);
    wanted->deleter(wanted);
  }
}

// NULL strides become the products of the later extents, where extents below 1 count as 1; 0 after
// the product has overflowed.
Axes Filled(const Axes& shape) {
  Axes strides(shape.size());
  int64_t product = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = product;
    const int64_t extent = std::max<int64_t>(shape[i], 1);
    product = product > INT64_MAX / extent ? 0 : product * extent;
  }
  return strides;
}

TEST(FastPath, CopiesUncheckedArrays) {
  Layouts layouts(4);
  for (size_t i = 0; i < Scaled(25000); ++i) {
    layouts.Next();
    const Axes strides =
        layouts.tensor()->strides == nullptr ? Filled(layouts.shape()) : layouts.strides();
    DLManagedTensorVersioned* made =
        MustUpgrade(layouts.managed(), DLBRIDGE_CONVERT_SKIP_VALIDATION);
    ASSERT_EQ(ShapeOf(made->dl_tensor), layouts.shape());
    ASSERT_EQ(StridesOf(made->dl_tensor), strides) << Shown(layouts);
    made->deleter(made);
    const DLBridgeWrapSpec spec = SpecOf(*layouts.tensor(), DLBRIDGE_WRAP_SKIP_VALIDATION);
    Error error;
    ASSERT_EQ(dlbridge_wrap(&spec, &made, &error), DLBRIDGE_OK) << error.message;
    ASSERT_EQ(ShapeOf(made->dl_tensor), layouts.shape());
    ASSERT_EQ(StridesOf(made->dl_tensor), strides) << Shown(layouts);
    made->deleter(made);
  }
}

}  // namespace
}  // namespace dlbridge_test
