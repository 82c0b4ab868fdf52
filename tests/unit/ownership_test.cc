// SPDX-License-Identifier: Apache-2.0
// Ownership after each call: every deleter runs exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/aligned.h"
#include "support/allocations.h"
#include "support/scale.h"
#include "support/tensors.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace dlbridge_test {
namespace {

// A pointer that no call returns; outputs hold it until they are written.
template <class T>
T* Nowhere() {
  return reinterpret_cast<T*>(0x5a5a);
}

// ---------------------------------------------------------------------------- rejected calls

// A legacy source, or a call on it, that is rejected.
struct Refused {
  const char* name;
  TensorSpec spec;
  DLBridgeConvertOptions options;
  DLBridgeStatus status;
  DLBridgeRule rule;
};

TensorSpec With(TensorSpec spec, void (*change)(TensorSpec*)) {
  change(&spec);
  return spec;
}

DLBridgeConvertOptions Broken(void (*change)(DLBridgeConvertOptions*)) {
  DLBridgeConvertOptions options = Options();
  change(&options);
  return options;
}

const DLBridgePolicy& RequireF() {
  static const DLBridgePolicy policy = [] {
    DLBridgePolicy demanding = Policy();
    demanding.contiguity = DLBRIDGE_CONTIGUITY_F;
    return demanding;
  }();
  return policy;
}

// Rejected for every kind of source.
std::vector<Refused> CommonRefusals() {
  return {
      {"ndim_negative", With({}, [](TensorSpec* s) { s->ndim = -3; }), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NDIM_NEGATIVE},
      {"shape_null", With({}, [](TensorSpec* s) { s->null_shape = true; }), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_SHAPE_NULL},
      {"bits_zero", With({}, [](TensorSpec* s) { s->dtype.bits = 0; }), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DTYPE_BITS_ZERO},
      {"data_null", With({}, [](TensorSpec* s) { s->null_data = true; }), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DATA_NULL},
      {"dim_negative", TensorSpec({2, -3}, {1, 1}), Options(), DLBRIDGE_ERROR_INVALID_TENSOR,
       DLBRIDGE_RULE_EXTENT_NEGATIVE},
      {"count_overflow", TensorSpec({INT64_MAX, 4}, {1, 1}), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_COUNT_OVERFLOW},
      {"extent_overflow", TensorSpec({3, 3}, {INT64_MAX, 1}), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_OFFSET_OVERFLOW},
      {"dtype_unknown", With({}, [](TensorSpec* s) { s->dtype.code = 200; }), Options(),
       DLBRIDGE_ERROR_UNKNOWN_CODE, DLBRIDGE_RULE_DTYPE_UNKNOWN},
      {"device_unknown", With({}, [](TensorSpec* s) { s->device = Device(99); }), Options(),
       DLBRIDGE_ERROR_UNKNOWN_CODE, DLBRIDGE_RULE_DEVICE_UNKNOWN},
      {"fold_on_handle", With({}, [](TensorSpec* s) { s->device = Device(kDLOpenCL); }),
       Options(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET), DLBRIDGE_ERROR_UNSUPPORTED,
       DLBRIDGE_RULE_OFFSET_FOLD},
      {"struct_size",
       {},
       Broken([](DLBridgeConvertOptions* o) { o->struct_size = 8; }),
       DLBRIDGE_ERROR_INVALID_ARGUMENT,
       DLBRIDGE_RULE_NONE},
      {"flag_as_option",
       {},
       Options(DLPACK_FLAG_BITMASK_READ_ONLY),
       DLBRIDGE_ERROR_INVALID_ARGUMENT,
       DLBRIDGE_RULE_NONE},
      {"unknown_option", {}, Options(1U << 30), DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_RULE_NONE},
      {"policy",
       {},
       Broken([](DLBridgeConvertOptions* o) { o->policy = &RequireF(); }),
       DLBRIDGE_ERROR_POLICY,
       DLBRIDGE_RULE_CONTIGUITY},
      {"vouched_ndim", With({}, [](TensorSpec* s) { s->ndim = -1000; }),
       Options(DLBRIDGE_CONVERT_SKIP_VALIDATION), DLBRIDGE_ERROR_INVALID_TENSOR,
       DLBRIDGE_RULE_NDIM_NEGATIVE},
  };
}

std::vector<Refused> With(std::vector<Refused> list, const std::vector<Refused>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

// Rejected by the functions that accept COPY.
std::vector<Refused> CopyRefusals() {
  return {
      {"copy_from_device", With({}, [](TensorSpec* s) { s->device = Device(kDLCUDA); }),
       Options(DLBRIDGE_CONVERT_COPY), DLBRIDGE_ERROR_UNSUPPORTED, DLBRIDGE_RULE_COPY_DEVICE},
      {"copy_of_nothing", With({}, [](TensorSpec* s) { s->null_data = true; }),
       Options(DLBRIDGE_CONVERT_COPY), DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DATA_NULL},
      {"copy_too_large", TensorSpec({1LL << 40, 1LL << 21}, {0, 0}),
       Options(DLBRIDGE_CONVERT_COPY | DLBRIDGE_CONVERT_SKIP_VALIDATION),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_SIZE_OVERFLOW},
  };
}

// Rejected for a versioned source only.
std::vector<Refused> VersionedRefusals() {
  return {
      {"major",
       With({},
            [](TensorSpec* s) {
              s->version = {2, 0};
            }),
       Options(), DLBRIDGE_ERROR_VERSION, DLBRIDGE_RULE_VERSION_MAJOR},
      {"major_zero",
       With({},
            [](TensorSpec* s) {
              s->version = {0, 8};
            }),
       Options(), DLBRIDGE_ERROR_VERSION, DLBRIDGE_RULE_VERSION_MAJOR},
      {"strides_null", With({}, [](TensorSpec* s) { s->null_strides = true; }), Options(),
       DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_STRIDES_NULL},
      {"flags_unknown", With({}, [](TensorSpec* s) { s->flags = 1U << 3; }), Options(),
       DLBRIDGE_ERROR_UNKNOWN_CODE, DLBRIDGE_RULE_FLAGS_UNKNOWN},
  };
}

std::vector<Refused> VersionedOutRefusals() {
  return {
      {"too_new", With({}, [](TensorSpec* s) { s->dtype = Dtype(kDLFloat8_e5m2, 8); }),
       Options(0, {1, 0}), DLBRIDGE_ERROR_VERSION, DLBRIDGE_RULE_REQUIRED_VERSION},
      {"options_major",
       {},
       Options(0, {2, 0}),
       DLBRIDGE_ERROR_INVALID_ARGUMENT,
       DLBRIDGE_RULE_NONE},
  };
}

std::vector<Refused> LossRefusals() {
  return {
      {"read_only", With({}, [](TensorSpec* s) { s->flags = kReadOnly; }), Options(),
       DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_LEGACY_READ_ONLY},
      {"padded",
       With({},
            [](TensorSpec* s) {
              s->flags = kPadded;
              s->dtype = Dtype(kDLFloat4_e2m1fn, 4);
            }),
       Options(), DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_LEGACY_PADDED},
      {"new_dtype", With({}, [](TensorSpec* s) { s->dtype = Dtype(kDLFloat8_e5m2, 8); }), Options(),
       DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_LEGACY_DTYPE},
      {"new_device", With({}, [](TensorSpec* s) { s->device = Device(kDLMAIA); }), Options(),
       DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_LEGACY_DEVICE},
  };
}

// Calls a conversion that must fail, and compares the source with its snapshot.
template <class From, class To, class Convert>
void ExpectRefused(const Refused& refused, Convert convert) {
  SCOPED_TRACE(refused.name);
  Source<From> source(refused.spec);
  To* out = Nowhere<To>();
  Error error;
  EXPECT_EQ(convert(source.get(), &refused.options, &out, &error), refused.status) << error.message;
  EXPECT_EQ(error.status, refused.status);
  EXPECT_EQ(error.rule, refused.rule) << error.message;
  EXPECT_NE(error.message[0], '\0');
  EXPECT_EQ(out, Nowhere<To>()) << "an output was written on failure";
  EXPECT_TRUE(source.Untouched());
  // The result is the same without an error struct.
  EXPECT_EQ(convert(source.get(), &refused.options, &out, nullptr), refused.status);
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

TEST(Rejection, LeavesTheSourceOfUpgradeToTheCaller) {
  for (const Refused& refused :
       With(With(CommonRefusals(), CopyRefusals()), VersionedOutRefusals())) {
    ExpectRefused<DLManagedTensor, DLManagedTensorVersioned>(refused, dlbridge_upgrade);
  }
}

TEST(Rejection, LeavesTheSourceOfUpgradeIntoToTheCaller) {
  static int released = 0;
  const auto into = [](DLManagedTensor* source, const DLBridgeConvertOptions* options,
                       DLManagedTensorVersioned** out, DLBridgeError* error) {
    alignas(16) static char memory[4096];
    DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
    storage.memory = memory;
    storage.size = sizeof memory;
    storage.release = [](void*, void*) { ++released; };
    return dlbridge_upgrade_into(source, options, &storage, out, error);
  };
  for (const Refused& refused : With(CommonRefusals(), VersionedOutRefusals())) {
    ExpectRefused<DLManagedTensor, DLManagedTensorVersioned>(refused, into);
  }
  ExpectRefused<DLManagedTensor, DLManagedTensorVersioned>({"copy",
                                                            {},
                                                            Options(DLBRIDGE_CONVERT_COPY),
                                                            DLBRIDGE_ERROR_INVALID_ARGUMENT,
                                                            DLBRIDGE_RULE_NONE},
                                                           into);
  EXPECT_EQ(released, 0);
}

TEST(Rejection, LeavesTheSourceOfDowngradeToTheCaller) {
  for (const Refused& refused :
       With(With(With(CommonRefusals(), CopyRefusals()), VersionedRefusals()), LossRefusals())) {
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensor>(refused, dlbridge_downgrade);
  }
}

TEST(Rejection, LeavesTheSourceOfImportToTheCaller) {
  const auto import = [](DLManagedTensorVersioned* source, const DLBridgeConvertOptions* options,
                         DLManagedTensorVersioned** out, DLBridgeError* error) {
    return dlbridge_import(source, DLBRIDGE_KIND_VERSIONED, options, out, error);
  };
  for (const Refused& refused :
       With(With(With(CommonRefusals(), CopyRefusals()), VersionedRefusals()),
            VersionedOutRefusals())) {
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensorVersioned>(refused, import);
  }
}

template <class From, class To>
DLBridgeStatus ConvertTo(From* source, DLBridgeKind kind, DLPackVersion target,
                         const DLBridgeConvertOptions* options, To** out, DLBridgeError* error) {
  void* result = *out;
  DLBridgeKind out_kind = 77;
  const DLBridgeStatus status =
      dlbridge_export(source, kind, target, options, &result, &out_kind, error);
  if (status != DLBRIDGE_OK) {
    EXPECT_EQ(out_kind, 77) << "an output was written on failure";
  }
  *out = static_cast<To*>(result);
  return status;
}

TEST(Rejection, LeavesTheSourceOfExportToTheCaller) {
  const auto legacy_up = [](DLManagedTensor* source, const DLBridgeConvertOptions* options,
                            DLManagedTensorVersioned** out, DLBridgeError* error) {
    return ConvertTo(source, DLBRIDGE_KIND_LEGACY, {1, 3}, options, out, error);
  };
  const auto versioned_up = [](DLManagedTensorVersioned* source,
                               const DLBridgeConvertOptions* options,
                               DLManagedTensorVersioned** out, DLBridgeError* error) {
    return ConvertTo(source, DLBRIDGE_KIND_VERSIONED, {1, 3}, options, out, error);
  };
  const auto versioned_down = [](DLManagedTensorVersioned* source,
                                 const DLBridgeConvertOptions* options, DLManagedTensor** out,
                                 DLBridgeError* error) {
    return ConvertTo(source, DLBRIDGE_KIND_VERSIONED, {0, 8}, options, out, error);
  };
  for (const Refused& refused : With(CommonRefusals(), CopyRefusals())) {
    ExpectRefused<DLManagedTensor, DLManagedTensorVersioned>(refused, legacy_up);
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensorVersioned>(refused, versioned_up);
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensor>(refused, versioned_down);
  }
  for (const Refused& refused : VersionedRefusals()) {
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensorVersioned>(refused, versioned_up);
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensor>(refused, versioned_down);
  }
  for (const Refused& refused : LossRefusals()) {
    ExpectRefused<DLManagedTensorVersioned, DLManagedTensor>(refused, versioned_down);
  }
}

TEST(Rejection, LeavesTheSourceOfALegacyToLegacyExportToTheCaller) {
  const auto stay = [](DLManagedTensor* source, const DLBridgeConvertOptions* options,
                       DLManagedTensor** out, DLBridgeError* error) {
    return ConvertTo(source, DLBRIDGE_KIND_LEGACY, {0, 8}, options, out, error);
  };
  for (const Refused& refused : CommonRefusals()) {
    if (refused.rule != DLBRIDGE_RULE_OFFSET_FOLD) {
      ExpectRefused<DLManagedTensor, DLManagedTensor>(refused, stay);
    }
  }
}

TEST(Rejection, OfViewAndShareLeavesTheParentUnchanged) {
  LegacySource source;
  DLManagedTensorVersioned* parent = MustUpgrade(source.get());
  const DLManagedTensorVersioned before = *parent;
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  const Axes shape = {7};
  spec.ndim = 1;
  spec.shape = shape.data();
  auto* out = Nowhere<DLManagedTensorVersioned>();
  Error error;
  EXPECT_EQ(dlbridge_view(parent, &spec, &out, &error), DLBRIDGE_ERROR_BOUNDS);
  EXPECT_EQ(out, Nowhere<DLManagedTensorVersioned>());
  EXPECT_EQ(std::memcmp(&before, parent, sizeof before), 0);
  dlbridge_release_versioned(parent);

  VersionedSource foreign;
  EXPECT_EQ(dlbridge_share(foreign.get(), &out, &error), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_TRUE(error.Says("dlbridge_import"));
  EXPECT_EQ(dlbridge_view(foreign.get(), &spec, &out, &error), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(out, Nowhere<DLManagedTensorVersioned>());
  EXPECT_TRUE(foreign.Untouched());
  foreign.Release();
}

TEST(Rejection, OfNullArgumentsNamesThem) {
  LegacySource legacy;
  VersionedSource versioned;
  DLManagedTensorVersioned* out = nullptr;
  DLManagedTensor* down = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade(nullptr, nullptr, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("source"));
  EXPECT_EQ(dlbridge_upgrade(legacy.get(), nullptr, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("out"));
  EXPECT_EQ(dlbridge_upgrade_into(legacy.get(), nullptr, nullptr, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("storage"));
  EXPECT_EQ(dlbridge_upgrade_many(nullptr, 1, nullptr, &out, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("sources"));
  EXPECT_EQ(dlbridge_downgrade(nullptr, nullptr, &down, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_import(versioned.get(), DLBRIDGE_KIND_VERSIONED, nullptr, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_share(nullptr, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("tensor"));
  EXPECT_EQ(dlbridge_view(versioned.get(), nullptr, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("spec"));
  EXPECT_EQ(dlbridge_allocate(nullptr, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(legacy.Untouched());
  EXPECT_TRUE(versioned.Untouched());
  legacy.Release();
  versioned.Release();
}

TEST(Rejection, OfExportsArgumentsNamesThem) {
  LegacySource source;
  void* out = nullptr;
  DLBridgeKind kind = 0;
  Error error;
  const auto refuses = [&](DLBridgeStatus status, const char* argument) {
    return status == DLBRIDGE_ERROR_INVALID_ARGUMENT && error.Says(argument);
  };
  EXPECT_TRUE(refuses(dlbridge_export(nullptr, 1, {1, 3}, nullptr, &out, &kind, &error), "tensor"));
  EXPECT_TRUE(
      refuses(dlbridge_export(source.get(), 1, {1, 3}, nullptr, nullptr, &kind, &error), "out"));
  EXPECT_TRUE(refuses(dlbridge_export(source.get(), 1, {1, 3}, nullptr, &out, nullptr, &error),
                      "out_kind"));
  for (const DLBridgeKind bad : {-1, 3, 4, 5}) {
    EXPECT_TRUE(
        refuses(dlbridge_export(source.get(), bad, {1, 3}, nullptr, &out, &kind, &error), "kind"));
  }
  EXPECT_TRUE(
      refuses(dlbridge_export(source.get(), 1, {2, 0}, nullptr, &out, &kind, &error), "target"));
  const DLBridgeConvertOptions options = Options(0, {1, 3});
  EXPECT_TRUE(
      refuses(dlbridge_export(source.get(), 1, {1, 3}, &options, &out, &kind, &error), "version"));
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

// --------------------------------------------------------------------------------- success

TEST(Success, ReleasesTheSourceOnceWithTheResult) {
  for (const uint32_t flags :
       {0U, uint32_t{DLBRIDGE_CONVERT_VOUCH_WRITABLE}, uint32_t{DLBRIDGE_CONVERT_SKIP_VALIDATION},
        uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET}}) {
    LegacySource legacy;
    DLManagedTensorVersioned* up = MustUpgrade(legacy.get(), flags);
    EXPECT_TRUE(legacy.Untouched());
    up->deleter(up);
    EXPECT_EQ(legacy.deletions(), 1);

    VersionedSource versioned;
    DLManagedTensor* down = MustDowngrade(versioned.get(), flags);
    EXPECT_TRUE(versioned.Untouched());
    down->deleter(down);
    EXPECT_EQ(versioned.deletions(), 1);

    VersionedSource foreign;
    DLManagedTensorVersioned* ours = MustAdopt(foreign.get(), flags);
    EXPECT_NE(ours, foreign.get());
    EXPECT_TRUE(foreign.Untouched());
    ours->deleter(ours);
    EXPECT_EQ(foreign.deletions(), 1);
  }
}

TEST(Success, OfACopyReleasesTheSourceAtOnce) {
  LegacySource legacy;
  DLManagedTensorVersioned* up = MustUpgrade(legacy.get(), DLBRIDGE_CONVERT_COPY);
  EXPECT_EQ(legacy.deletions(), 1);
  dlbridge_release_versioned(up);
  VersionedSource versioned;
  DLManagedTensor* down = MustDowngrade(versioned.get(), DLBRIDGE_CONVERT_COPY);
  EXPECT_EQ(versioned.deletions(), 1);
  dlbridge_release_legacy(down);
  VersionedSource foreign;
  DLManagedTensorVersioned* ours = MustAdopt(foreign.get(), DLBRIDGE_CONVERT_COPY);
  EXPECT_EQ(foreign.deletions(), 1);
  dlbridge_release_versioned(ours);
}

TEST(NullDeleter, IsValidOnInputAndTheResultHasADeleter) {
  TensorSpec spec;
  spec.null_deleter = true;
  LegacySource legacy(spec);
  DLManagedTensorVersioned* up = MustUpgrade(legacy.get());
  ASSERT_NE(up->deleter, nullptr);
  up->deleter(up);

  VersionedSource versioned(spec);
  DLManagedTensor* down = MustDowngrade(versioned.get());
  ASSERT_NE(down->deleter, nullptr);
  down->deleter(down);

  VersionedSource foreign(spec);
  DLManagedTensorVersioned* ours = MustAdopt(foreign.get());
  ASSERT_NE(ours->deleter, nullptr);
  ours->deleter(ours);

  LegacySource copied(spec);
  dlbridge_release_versioned(MustUpgrade(copied.get(), DLBRIDGE_CONVERT_COPY));
  EXPECT_TRUE(copied.Untouched());
}

TEST(NullDeleter, IsKeptOnTheOriginal) {
  TensorSpec spec;
  spec.null_deleter = true;
  VersionedSource source(spec);
  DLManagedTensor* down = MustDowngrade(source.get());
  EXPECT_EQ(MustUpgrade(down), source.get());
  EXPECT_EQ(source.get()->deleter, nullptr);
  dlbridge_release_versioned(source.get());
  EXPECT_TRUE(source.Untouched());
}

TEST(Release, AcceptsNullAndTensorsWithoutDeleter) {
  dlbridge_release_legacy(nullptr);
  dlbridge_release_versioned(nullptr);
  DLManagedTensor legacy = {};
  dlbridge_release_legacy(&legacy);
  DLManagedTensorVersioned versioned = {};
  dlbridge_release_versioned(&versioned);
}

TEST(Release, CallsTheDeleterOfAnyMajor) {
  for (const uint32_t major : {0U, 1U, 2U, 77U, 0xffffffffU}) {
    TensorSpec spec;
    spec.version = {major, 5};
    VersionedSource source(spec);
    dlbridge_release_versioned(source.get());
    EXPECT_EQ(source.deletions(), 1);
  }
}

// ----------------------------------------------------------------------------- round trips

TEST(RoundTrip, ReturnsTheVersionedOriginal) {
  TensorSpec spec;
  spec.version = {1, 1};
  spec.flags = kReadOnly | kCopied;
  VersionedSource source(spec);
  for (int i = 0; i < 3; ++i) {
    DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_DROP_READ_ONLY);
    EXPECT_NE(static_cast<void*>(down), static_cast<void*>(source.get()));
    EXPECT_EQ(MustUpgrade(down), source.get());
    EXPECT_TRUE(source.Untouched());
  }
  source.Release();
}

// A legacy struct cannot record writability, so the library remembers what the caller stated.
TEST(RoundTrip, RemembersThatALegacyTensorIsWritable) {
  for (const bool is_shared : {false, true}) {
    LegacySource source;
    DLManagedTensorVersioned* up = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
    DLManagedTensorVersioned* share = is_shared ? MustShare(up) : nullptr;
    DLManagedTensor* down = MustDowngrade(up);
    EXPECT_NE(down, source.get());
    DLManagedTensorVersioned* again = MustUpgrade(down);
    EXPECT_EQ(again->flags, 0U) << is_shared;
    EXPECT_TRUE(source.Untouched());
    dlbridge_release_versioned(share);
    dlbridge_release_versioned(again);
    EXPECT_EQ(source.deletions(), 1);
  }
}

TEST(RoundTrip, ByExportRemembersThatALegacyTensorIsWritable) {
  LegacySource source;
  void* up = nullptr;
  void* down = nullptr;
  DLBridgeKind kind = 0;
  const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  ASSERT_EQ(
      dlbridge_export(source.get(), DLBRIDGE_KIND_LEGACY, {1, 0}, &options, &up, &kind, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(kind, DLBRIDGE_KIND_VERSIONED);
  EXPECT_EQ(static_cast<DLManagedTensorVersioned*>(up)->version.minor, 0U);
  ASSERT_EQ(dlbridge_export(up, kind, {0, 8}, nullptr, &down, &kind, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(kind, DLBRIDGE_KIND_LEGACY);
  DLManagedTensorVersioned* again = MustUpgrade(static_cast<DLManagedTensor*>(down));
  EXPECT_EQ(again->flags, 0U);
  dlbridge_release_versioned(again);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, DoesNotGrowWhenRepeated) {
  if (!Allocations::Counts()) {
    GTEST_SKIP() << "allocations cannot be counted here";
  }
  VersionedSource source;
  // Options that the original does not satisfy, so that each conversion makes a new node.
  const DLBridgeConvertOptions canonical = Options(DLBRIDGE_CONVERT_CANONICAL);
  DLManagedTensorVersioned* tensor = source.get();
  const Allocations allocations;
  int64_t live = 0;
  for (int i = 0; i < 200; ++i) {
    DLManagedTensor* down = nullptr;
    ASSERT_EQ(dlbridge_downgrade(tensor, &canonical, &down, nullptr), DLBRIDGE_OK);
    ASSERT_EQ(dlbridge_upgrade(down, &canonical, &tensor, nullptr), DLBRIDGE_OK);
    if (i == 0) {
      live = allocations.live();
    }
  }
  EXPECT_EQ(live, 1) << "one node replaces the whole chain";
  EXPECT_EQ(allocations.live(), live);
  tensor->deleter(tensor);
}

TEST(RoundTrip, OfASharedTensorDoesNotGrowWhenRepeated) {
  if (!Allocations::Counts()) {
    GTEST_SKIP() << "allocations cannot be counted here";
  }
  LegacySource source;
  const Allocations allocations;
  DLManagedTensorVersioned* keeper = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* tensor = MustShare(keeper);
  const int64_t live = allocations.live();
  for (int i = 0; i < 100; ++i) {
    DLManagedTensor* down = MustDowngrade(tensor);
    ASSERT_NE(down, source.get()) << "the other owner still needs it";
    tensor = MustUpgrade(down);
  }
  EXPECT_EQ(allocations.live(), live);
  dlbridge_release_versioned(keeper);
  EXPECT_EQ(source.deletions(), 0);
  // `tensor` is now the only owner.
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, OfTheFirstHandleOfASharedTensorKeepsTheOther) {
  LegacySource source;
  DLManagedTensorVersioned* first = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* second = MustShare(first);
  DLManagedTensor* down = MustDowngrade(first);
  ASSERT_NE(down, source.get());
  dlbridge_release_legacy(down);
  EXPECT_EQ(source.deletions(), 0);
  EXPECT_EQ(second->dl_tensor.data, source.tensor()->data);
  dlbridge_release_legacy(MustDowngrade(second));
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, OfAViewIsNeverTheOriginal) {
  LegacySource source;
  DLManagedTensorVersioned* whole = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* view = MustView(whole, {3});
  dlbridge_release_versioned(whole);
  DLManagedTensorVersioned* shared = MustShare(view);
  dlbridge_release_versioned(view);
  DLManagedTensor* down = MustDowngrade(shared);
  ASSERT_NE(down, source.get());
  EXPECT_EQ(ShapeOf(down->dl_tensor), Axes({3}));
  DLManagedTensorVersioned* up = MustUpgrade(down);
  EXPECT_EQ(ShapeOf(up->dl_tensor), Axes({3}));
  EXPECT_EQ(up->flags, 0U);
  dlbridge_release_versioned(up);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, KeepsReadOnlyThroughLegacyAndBack) {
  for (const uint32_t reshape : {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}}) {
    TensorSpec spec;
    spec.flags = kReadOnly | kPadded | kCopied;
    VersionedSource source(spec);
    DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_DROP_READ_ONLY);
    // VOUCH_WRITABLE concerns tensors of unknown writability; this one was READ_ONLY.
    DLManagedTensorVersioned* up = MustUpgrade(down, DLBRIDGE_CONVERT_VOUCH_WRITABLE | reshape);
    EXPECT_EQ(up->flags & spec.flags, spec.flags);
    dlbridge_release_versioned(up);
  }
}

TEST(RoundTrip, KeepsReadOnlyOfUnknownWritability) {
  LegacySource source;
  DLManagedTensorVersioned* keeper = MustUpgrade(source.get());
  DLManagedTensorVersioned* other = MustShare(keeper);
  DLManagedTensor* down = MustDowngrade(other, DLBRIDGE_CONVERT_DROP_READ_ONLY);
  DLManagedTensorVersioned* up = MustUpgrade(down, DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  EXPECT_EQ(up->flags & kReadOnly, kReadOnly);
  dlbridge_release_versioned(up);
  dlbridge_release_versioned(keeper);
}

TEST(RoundTrip, AddsTheCallersFlagsToTheOriginal) {
  VersionedSource source;
  DLManagedTensor* down = MustDowngrade(source.get());
  DLBridgeConvertOptions options = Options();
  options.tensor_flags = kReadOnly;
  DLManagedTensorVersioned* up = nullptr;
  ASSERT_EQ(dlbridge_upgrade(down, &options, &up, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(up->flags & kReadOnly, kReadOnly) << "the caller stated READ_ONLY";
  dlbridge_release_versioned(up);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, MakesANewNodeWhereTheOriginalIsTooNew) {
  TensorSpec spec;
  spec.version = {1, 3};
  VersionedSource source(spec);
  DLManagedTensor* down = MustDowngrade(source.get());
  const DLBridgeConvertOptions old = Options(0, {1, 1});
  DLManagedTensorVersioned* up = nullptr;
  ASSERT_EQ(dlbridge_upgrade(down, &old, &up, nullptr), DLBRIDGE_OK);
  EXPECT_NE(up, source.get());
  EXPECT_EQ(up->version.minor, 1U);
  dlbridge_release_versioned(up);
}

TEST(RoundTrip, SurvivesAConsumerThatClearsTheContext) {
  VersionedSource source;
  DLManagedTensor* down = MustDowngrade(source.get());
  down->manager_ctx = nullptr;
  down->deleter(down);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(RoundTrip, DoesNotAcceptACopyOfADlbridgeStruct) {
  VersionedSource source;
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  DLManagedTensorVersioned copied = *ours;
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_share(&copied, &out, nullptr), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  dlbridge_release_versioned(ours);
}

// -------------------------------------------------------------------------------- identity

TEST(Export, ReturnsTheSourceThatAlreadyFits) {
  LegacySource legacy;
  VersionedSource versioned;
  void* out = nullptr;
  DLBridgeKind kind = 0;
  ASSERT_EQ(
      dlbridge_export(legacy.get(), DLBRIDGE_KIND_LEGACY, {0, 8}, nullptr, &out, &kind, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(out, legacy.get());
  EXPECT_EQ(kind, DLBRIDGE_KIND_LEGACY);
  for (const DLPackVersion target : {DLPackVersion{1, 3}, DLPackVersion{1, 9}}) {
    ASSERT_EQ(dlbridge_export(versioned.get(), DLBRIDGE_KIND_VERSIONED, target, nullptr, &out,
                              &kind, nullptr),
              DLBRIDGE_OK);
    EXPECT_EQ(out, versioned.get());
    EXPECT_EQ(kind, DLBRIDGE_KIND_VERSIONED);
  }
  EXPECT_TRUE(legacy.Untouched());
  EXPECT_TRUE(versioned.Untouched());
  legacy.Release();
  versioned.Release();
}

TEST(Export, MakesANodeForAnOlderConsumer) {
  VersionedSource source;
  void* out = nullptr;
  DLBridgeKind kind = 0;
  ASSERT_EQ(
      dlbridge_export(source.get(), DLBRIDGE_KIND_VERSIONED, {1, 0}, nullptr, &out, &kind, nullptr),
      DLBRIDGE_OK);
  EXPECT_NE(out, source.get());
  auto* tensor = static_cast<DLManagedTensorVersioned*>(out);
  EXPECT_EQ(tensor->version.minor, 0U);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(Import, ReturnsDlbridgeTensorsAndWrapsForeignOnes) {
  VersionedSource source;
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  EXPECT_NE(ours, source.get());
  EXPECT_EQ(MustAdopt(ours), ours);
  DLManagedTensorVersioned* shared = MustShare(ours);
  EXPECT_EQ(MustAdopt(shared), shared);
  dlbridge_release_versioned(ours);
  dlbridge_release_versioned(shared);
}

// --------------------------------------------------------------------------- many owners

// Several owners of one source, each made from an earlier one.
using Graph = std::vector<DLManagedTensorVersioned*>;

Graph MakeGraph(DLManagedTensor* source, bool copied) {
  const uint32_t flags =
      DLBRIDGE_CONVERT_VOUCH_WRITABLE | (copied ? uint32_t{DLBRIDGE_CONVERT_COPY} : 0U);
  Graph graph;
  graph.push_back(MustUpgrade(source, flags));
  graph.push_back(MustShare(graph[0]));
  graph.push_back(MustView(graph[1], {3, 2}));
  graph.push_back(MustShare(graph[2]));
  // A new node replaces another share.
  graph.push_back(MustAdopt(MustShare(graph[0]), DLBRIDGE_CONVERT_CANONICAL));
  return graph;
}

TEST(ManyOwners, ReleaseTheSourceWithTheLastInAnyOrder) {
  std::array<size_t, 5> order = {0, 1, 2, 3, 4};
  int orders = 0;
  do {
    LegacySource source;
    const Graph graph = MakeGraph(source.get(), false);
    ASSERT_EQ(graph.size(), order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(source.deletions(), 0);
      // Shape, strides and data of each remaining owner are still valid.
      EXPECT_EQ(graph[order[i]]->dl_tensor.shape[0] * graph[order[i]]->dl_tensor.shape[1], 6);
      EXPECT_EQ(graph[order[i]]->dl_tensor.data, source.tensor()->data);
      dlbridge_release_versioned(graph[order[i]]);
    }
    EXPECT_EQ(source.deletions(), 1);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 120);
}

TEST(ManyOwners, OfACopyFreeItsMemoryWithTheLast) {
  std::array<size_t, 5> order = {0, 1, 2, 3, 4};
  do {
    LegacySource source;
    const Graph graph = MakeGraph(source.get(), true);
    for (const size_t i : order) {
      static_cast<unsigned char*>(graph[i]->dl_tensor.data)[0] =
          1;  // AddressSanitizer checks the access
      dlbridge_release_versioned(graph[i]);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// Ends one owner: released, downgraded, downgraded and upgraded, or imported again.
void GoAway(DLManagedTensorVersioned* tensor, int how) {
  switch (how) {
    case 0:
      dlbridge_release_versioned(tensor);
      break;
    case 1:
      dlbridge_release_legacy(MustDowngrade(tensor));
      break;
    case 2:
      dlbridge_release_versioned(MustUpgrade(MustDowngrade(tensor)));
      break;
    default:
      dlbridge_release_versioned(MustAdopt(tensor, DLBRIDGE_CONVERT_CANONICAL));
      break;
  }
}

TEST(ManyOwners, MayBeConvertedInAnyOrder) {
  // 4^4 combinations for four owners, in four rotations of their order.
  for (int ways = 0; ways < 256; ++ways) {
    for (size_t first = 0; first < 4; ++first) {
      LegacySource source;
      Graph graph = MakeGraph(source.get(), false);
      dlbridge_release_versioned(graph.back());
      graph.pop_back();
      for (size_t i = 0; i < 4; ++i) {
        const size_t at = (first + i) % 4;
        GoAway(graph[at], (ways >> (2 * at)) & 3);
      }
      EXPECT_EQ(source.deletions(), 1);
    }
  }
}

TEST(ManyOwners, KeepTheFlagsAndTheVersion) {
  TensorSpec spec;
  spec.flags = kReadOnly | kCopied;
  spec.version = {1, 1};
  VersionedSource source(spec);
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  for (DLManagedTensorVersioned* tensor : {MustShare(ours), MustView(ours, {2})}) {
    EXPECT_EQ(tensor->flags, spec.flags);
    EXPECT_EQ(tensor->version.major, ours->version.major);
    EXPECT_EQ(tensor->version.minor, ours->version.minor);
    dlbridge_release_versioned(tensor);
  }
  dlbridge_release_versioned(ours);
}

TEST(ManyOwners, KeepAReadOnlyThatWasSetOnTheStruct) {
  VersionedSource source;
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  // An owner may add READ_ONLY; a writable share would undo it.
  ours->flags |= kReadOnly;
  DLManagedTensorVersioned* out = nullptr;
  if (dlbridge_share(ours, &out, nullptr) == DLBRIDGE_OK) {
    EXPECT_EQ(out->flags & kReadOnly, kReadOnly);
    dlbridge_release_versioned(out);
  }
  const DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  if (dlbridge_view(ours, &spec, &out, nullptr) == DLBRIDGE_OK) {
    EXPECT_EQ(out->flags & kReadOnly, kReadOnly);
    dlbridge_release_versioned(out);
  }
  DLManagedTensor* down = nullptr;
  EXPECT_EQ(dlbridge_downgrade(ours, nullptr, &down, nullptr), DLBRIDGE_ERROR_UNREPRESENTABLE);
  dlbridge_release_versioned(ours);
}

// ---------------------------------------------------------------------------------- threads

TEST(Threads, ShareOneTensorConcurrently) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  const auto work = [tensor] {
    for (size_t i = 0; i < Scaled(2000); ++i) {
      DLManagedTensorVersioned* shared = nullptr;
      ASSERT_EQ(dlbridge_share(tensor, &shared, nullptr), DLBRIDGE_OK);
      DLManagedTensorVersioned* view = MustView(shared, {6});
      dlbridge_release_versioned(shared);
      dlbridge_release_versioned(view);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(tensor);
}

TEST(Threads, ReleaseTheOwnersOfOneTensorConcurrently) {
  for (size_t round = 0; round < Scaled(300); ++round) {
    LegacySource source;
    const Graph graph = MakeGraph(source.get(), false);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < graph.size(); ++i) {
      threads.emplace_back([tensor = graph[i], i] { GoAway(tensor, static_cast<int>(i) % 4); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(source.deletions(), 1);
  }
}

TEST(Threads, ReleaseOnAForeignThreadAfterTheProducerEnded) {
  std::unique_ptr<LegacySource> source;
  DLManagedTensorVersioned* tensor = nullptr;
  std::thread producer([&] {
    source = std::make_unique<LegacySource>();
    tensor = MustUpgrade(source->get());
  });
  producer.join();
  std::thread::id deleted_on;
  source->OnDelete([&] { deleted_on = std::this_thread::get_id(); });
  std::thread consumer([&] { tensor->deleter(tensor); });
  const std::thread::id consumer_id = consumer.get_id();
  consumer.join();
  EXPECT_EQ(source->deletions(), 1);
  EXPECT_EQ(deleted_on, consumer_id);
}

TEST(Threads, ValidateAndFormatOneTensorConcurrently) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([tensor] {
      for (size_t round = 0; round < Scaled(500); ++round) {
        char text[128];
        DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
        EXPECT_EQ(dlbridge_validate_versioned(tensor, nullptr, nullptr), DLBRIDGE_OK);
        EXPECT_EQ(dlbridge_layout(&tensor->dl_tensor, tensor->flags, &layout, nullptr),
                  DLBRIDGE_OK);
        EXPECT_EQ(
            dlbridge_tensor_format(&tensor->dl_tensor, 0, text, sizeof text, nullptr, nullptr),
            DLBRIDGE_OK);
        EXPECT_EQ(dlbridge_identify(tensor), DLBRIDGE_KIND_VERSIONED);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  dlbridge_release_versioned(tensor);
}

#ifndef _WIN32  // no fork

TEST(Threads, AChildOfForkMayUseAndReleaseTensors) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    DLManagedTensorVersioned* shared = nullptr;
    const bool shares = dlbridge_share(tensor, &shared, nullptr) == DLBRIDGE_OK;
    if (shares) {
      dlbridge_release_versioned(shared);
    }
    dlbridge_release_versioned(tensor);
    _exit(shares && source.deletions() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(tensor);
}

#endif

// ------------------------------------------------------------------------ caller's storage

// Storage that records the order of the releases.
struct Storage {
  alignas(16) char memory[512];
  std::string events;

  DLBridgeStorage Spec() {
    DLBridgeStorage spec = DLBRIDGE_STORAGE_INIT;
    spec.memory = memory;
    spec.size = sizeof memory;
    spec.release = &Storage::Released;
    spec.release_context = this;
    return spec;
  }
  static void Released(void* context, void* memory) {
    auto* self = static_cast<Storage*>(context);
    EXPECT_EQ(memory, self->memory);
    self->events += "storage ";
    std::memset(self->memory, 0xee, sizeof self->memory);  // the caller owns it again
  }
};

DLManagedTensorVersioned* MustUpgradeInto(DLManagedTensor* source, const DLBridgeStorage& storage,
                                          uint32_t flags = 0) {
  const DLBridgeConvertOptions options = Options(flags);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade_into(source, &options, &storage, &out, &error), DLBRIDGE_OK)
      << error.message;
  return out;
}

TEST(UpgradeInto, ReleasesTheStorageOnceAndAfterTheDeleter) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensorVersioned* tensor = MustUpgradeInto(source.get(), storage.Spec());
  EXPECT_EQ(static_cast<void*>(tensor), static_cast<void*>(storage.memory));
  EXPECT_EQ(ShapeOf(tensor->dl_tensor), Axes({2, 3}));
  EXPECT_EQ(storage.events, "");
  tensor->deleter(tensor);
  EXPECT_EQ(storage.events, "source storage ");
}

TEST(UpgradeInto, NeedsNoCallback) {
  Storage storage;
  LegacySource source;
  DLBridgeStorage spec = storage.Spec();
  spec.release = nullptr;
  DLManagedTensorVersioned* tensor = MustUpgradeInto(source.get(), spec);
  tensor->deleter(tensor);
  EXPECT_EQ(source.deletions(), 1);
}

TEST(UpgradeInto, UsesExactlyTheReportedSize) {
  for (int32_t ndim = 0; ndim < 9; ++ndim) {
    const Axes shape(static_cast<size_t>(ndim), 2);
    TensorSpec tensor_spec(shape);
    tensor_spec.memory = 4096;
    LegacySource source(tensor_spec);
    const size_t size = dlbridge_upgrade_storage_size(ndim);
    void* memory = AllocateAligned(16, size);  // AddressSanitizer checks its ends
    ASSERT_NE(memory, nullptr);
    DLBridgeStorage spec = DLBRIDGE_STORAGE_INIT;
    spec.memory = memory;
    spec.size = size - 1;
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &spec, &out, nullptr),
              DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
    EXPECT_TRUE(source.Untouched());
    spec.size = size;
    ASSERT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &spec, &out, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(ShapeOf(out->dl_tensor), shape);
    dlbridge_release_versioned(out);
    FreeAligned(memory);
  }
  EXPECT_EQ(dlbridge_upgrade_storage_size(-1), 0U);
  EXPECT_EQ(dlbridge_upgrade_storage_size(INT32_MIN), 0U);
  EXPECT_EQ(dlbridge_upgrade_storage_size(DLBRIDGE_MAX_NDIM + 1), 0U);
  EXPECT_EQ(dlbridge_upgrade_storage_size(INT32_MAX), 0U);
}

TEST(UpgradeInto, RejectsUnsuitableStorage) {
  LegacySource source;
  Storage storage;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  DLBridgeStorage spec = storage.Spec();
  spec.memory = storage.memory + 8;
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &spec, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("storage.memory"));
  spec.memory = nullptr;
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &spec, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("storage.memory"));
  spec = storage.Spec();
  spec.size = 0;
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &spec, &out, &error),
            DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
  EXPECT_TRUE(source.Untouched());
  EXPECT_EQ(storage.events, "");
  source.Release();
}

// The arrays of the source at every place in and beside the storage.
TEST(UpgradeInto, RejectsStorageThatOverlapsTheShapeOrStrides) {
  const int64_t axes[2] = {2, 3};
  const size_t size = dlbridge_upgrade_storage_size(2);
  alignas(16) unsigned char block[512];
  for (int64_t* DLTensor::*const array : {&DLTensor::shape, &DLTensor::strides}) {
    for (size_t at = 0; at < 128 + size + 64; at += sizeof(int64_t)) {
      LegacySource source;
      std::memcpy(block + at, axes, sizeof axes);
      source.get()->dl_tensor.*array = reinterpret_cast<int64_t*>(block + at);
      DLBridgeStorage spec = DLBRIDGE_STORAGE_INIT;
      spec.memory = block + 128;
      spec.size = size;
      DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_SKIP_VALIDATION);
      DLManagedTensorVersioned* out = nullptr;
      Error error;
      const bool apart = at + sizeof axes <= 128 || at >= 128 + size;
      const DLBridgeStatus status =
          dlbridge_upgrade_into(source.get(), &options, &spec, &out, &error);
      ASSERT_EQ(status, apart ? DLBRIDGE_OK : DLBRIDGE_ERROR_INVALID_ARGUMENT) << at;
      ASSERT_TRUE(apart || error.Says("storage.memory overlaps the source")) << error.message;
      ASSERT_EQ(std::memcmp(block + at, axes, sizeof axes), 0) << at;
      if (apart) {
        dlbridge_release_versioned(out);
      } else {
        source.Release();
      }
    }
  }
}

// The memory after storage that is too small belongs to somebody else: here, to the source.
TEST(UpgradeInto, RejectsStorageThatIsTooSmallBesideItsSource) {
  alignas(16) unsigned char block[512];
  for (const size_t size : {size_t{0}, size_t{8}, size_t{16}}) {
    for (const uint32_t bits : {uint32_t{0}, uint32_t{DLBRIDGE_CONVERT_SKIP_VALIDATION}}) {
      LegacySource source;
      const int64_t axes[2] = {2, 3};
      std::memcpy(block + size, axes, sizeof axes);
      source.get()->dl_tensor.shape = reinterpret_cast<int64_t*>(block + size);
      DLBridgeStorage spec = DLBRIDGE_STORAGE_INIT;
      spec.memory = block;
      spec.size = size;
      DLBridgeConvertOptions options = Options(bits);
      DLManagedTensorVersioned* out = nullptr;
      Error error;
      EXPECT_EQ(dlbridge_upgrade_into(source.get(), &options, &spec, &out, &error),
                DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
      EXPECT_TRUE(error.Says("storage.size")) << error.message;
      EXPECT_EQ(std::memcmp(block + size, axes, sizeof axes), 0);
      source.Release();
    }
  }
}

TEST(UpgradeInto, RejectsStorageOfTheTensorThatTheSourceKeepsAlive) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensor* legacy =
      MustDowngrade(MustUpgradeInto(source.get(), storage.Spec(), DLBRIDGE_CONVERT_VOUCH_WRITABLE));
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStorage spec = storage.Spec();
  Error error;
  EXPECT_EQ(dlbridge_upgrade_into(legacy, nullptr, &spec, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("storage.memory overlaps the source")) << error.message;
  EXPECT_EQ(storage.events, "");
  dlbridge_release_legacy(legacy);
  EXPECT_EQ(storage.events, "source storage ");
}

TEST(UpgradeInto, CannotBeSharedOrViewedBeforeImport) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensorVersioned* tensor = MustUpgradeInto(source.get(), storage.Spec());
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_share(tensor, &out, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_IN_STORAGE);
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  EXPECT_EQ(dlbridge_view(tensor, &spec, &out, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_IN_STORAGE);
  DLManagedTensorVersioned* adopted = MustAdopt(tensor);
  EXPECT_NE(adopted, tensor);
  EXPECT_EQ(storage.events, "");
  DLManagedTensorVersioned* shared = MustShare(adopted);
  dlbridge_release_versioned(adopted);
  dlbridge_release_versioned(shared);
  EXPECT_EQ(storage.events, "source storage ");
}

TEST(UpgradeInto, ReleasesTheStorageAfterTheLegacyOriginal) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensorVersioned* tensor =
      MustUpgradeInto(source.get(), storage.Spec(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensor* down = MustDowngrade(tensor);
  EXPECT_EQ(storage.events, "");
  EXPECT_TRUE(source.Untouched());
  dlbridge_release_legacy(down);
  EXPECT_EQ(storage.events, "source storage ");
}

TEST(UpgradeInto, OfADlbridgeLegacyTensorKeepsItsOriginalsFlags) {
  Storage storage;
  TensorSpec spec;
  spec.flags = kReadOnly | kCopied;
  VersionedSource source(spec);
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_DROP_READ_ONLY);
  DLManagedTensorVersioned* up =
      MustUpgradeInto(down, storage.Spec(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  EXPECT_EQ(static_cast<void*>(up), static_cast<void*>(storage.memory));
  EXPECT_EQ(up->flags, spec.flags);
  dlbridge_release_versioned(up);
  EXPECT_EQ(storage.events, "source storage ");
}

TEST(UpgradeInto, OfADlbridgeLegacyTensorKeepsTheVersionOfUnknownFlags) {
  Storage storage;
  TensorSpec spec;
  spec.flags = 1U << 5;
  spec.version = {1, 7};
  VersionedSource source(spec);
  DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
  DLManagedTensorVersioned* up =
      MustUpgradeInto(down, storage.Spec(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
  EXPECT_EQ(up->flags, spec.flags);
  EXPECT_EQ(up->version.minor, 7U) << "an unknown bit is only valid with its own version";
  dlbridge_release_versioned(up);
}

TEST(UpgradeInto, OfASharedTensorKeepsTheOtherOwners) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensorVersioned* first = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* second = MustShare(first);
  DLManagedTensorVersioned* stored = MustUpgradeInto(MustDowngrade(second), storage.Spec());
  dlbridge_release_versioned(stored);
  EXPECT_EQ(storage.events, "storage ");
  dlbridge_release_versioned(first);
  EXPECT_EQ(storage.events, "storage source ");
}

TEST(UpgradeInto, ReleasesInOrderAsTheLastOwnerOfASharedSource) {
  Storage storage;
  LegacySource source;
  source.OnDelete([&] { storage.events += "source "; });
  DLManagedTensorVersioned* first = MustUpgrade(source.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* second = MustShare(first);
  DLManagedTensorVersioned* stored = MustUpgradeInto(MustDowngrade(second), storage.Spec());
  dlbridge_release_versioned(first);
  EXPECT_EQ(storage.events, "");
  dlbridge_release_versioned(stored);
  EXPECT_EQ(storage.events, "source storage ");
}

// ----------------------------------------------------------------------------------- batch

TEST(UpgradeMany, UpgradesAllAndReleasesEach) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{17}}) {
    std::vector<std::unique_ptr<LegacySource>> sources;
    std::vector<DLManagedTensor*> inputs;
    for (size_t i = 0; i < count; ++i) {
      sources.push_back(std::make_unique<LegacySource>());
      inputs.push_back(sources.back()->get());
    }
    std::vector<DLManagedTensorVersioned*> outs(count);
    ASSERT_EQ(dlbridge_upgrade_many(inputs.data(), count, nullptr, outs.data(), nullptr, nullptr),
              DLBRIDGE_OK);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(outs[i]->dl_tensor.data, sources[i]->tensor()->data);
      EXPECT_TRUE(sources[i]->Untouched());
      dlbridge_release_versioned(outs[i]);
    }
  }
}

TEST(UpgradeMany, AcceptsACountOfZero) {
  EXPECT_EQ(dlbridge_upgrade_many(nullptr, 0, nullptr, nullptr, nullptr, nullptr), DLBRIDGE_OK);
}

TEST(UpgradeMany, IsAllOrNothing) {
  constexpr size_t kCount = 5;
  for (size_t bad = 0; bad < kCount; ++bad) {
    std::vector<std::unique_ptr<LegacySource>> sources;
    std::vector<DLManagedTensor*> inputs;
    for (size_t i = 0; i < kCount; ++i) {
      TensorSpec spec;
      spec.null_data = i == bad;
      sources.push_back(std::make_unique<LegacySource>(spec));
      inputs.push_back(sources.back()->get());
    }
    std::vector<DLManagedTensorVersioned*> outs(kCount, Nowhere<DLManagedTensorVersioned>());
    size_t failed = 99;
    Error error;
    EXPECT_EQ(dlbridge_upgrade_many(inputs.data(), kCount, nullptr, outs.data(), &failed, &error),
              DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DATA_NULL);
    EXPECT_EQ(failed, bad);
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(outs[i], Nowhere<DLManagedTensorVersioned>());
      EXPECT_TRUE(sources[i]->Untouched());
      sources[i]->Release();
    }
  }
}

TEST(UpgradeMany, LeavesDlbridgeSourcesUntouched) {
  // The first two would be returned or replaced; the third is rejected.
  VersionedSource original;
  VersionedSource replaced;
  TensorSpec spec;
  spec.null_data = true;
  LegacySource bad(spec);
  DLManagedTensor* inputs[] = {MustDowngrade(original.get()), MustDowngrade(replaced.get()),
                               bad.get()};
  const DLManagedTensor before[] = {*inputs[0], *inputs[1]};
  DLManagedTensorVersioned* outs[3] = {};
  for (const uint32_t flags : {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}}) {
    const DLBridgeConvertOptions options = Options(flags);
    size_t failed = 0;
    EXPECT_EQ(dlbridge_upgrade_many(inputs, 3, &options, outs, &failed, nullptr),
              DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(failed, 2U);
    EXPECT_EQ(std::memcmp(&before[0], inputs[0], sizeof before[0]), 0);
    EXPECT_EQ(std::memcmp(&before[1], inputs[1], sizeof before[1]), 0);
  }
  ASSERT_EQ(dlbridge_upgrade_many(inputs, 2, nullptr, outs, nullptr, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(outs[0], original.get());
  EXPECT_EQ(outs[1], replaced.get());
  original.Release();
  replaced.Release();
  bad.Release();
}

TEST(UpgradeMany, ReportsTheIndexOfANullSource) {
  LegacySource good;
  DLManagedTensor* inputs[] = {good.get(), nullptr};
  DLManagedTensorVersioned* outs[2] = {};
  size_t failed = 0;
  Error error;
  EXPECT_EQ(dlbridge_upgrade_many(inputs, 2, nullptr, outs, &failed, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(failed, 1U);
  EXPECT_TRUE(error.Says("sources"));
  EXPECT_TRUE(good.Untouched());
  good.Release();
}

TEST(UpgradeMany, ReportsNoIndexForInvalidArguments) {
  LegacySource good;
  DLManagedTensor* inputs[] = {good.get()};
  DLManagedTensorVersioned* outs[1] = {};
  const DLBridgeConvertOptions copy = Options(DLBRIDGE_CONVERT_COPY);
  size_t failed = 77;
  EXPECT_EQ(dlbridge_upgrade_many(inputs, 1, &copy, outs, &failed, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(dlbridge_upgrade_many(inputs, SIZE_MAX, nullptr, outs, &failed, nullptr),
            DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(failed, SIZE_MAX);
  EXPECT_TRUE(good.Untouched());
  good.Release();
}

}  // namespace
}  // namespace dlbridge_test
