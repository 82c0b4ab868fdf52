// SPDX-License-Identifier: Apache-2.0
// The library reads nothing past the fields and arrays that DLPack defines, and writes nothing of a
// producer's: structs and arrays end at an unreadable page, and the producer's memory is read-only.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

int released = 0;

// A tensor whose struct, shape, strides and data each end at an unreadable page.
template <class Managed>
class GuardedTensor {
 public:
  GuardedTensor(const Axes& shape, const Axes* strides, size_t struct_size = sizeof(Managed))
      : shape_(shape),
        strides_(strides != nullptr ? *strides : Axes()),
        data_(std::vector<float>(64, 1.0F)),
        struct_(struct_size) {
    Managed managed = {};
    Label(&managed, TensorSpec());
    managed.deleter = [](Managed*) { ++released; };
    DLTensor* tensor = TensorOf(&managed);
    tensor->data = data_.template as<void>();
    tensor->device = Device(kDLCPU);
    tensor->ndim = static_cast<int32_t>(shape.size());
    tensor->dtype = Dtype(kDLFloat, 32);
    tensor->shape = shape_.template as<int64_t>();
    tensor->strides = strides != nullptr ? strides_.template as<int64_t>() : nullptr;
    std::memcpy(struct_.template as<void>(), &managed, struct_size);
  }
  Managed* get() const { return struct_.template as<Managed>(); }
  DLTensor* tensor() const { return TensorOf(get()); }
  // After this call a write to the tensor crashes.
  void Seal() {
    shape_.Seal();
    strides_.Seal();
    data_.Seal();
    struct_.Seal();
  }

 private:
  Guarded shape_;
  Guarded strides_;
  Guarded data_;
  Guarded struct_;
};

struct Layout {
  Axes shape;
  Axes strides;
};

std::vector<Layout> Layouts() {
  return {{{}, {}},
          {{7}, {1}},
          {{2, 3}, {3, 1}},
          {{2, 3}, {1, 2}},
          {{2, 3, 4}, {0, 4, 1}},
          {{3, 1, 2}, {2, INT64_MIN, 1}},
          {{2, 0, 4}, {9, 9, 9}},
          {{2, 2, 2, 2, 2, 2}, {32, 16, 8, 4, 2, 1}},
          // Rejected, without reading further.
          {{2, -1}, {1, 1}},
          {{INT64_MAX, INT64_MAX}, {1, 1}},
          {{4, 4}, {INT64_MAX, INT64_MAX}}};
}

template <class Managed>
void ForEachLayout(const std::function<void(GuardedTensor<Managed>*)>& use) {
  for (const Layout& layout : Layouts()) {
    for (const bool given : {true, false}) {
      SCOPED_TRACE(testing::PrintToString(layout.shape) + (given ? " with" : " without") +
                   " strides");
      GuardedTensor<Managed> tensor(layout.shape, given ? &layout.strides : nullptr);
      tensor.Seal();
      use(&tensor);
    }
  }
}

std::vector<DLBridgePolicy> Policies() {
  std::vector<DLBridgePolicy> policies = {Policy()};
  DLBridgePolicy all =
      Policy(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES |
             DLBRIDGE_POLICY_REJECT_ZERO_STRIDES | DLBRIDGE_POLICY_REQUIRE_WRITABLE |
             DLBRIDGE_POLICY_VOUCH_WRITABLE);
  all.contiguity = DLBRIDGE_CONTIGUITY_F;
  LimitBuffer(&all, 64);
  all.alignment = 4;
  policies.push_back(all);
  policies.push_back(Policy(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES));
  return policies;
}

TEST(GuardPage, LayoutAndFormatStayInside) {
  ForEachLayout<DLManagedTensor>([](GuardedTensor<DLManagedTensor>* tensor) {
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    char text[512];
    dlbridge_layout(tensor->tensor(), 0, &layout, nullptr);
    EXPECT_EQ(dlbridge_tensor_format(tensor->tensor(), 0, text, sizeof text, nullptr, nullptr),
              DLBRIDGE_OK);
    DLPackVersion version;
    EXPECT_EQ(dlbridge_required_version(tensor->tensor(), 0, &version, nullptr), DLBRIDGE_OK);
  });
}

TEST(GuardPage, ABorrowedTensorIsNotReadPastItsEnd) {
  const Axes shape = {2, 3};
  const Guarded extents(shape);
  std::array<float, 6> data = {};
  DLTensor bare = {};
  bare.data = data.data();
  bare.device = Device(kDLCPU);
  bare.ndim = 2;
  bare.dtype = Dtype(kDLFloat, 32);
  bare.shape = extents.as<int64_t>();
  Guarded memory(&bare, sizeof bare);
  memory.Seal();
  const auto* tensor = memory.as<DLTensor>();
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  size_t count = 0;
  EXPECT_EQ(dlbridge_validate(tensor, 0, nullptr, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_layout(tensor, 0, &layout, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(
      dlbridge_diagnose(tensor, DLBRIDGE_KIND_BORROWED, 0, nullptr, nullptr, 0, &count, nullptr),
      DLBRIDGE_OK);
}

TEST(GuardPage, ValidateAndDiagnoseStayInside) {
  for (const DLBridgePolicy& policy : Policies()) {
    const auto diagnose = [&](const void* tensor, DLBridgeKind kind) {
      std::array<DLBridgeFinding, 16> findings;
      size_t count = 0;
      EXPECT_EQ(dlbridge_diagnose(tensor, kind, 0, &policy, findings.data(), findings.size(),
                                  &count, nullptr),
                DLBRIDGE_OK);
    };
    ForEachLayout<DLManagedTensor>([&](GuardedTensor<DLManagedTensor>* tensor) {
      dlbridge_validate_legacy(tensor->get(), &policy, nullptr);
      dlbridge_validate_legacy(tensor->get(), nullptr, nullptr);
      diagnose(tensor->get(), DLBRIDGE_KIND_LEGACY);
    });
    ForEachLayout<DLManagedTensorVersioned>([&](GuardedTensor<DLManagedTensorVersioned>* tensor) {
      dlbridge_validate_versioned(tensor->get(), &policy, nullptr);
      dlbridge_validate_versioned(tensor->get(), nullptr, nullptr);
      diagnose(tensor->get(), DLBRIDGE_KIND_VERSIONED);
    });
  }
}

// Releases the result of a conversion and checks that the producer's deleter ran.
template <class Managed>
void Finish(DLBridgeStatus status, Managed* result, bool released_at_once = false) {
  EXPECT_EQ(released, status == DLBRIDGE_OK && released_at_once ? 1 : 0);
  if (status == DLBRIDGE_OK) {
    result->deleter(result);
    EXPECT_EQ(released, 1);
  }
  released = 0;
}

const uint32_t kOptionSets[] = {0, DLBRIDGE_CONVERT_CANONICAL,
                                DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET | DLBRIDGE_CONVERT_VOUCH_WRITABLE,
                                DLBRIDGE_CONVERT_COPY, DLBRIDGE_CONVERT_SKIP_VALIDATION};

TEST(GuardPage, UpgradeStaysInsideAndWritesNothing) {
  for (const uint32_t flags : kOptionSets) {
    ForEachLayout<DLManagedTensor>([&](GuardedTensor<DLManagedTensor>* tensor) {
      const DLBridgeConvertOptions options = Options(flags);
      DLManagedTensorVersioned* out = nullptr;
      const DLBridgeStatus status = dlbridge_upgrade(tensor->get(), &options, &out, nullptr);
      Finish(status, out, (flags & DLBRIDGE_CONVERT_COPY) != 0);
    });
  }
}

TEST(GuardPage, DowngradeAndAdoptStayInsideAndWriteNothing) {
  const DLBridgePolicy passes = Policy(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES);
  for (const uint32_t flags : kOptionSets) {
    ForEachLayout<DLManagedTensorVersioned>([&](GuardedTensor<DLManagedTensorVersioned>* tensor) {
      DLBridgeConvertOptions options = Options(flags);
      if ((flags & DLBRIDGE_CONVERT_SKIP_VALIDATION) == 0) {
        options.policy = &passes;
      }
      const bool copies = (flags & DLBRIDGE_CONVERT_COPY) != 0;
      DLManagedTensor* down = nullptr;
      DLBridgeStatus status = dlbridge_downgrade(tensor->get(), &options, &down, nullptr);
      Finish(status, down, copies);
      DLManagedTensorVersioned* ours = nullptr;
      status = dlbridge_import(tensor->get(), DLBRIDGE_KIND_VERSIONED, &options, &ours, nullptr);
      Finish(status, ours, copies);
    });
  }
}

TEST(GuardPage, UpgradeManyAndUpgradeIntoStayInside) {
  ForEachLayout<DLManagedTensor>([&](GuardedTensor<DLManagedTensor>* tensor) {
    DLManagedTensor* const source = tensor->get();
    DLManagedTensorVersioned* out = nullptr;
    DLBridgeStatus status = dlbridge_upgrade_many(&source, 1, nullptr, &out, nullptr, nullptr);
    Finish(status, out);
    // Storage is aligned to 16 bytes, so up to 8 bytes separate its end from the unreadable page.
    const size_t size = dlbridge_upgrade_storage_size(source->dl_tensor.ndim);
    const Guarded memory((size + 15) / 16 * 16);
    DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
    storage.memory = memory.as<void>();
    storage.size = size;
    status = dlbridge_upgrade_into(source, nullptr, &storage, &out, nullptr);
    Finish(status, out);
  });
}

TEST(GuardPage, ViewAndShareStayInsideTheSpec) {
  LegacySource source;
  DLManagedTensorVersioned* parent = MustUpgrade(source.get());
  for (const Axes& shape :
       {Axes(), Axes({6}), Axes({3, 2}), Axes({1, 3, 1, 2}), Axes({0, 9}), Axes({9}), Axes({-1})}) {
    const Guarded extents(shape);
    const Guarded steps(CompactStrides(shape));
    for (const bool given : {true, false}) {
      DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
      view.ndim = static_cast<int32_t>(shape.size());
      view.shape = extents.as<int64_t>();
      view.strides = given ? steps.as<int64_t>() : nullptr;
      const Guarded spec(&view, sizeof view);
      DLManagedTensorVersioned* out = nullptr;
      if (dlbridge_view(parent, spec.as<DLBridgeViewSpec>(), &out, nullptr) == DLBRIDGE_OK) {
        DLManagedTensorVersioned* shared = MustShare(out);
        dlbridge_release_versioned(out);
        EXPECT_EQ(ShapeOf(shared->dl_tensor), shape);
        dlbridge_release_versioned(shared);
      }
    }
  }
  dlbridge_release_versioned(parent);
}

TEST(GuardPage, AllocateStaysInsideTheSpec) {
  for (const Axes& shape : {Axes(), Axes({6}), Axes({3, 2}), Axes({0, 9}), Axes({-1})}) {
    const Guarded extents(shape);
    DLBridgeAllocateSpec allocate = DLBRIDGE_ALLOCATE_SPEC_INIT;
    allocate.dtype = {kDLFloat, 32, 1};
    allocate.ndim = static_cast<int32_t>(shape.size());
    allocate.shape = extents.as<int64_t>();
    const Guarded spec(&allocate, sizeof allocate);
    DLManagedTensorVersioned* out = nullptr;
    if (dlbridge_allocate(spec.as<DLBridgeAllocateSpec>(), &out, nullptr) == DLBRIDGE_OK) {
      dlbridge_release_versioned(out);
    }
  }
}

TEST(GuardPage, PolicyListsAreReadOnlyToTheirEnd) {
  const std::vector<DLDevice> devices = {Device(kDLCUDA, -1), Device(kDLROCM, 0)};
  const std::vector<DLDataType> dtypes = {Dtype(kDLInt, 8), Dtype(kDLInt, 16)};
  const Guarded listed_devices(devices);
  const Guarded listed_dtypes(dtypes);
  LegacySource source;
  DLBridgePolicy policy = Policy();
  policy.devices = listed_devices.as<DLDevice>();
  policy.device_count = devices.size();
  EXPECT_EQ(dlbridge_validate_legacy(source.get(), &policy, nullptr), DLBRIDGE_ERROR_POLICY);
  policy = Policy();
  policy.dtypes = listed_dtypes.as<DLDataType>();
  policy.dtype_count = dtypes.size();
  EXPECT_EQ(dlbridge_validate_legacy(source.get(), &policy, nullptr), DLBRIDGE_ERROR_POLICY);
  source.Release();
}

TEST(GuardPage, TextIsReadOnlyToItsLength) {
  for (const std::string text : {"float32", "float32x", "bfloat16x4", "dtype(1,2,3", "float8_e4m3",
                                 "dtype(", "bool", "", "float"}) {
    const Guarded memory(text.data(), text.size());
    DLDataType dtype;
    dlbridge_dtype_parse(memory.as<char>(), text.size(), &dtype, nullptr);
  }
  for (const std::string text :
       {"cuda", "cuda:1", "cuda:", "device(99):0", "device(", "cuda_host", "device(-", ""}) {
    const Guarded memory(text.data(), text.size());
    DLDevice device;
    dlbridge_device_parse(memory.as<char>(), text.size(), &device, nullptr);
  }
}

TEST(GuardPage, TextIsWrittenOnlyWithinTheBuffer) {
  LegacySource source;
  for (size_t size = 0; size < 140; ++size) {
    const Guarded buffer(size);
    char* text = size != 0 ? buffer.as<char>() : nullptr;
    size_t length = 0;
    dlbridge_tensor_format(source.tensor(), 7, text, size, &length, nullptr);
    dlbridge_dtype_format(Dtype(kDLFloat8_e4m3b11fnuz, 8, 300), text, size, &length, nullptr);
    dlbridge_device_format(Device(kDLCUDAManaged, 12345), text, size, &length, nullptr);
  }
  source.Release();
}

// ---------------------------------------------------------------------------- foreign major

TEST(ForeignMajor, IsNotReadPastTheVersion) {
  for (const uint32_t major : {0U, 2U, 0xffffffffU}) {
    // 8 bytes: only `version`; 32: the fields whose position is fixed across majors.
    for (const size_t mapped : {size_t{8}, size_t{16}, size_t{24}, size_t{32}}) {
      DLManagedTensorVersioned foreign = {};
      foreign.version = {major, 0};
      Guarded memory(&foreign, mapped);
      memory.Seal();
      auto* tensor = memory.as<DLManagedTensorVersioned>();
      Error error;
      EXPECT_EQ(dlbridge_validate_versioned(tensor, nullptr, &error), DLBRIDGE_ERROR_VERSION);
      for (const DLBridgePolicy& policy : Policies()) {
        EXPECT_EQ(dlbridge_validate_versioned(tensor, &policy, &error), DLBRIDGE_ERROR_VERSION);
      }
      DLBridgeFinding finding;
      size_t count = 0;
      EXPECT_EQ(dlbridge_diagnose(tensor, DLBRIDGE_KIND_VERSIONED, 0, nullptr, &finding, 1, &count,
                                  nullptr),
                DLBRIDGE_OK);
      EXPECT_EQ(count, 1U);
      EXPECT_EQ(finding.rule, DLBRIDGE_RULE_VERSION_MAJOR);
    }
  }
}

TEST(ForeignMajor, ReleaseReadsNothingPastTheDeleter) {
  DLManagedTensorVersioned foreign = {};
  foreign.version = {2, 0};
  foreign.deleter = [](DLManagedTensorVersioned*) { ++released; };
  const Guarded memory(&foreign, 24);
  dlbridge_release_versioned(memory.as<DLManagedTensorVersioned>());
  EXPECT_EQ(released, 1);
  released = 0;
}

TEST(ForeignMajor, ShareAndViewReadOnlyTheDeleter) {
  DLManagedTensorVersioned foreign = {};
  foreign.version = {2, 0};
  const Guarded memory(&foreign, 32);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  EXPECT_EQ(dlbridge_share(memory.as<DLManagedTensorVersioned>(), &out, nullptr),
            DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(dlbridge_view(memory.as<DLManagedTensorVersioned>(), &spec, &out, nullptr),
            DLBRIDGE_ERROR_FOREIGN_TENSOR);
}

// --------------------------------------------------------------------------------- identify

TEST(Identify, Reads64BytesAndFollowsNoPointer) {
  const Guarded nowhere(8);
  DLManagedTensor legacy = {};
  legacy.dl_tensor.data = nowhere.behind<void>();
  legacy.dl_tensor.device = Device(kDLCPU);
  legacy.dl_tensor.ndim = 3;
  legacy.dl_tensor.dtype = Dtype(kDLFloat, 32);
  legacy.dl_tensor.shape = nowhere.behind<int64_t>();
  legacy.dl_tensor.strides = nowhere.behind<int64_t>();
  legacy.manager_ctx = nowhere.behind<void>();
  legacy.deleter = reinterpret_cast<void (*)(DLManagedTensor*)>(nowhere.behind<void>());
  Guarded memory(&legacy, sizeof legacy);
  memory.Seal();
  EXPECT_EQ(dlbridge_identify(memory.as<void>()), DLBRIDGE_KIND_LEGACY);

  DLManagedTensorVersioned versioned = {};
  versioned.version = {1, 3};
  versioned.manager_ctx = nowhere.behind<void>();
  versioned.deleter = reinterpret_cast<void (*)(DLManagedTensorVersioned*)>(nowhere.behind<void>());
  versioned.dl_tensor = legacy.dl_tensor;
  // The last 16 bytes are unreadable: identify must not need them.
  Guarded first(&versioned, 64);
  first.Seal();
  EXPECT_EQ(dlbridge_identify(first.as<void>()), DLBRIDGE_KIND_VERSIONED);
}

// ------------------------------------------------------------------------------ bad pointers

TEST(BadPointers, AreNotFollowedWhereNdimIsRejected) {
  const Guarded nowhere(8);
  for (const int32_t ndim : {-1, -7, INT32_MIN, 65, 1000, INT32_MAX}) {
    DLManagedTensorVersioned tensor = {};
    tensor.version = {1, 3};
    tensor.dl_tensor.data = nowhere.behind<void>();
    tensor.dl_tensor.device = Device(kDLCPU);
    tensor.dl_tensor.ndim = ndim;
    tensor.dl_tensor.dtype = Dtype(kDLFloat, 32);
    tensor.dl_tensor.shape = nowhere.behind<int64_t>();
    tensor.dl_tensor.strides = nowhere.behind<int64_t>();
    DLManagedTensor legacy = {tensor.dl_tensor, nullptr, nullptr};
    DLManagedTensorVersioned* up = nullptr;
    DLManagedTensor* down = nullptr;
    size_t count = 0;
    Error error;
    EXPECT_NE(dlbridge_validate(&tensor.dl_tensor, 0, nullptr, nullptr), DLBRIDGE_OK);
    EXPECT_NE(dlbridge_validate_legacy(&legacy, nullptr, &error), DLBRIDGE_OK);
    const DLBridgeRule rule = ndim < 0 ? DLBRIDGE_RULE_NDIM_NEGATIVE : DLBRIDGE_RULE_NDIM_LIMIT;
    EXPECT_EQ(error.rule, rule);
    EXPECT_NE(dlbridge_validate_versioned(&tensor, nullptr, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(dlbridge_diagnose(&tensor, DLBRIDGE_KIND_VERSIONED, 0, nullptr, nullptr, 0, &count,
                                nullptr),
              DLBRIDGE_OK);
    for (const uint32_t flags :
         {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
      const DLBridgeConvertOptions options = Options(flags);
      EXPECT_NE(dlbridge_upgrade(&legacy, &options, &up, &error), DLBRIDGE_OK);
      EXPECT_EQ(error.rule, rule);
      EXPECT_NE(dlbridge_downgrade(&tensor, &options, &down, &error), DLBRIDGE_OK);
      EXPECT_EQ(error.rule, rule);
      EXPECT_NE(dlbridge_import(&tensor, DLBRIDGE_KIND_VERSIONED, &options, &up, &error),
                DLBRIDGE_OK);
      EXPECT_EQ(error.rule, rule);
    }
  }
}

TEST(BadPointers, AreNotFollowedByFormatWhereNdimIsNegative) {
  const Guarded nowhere(8);
  DLTensor tensor = {};
  tensor.ndim = -5;
  tensor.shape = nowhere.behind<int64_t>();
  tensor.strides = nowhere.behind<int64_t>();
  char text[256];
  EXPECT_EQ(dlbridge_tensor_format(&tensor, 0, text, sizeof text, nullptr, nullptr), DLBRIDGE_OK);
}

TEST(BadPointers, AreFollowedByFormatForAtMost64Axes) {
  const Axes shape(64, 2);
  const Guarded extents(shape);
  DLTensor tensor = {};
  tensor.ndim = INT32_MAX;
  tensor.shape = extents.as<int64_t>();
  char text[1024];
  EXPECT_EQ(dlbridge_tensor_format(&tensor, 0, text, sizeof text, nullptr, nullptr), DLBRIDGE_OK);
}

TEST(BadPointers, AreNotFollowedAtLevelStruct) {
  const Guarded nowhere(8);
  DLManagedTensor legacy = {};
  legacy.dl_tensor.data = nowhere.behind<void>();
  legacy.dl_tensor.device = Device(kDLCPU);
  legacy.dl_tensor.ndim = 3;
  legacy.dl_tensor.dtype = Dtype(kDLFloat, 32);
  legacy.dl_tensor.shape = nowhere.behind<int64_t>();
  legacy.dl_tensor.strides = nowhere.behind<int64_t>();
  DLBridgePolicy policy = Policy();
  policy.level = DLBRIDGE_LEVEL_STRUCT;
  size_t count = 0;
  EXPECT_EQ(dlbridge_validate_legacy(&legacy, &policy, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(
      dlbridge_diagnose(&legacy, DLBRIDGE_KIND_LEGACY, 0, &policy, nullptr, 0, &count, nullptr),
      DLBRIDGE_OK);
}

TEST(BadPointers, OfDataAreNeverFollowedWithoutACopy) {
  const Guarded nowhere(8);
  TensorSpec spec;
  LegacySource source(spec);
  DLManagedTensor moved = *source.get();
  moved.dl_tensor.data = nowhere.behind<void>();
  moved.deleter = nullptr;
  DLManagedTensorVersioned* up = MustUpgrade(&moved, DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* view = MustView(up, {6});
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  EXPECT_EQ(dlbridge_layout(&view->dl_tensor, 0, &layout, nullptr), DLBRIDGE_OK);
  dlbridge_release_versioned(view);
  dlbridge_release_legacy(MustDowngrade(up));
  source.Release();
}

TEST(ForeignMajor, ConversionsReadNothingPastTheVersion) {
  for (const uint32_t major : {0U, 2U, 0xffffffffU}) {
    for (const size_t mapped : {size_t{8}, size_t{16}, size_t{24}, size_t{32}}) {
      DLManagedTensorVersioned foreign = {};
      foreign.version = {major, 0};
      Guarded memory(&foreign, mapped);
      memory.Seal();
      auto* tensor = memory.as<DLManagedTensorVersioned>();
      Error error;
      for (const uint32_t flags : kOptionSets) {
        const DLBridgeConvertOptions options = Options(flags);
        DLManagedTensorVersioned* ours = nullptr;
        DLManagedTensor* down = nullptr;
        void* out = nullptr;
        DLBridgeKind kind = 0;
        EXPECT_EQ(dlbridge_import(tensor, DLBRIDGE_KIND_VERSIONED, &options, &ours, &error),
                  DLBRIDGE_ERROR_VERSION);
        EXPECT_EQ(dlbridge_downgrade(tensor, &options, &down, &error), DLBRIDGE_ERROR_VERSION);
        for (const DLPackVersion target : {DLPackVersion{1, 3}, DLPackVersion{0, 8}}) {
          EXPECT_EQ(dlbridge_export(tensor, DLBRIDGE_KIND_VERSIONED, target, &options, &out, &kind,
                                    &error),
                    DLBRIDGE_ERROR_VERSION);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlbridge_test
