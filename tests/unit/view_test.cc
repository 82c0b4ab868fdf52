// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

struct ViewSpec {
  Axes shape;
  Axes strides;  // empty: compact
  int64_t offset = 0;
};

// The rule that makes view fail, or 0 if it succeeds; the view is released.
DLBridgeRule RuleOf(const DLManagedTensorVersioned* parent, const ViewSpec& view) {
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = static_cast<int32_t>(view.shape.size());
  spec.shape = view.shape.data();
  spec.strides = view.strides.empty() ? nullptr : view.strides.data();
  spec.offset = view.offset;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  if (dlbridge_view(parent, &spec, &out, &error) == DLBRIDGE_OK) {
    dlbridge_release_versioned(out);
    return DLBRIDGE_RULE_NONE;
  }
  EXPECT_EQ(out, nullptr);
  return error.rule;
}

// A dlbridge-owned parent and its source.
struct Parent {
  explicit Parent(const TensorSpec& spec = TensorSpec(), uint32_t flags = 0)
      : source(spec), tensor(MustAdopt(source.get(), flags)) {}
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;
  ~Parent() { dlbridge_release_versioned(tensor); }

  VersionedSource source;
  DLManagedTensorVersioned* tensor;
};

uintptr_t AddressOf(const DLTensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
}

TEST(View, AllowsAnyShapeOverTheSameElements) {
  const Parent parent;
  const Axes transposed = {1, 3};
  DLManagedTensorVersioned* view = MustView(parent.tensor, {3, 2}, &transposed);
  EXPECT_EQ(ShapeOf(view->dl_tensor), Axes({3, 2}));
  EXPECT_EQ(StridesOf(view->dl_tensor), transposed);
  EXPECT_EQ(AddressOf(view->dl_tensor), AddressOf(parent.tensor->dl_tensor));
  dlbridge_release_versioned(view);
  view = MustView(parent.tensor, {6});
  EXPECT_EQ(StridesOf(view->dl_tensor), Axes({1}));
  dlbridge_release_versioned(view);
  view = MustView(parent.tensor, {});
  EXPECT_EQ(view->dl_tensor.ndim, 0);
  dlbridge_release_versioned(view);
}

TEST(View, KeepsDtypeDeviceFlagsAndVersion) {
  TensorSpec spec;
  spec.dtype = Dtype(kDLFloat8_e5m2, 8);
  spec.device = Device(kDLCUDA, 3);
  spec.flags = kReadOnly | kPadded;
  spec.version = {1, 1};
  const Parent parent(spec);
  DLManagedTensorVersioned* view = MustView(parent.tensor, {2}, nullptr, 1);
  EXPECT_EQ(view->dl_tensor.dtype.code, kDLFloat8_e5m2);
  EXPECT_EQ(view->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(view->dl_tensor.device.device_id, 3);
  EXPECT_EQ(view->flags, spec.flags);
  EXPECT_EQ(view->version.minor, parent.tensor->version.minor);
  EXPECT_EQ(AddressOf(view->dl_tensor), AddressOf(parent.tensor->dl_tensor) + 1);
  dlbridge_release_versioned(view);
}

TEST(View, MustStayInsideAtBothEnds) {
  const Parent parent;  // elements 0 to 5
  EXPECT_EQ(RuleOf(parent.tensor, {{6}, {}, 0}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{7}, {}, 0}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{5}, {}, 1}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{6}, {}, 1}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{}, {}, 5}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{}, {}, 6}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{}, {}, -1}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{6}, {-1}, 5}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{6}, {-1}, 4}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{3}, {2}, 1}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{3}, {2}, 2}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(parent.tensor, {{1000}, {0}, 5}), DLBRIDGE_RULE_NONE);
}

TEST(View, OffsetsThatOverflowAreRejected) {
  const Parent parent;
  for (const int64_t offset : {INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1}) {
    EXPECT_EQ(RuleOf(parent.tensor, {{2}, {}, offset}), DLBRIDGE_RULE_VIEW_BOUNDS);
  }
  EXPECT_EQ(RuleOf(parent.tensor, {{2}, {INT64_MAX}, 0}), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(RuleOf(parent.tensor, {{2}, {INT64_MIN}, 0}), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(RuleOf(parent.tensor, {{INT64_MAX, INT64_MAX}, {0, 0}, 0}),
            DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_EQ(RuleOf(parent.tensor, {{INT64_MAX}, {0}, 0}), DLBRIDGE_RULE_SIZE_OVERFLOW);
}

TEST(View, AnEmptyViewIsAlwaysInside) {
  const Parent parent;
  EXPECT_EQ(RuleOf(parent.tensor, {{0}, {}, 1000}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(parent.tensor, {{5, 0}, {INT64_MAX, 1}, INT64_MIN}), DLBRIDGE_RULE_NONE);
  const Parent empty{TensorSpec(Axes({2, 0}))};
  EXPECT_EQ(RuleOf(empty.tensor, {{0}, {}, 0}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(empty.tensor, {{1}, {}, 0}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(empty.tensor, {{}, {}, 0}), DLBRIDGE_RULE_VIEW_BOUNDS);
}

TEST(View, InvalidSpecsAreRejectedByTheirRule) {
  const Parent parent;
  EXPECT_EQ(RuleOf(parent.tensor, {{-1}, {}, 0}), DLBRIDGE_RULE_EXTENT_NEGATIVE);
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  spec.ndim = -1;
  EXPECT_EQ(dlbridge_view(parent.tensor, &spec, &out, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  spec.ndim = 1;
  EXPECT_EQ(dlbridge_view(parent.tensor, &spec, &out, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_SHAPE_NULL);
  EXPECT_EQ(out, nullptr);
}

TEST(View, OfPackedElementsStartsAtAWholeByte) {
  TensorSpec spec(Axes({16}));
  spec.dtype = Dtype(kDLFloat4_e2m1fn, 4);
  const Parent packed(spec);
  for (int64_t offset = 0; offset < 16; ++offset) {
    EXPECT_EQ(RuleOf(packed.tensor, {{1}, {}, offset}),
              offset % 2 == 0 ? DLBRIDGE_RULE_NONE : DLBRIDGE_RULE_VIEW_OFFSET);
  }
  DLManagedTensorVersioned* view = MustView(packed.tensor, {2}, nullptr, 6);
  EXPECT_EQ(AddressOf(view->dl_tensor), AddressOf(packed.tensor->dl_tensor) + 3);
  dlbridge_release_versioned(view);
  spec.flags = kPadded;
  const Parent padded(spec);
  view = MustView(padded.tensor, {2}, nullptr, 5);
  EXPECT_EQ(AddressOf(view->dl_tensor), AddressOf(padded.tensor->dl_tensor) + 5);
  dlbridge_release_versioned(view);
}

TEST(View, BeforeTheFirstElementMovesDataWhereTheOffsetCannot) {
  TensorSpec spec({6}, {-1});
  spec.start = 64;
  spec.byte_offset = 4;
  const Parent parent(spec);
  const DLTensor& whole = parent.tensor->dl_tensor;
  DLManagedTensorVersioned* view = MustView(parent.tensor, {1}, nullptr, -1);
  EXPECT_EQ(view->dl_tensor.data, whole.data);
  EXPECT_EQ(view->dl_tensor.byte_offset, 0U);
  dlbridge_release_versioned(view);
  view = MustView(parent.tensor, {6}, nullptr, -5);
  EXPECT_EQ(AddressOf(view->dl_tensor), AddressOf(whole) - 20);
  dlbridge_release_versioned(view);
}

TEST(View, DoesNotChangeDataThatIsNotAnAddress) {
  // Handles, and devices for which the meaning of `data` is not specified.
  for (const int32_t type : {kDLOpenCL, kDLVulkan, kDLMetal, kDLVPI, kDLWebGPU, kDLExtDev,
                             kDLHexagon, kDLMAIA, kDLTrn}) {
    TensorSpec spec({4}, {-1});
    spec.device = Device(type);
    VersionedSource source(spec);
    DLManagedTensorVersioned* parent = nullptr;
    if (dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, nullptr, &parent, nullptr) !=
        DLBRIDGE_OK) {
      source.Release();  // a handle has no bytes before its start
      continue;
    }
    DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
    view.offset = -3;
    DLManagedTensorVersioned* out = nullptr;
    if (dlbridge_view(parent, &view, &out, nullptr) == DLBRIDGE_OK) {
      EXPECT_EQ(out->dl_tensor.data, parent->dl_tensor.data) << "device type " << type;
      dlbridge_release_versioned(out);
    }
    dlbridge_release_versioned(parent);
  }
}

TEST(View, OnAHandleMovesTheOffset) {
  TensorSpec spec(Axes({6}));
  spec.device = Device(kDLVulkan);
  spec.byte_offset = 8;
  const Parent parent(spec);
  DLManagedTensorVersioned* view = MustView(parent.tensor, {2}, nullptr, 3);
  EXPECT_EQ(view->dl_tensor.data, parent.tensor->dl_tensor.data);
  EXPECT_EQ(view->dl_tensor.byte_offset, 20U);
  dlbridge_release_versioned(view);
}

TEST(View, OfAnAlteredStructIsRejected) {
  const Parent parent;
  int64_t elsewhere[] = {100, 100};
  DLTensor& fields = parent.tensor->dl_tensor;
  const DLTensor before = fields;
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  const auto refused = [&] {
    Error error;
    EXPECT_EQ(dlbridge_view(parent.tensor, &spec, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("tensor"));
    EXPECT_EQ(dlbridge_share(parent.tensor, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(out, nullptr);
  };
  fields.ndim = 1;
  refused();
  fields = before;
  fields.shape = elsewhere;
  refused();
  fields = before;
  fields.strides = nullptr;
  refused();
  fields = before;
}

TEST(View, ChecksOverwrittenExtentsOfTheParent) {
  const Parent parent;
  parent.tensor->dl_tensor.shape[0] = -5;
  EXPECT_EQ(RuleOf(parent.tensor, {{1}, {}, 0}), DLBRIDGE_RULE_EXTENT_NEGATIVE);
  parent.tensor->dl_tensor.shape[0] = INT64_MAX;
  EXPECT_EQ(RuleOf(parent.tensor, {{1}, {}, 0}), DLBRIDGE_RULE_COUNT_OVERFLOW);
  parent.tensor->dl_tensor.shape[0] = 2;
}

// Lowest and highest element, from the definition.
void ReachOf(const Axes& shape, const Axes& strides, int64_t* lowest, int64_t* highest) {
  *lowest = 0;
  *highest = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? *lowest : *highest) += reach;
  }
}

void PickAxes(Random* random, Axes* shape, Axes* strides) {
  const auto ndim = static_cast<size_t>(random->Between(0, 3));
  for (size_t i = 0; i < ndim; ++i) {
    shape->push_back(random->Between(1, 4));
    strides->push_back(random->Between(-6, 6));
  }
}

TEST(View, IsAllowedExactlyWhereItStaysInside) {
  Random random(21);
  size_t inside = 0;
  const size_t rounds = Scaled(20000);
  for (size_t round = 0; round < rounds; ++round) {
    Axes shape;
    Axes strides;
    PickAxes(&random, &shape, &strides);
    TensorSpec spec(shape, strides);
    spec.start = 256;
    const Parent parent(spec);
    ViewSpec view;
    PickAxes(&random, &view.shape, &view.strides);
    view.offset = random.Between(-12, 12);
    int64_t lowest = 0;
    int64_t highest = 0;
    ReachOf(shape, strides, &lowest, &highest);
    int64_t low = 0;
    int64_t high = 0;
    ReachOf(view.shape, view.strides.empty() ? CompactStrides(view.shape) : view.strides, &low,
            &high);
    const bool fits = view.offset + low >= lowest && view.offset + high <= highest;
    inside += fits ? 1 : 0;
    ASSERT_EQ(RuleOf(parent.tensor, view), fits ? DLBRIDGE_RULE_NONE : DLBRIDGE_RULE_VIEW_BOUNDS)
        << "parent " << testing::PrintToString(shape) << testing::PrintToString(strides)
        << ", view " << testing::PrintToString(view.shape) << testing::PrintToString(view.strides)
        << " at " << view.offset;
  }
  if (rounds > 1000) {
    EXPECT_GT(inside, rounds / 20);
  }
}

TEST(View, OfAViewStaysInsideTheView) {
  const Parent parent{TensorSpec(Axes({10}))};
  DLManagedTensorVersioned* view = MustView(parent.tensor, {4}, nullptr, 3);
  EXPECT_EQ(RuleOf(view, {{4}, {}, 0}), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(RuleOf(view, {{5}, {}, 0}), DLBRIDGE_RULE_VIEW_BOUNDS);
  EXPECT_EQ(RuleOf(view, {{1}, {}, -1}), DLBRIDGE_RULE_VIEW_BOUNDS);
  DLManagedTensorVersioned* inner = MustView(view, {2}, nullptr, 1);
  dlbridge_release_versioned(view);
  EXPECT_EQ(AddressOf(inner->dl_tensor), AddressOf(parent.tensor->dl_tensor) + 16);
  dlbridge_release_versioned(inner);
}

}  // namespace
}  // namespace dlbridge_test
