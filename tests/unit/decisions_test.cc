// SPDX-License-Identifier: Apache-2.0
// Decisions of dlbridge where implementations of DLPack disagree: one test for each question, and
// one for each input that other suites leave out. Streams, drivers and Python are not covered here.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

template <class Managed>
DLBridgeStatus ValidateManaged(const Managed* tensor, const DLBridgePolicy* policy,
                               DLBridgeError* error);
template <>
DLBridgeStatus ValidateManaged(const DLManagedTensor* tensor, const DLBridgePolicy* policy,
                               DLBridgeError* error) {
  return dlbridge_validate_legacy(tensor, policy, error);
}
template <>
DLBridgeStatus ValidateManaged(const DLManagedTensorVersioned* tensor, const DLBridgePolicy* policy,
                               DLBridgeError* error) {
  return dlbridge_validate_versioned(tensor, policy, error);
}

// The rule that a tensor of `spec` breaks, or 0. The source is released.
template <class Managed>
DLBridgeRule RuleOf(const TensorSpec& spec, const DLBridgePolicy* policy = nullptr) {
  Source<Managed> source(spec);
  Error error;
  const DLBridgeStatus status = ValidateManaged<Managed>(source.get(), policy, &error);
  EXPECT_TRUE(source.Untouched());
  source.Release();
  if (status == DLBRIDGE_OK) {
    return DLBRIDGE_RULE_NONE;
  }
  EXPECT_NE(error.rule, DLBRIDGE_RULE_NONE) << error.message;
  return error.rule;
}
DLBridgeRule LegacyRule(const TensorSpec& spec, const DLBridgePolicy* policy = nullptr) {
  return RuleOf<DLManagedTensor>(spec, policy);
}
DLBridgeRule VersionedRule(const TensorSpec& spec, const DLBridgePolicy* policy = nullptr) {
  return RuleOf<DLManagedTensorVersioned>(spec, policy);
}

// The rule that makes upgrade reject a tensor of `spec`, or 0 if it succeeds.
DLBridgeRule UpgradeRule(const TensorSpec& spec, const DLBridgeConvertOptions& options) {
  LegacySource source(spec);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  if (dlbridge_upgrade(source.get(), &options, &out, &error) == DLBRIDGE_OK) {
    dlbridge_release_versioned(out);
    return DLBRIDGE_RULE_NONE;
  }
  EXPECT_TRUE(source.Untouched());
  source.Release();
  return error.rule;
}
DLBridgeRule UpgradeRule(const TensorSpec& spec, uint32_t flags = 0) {
  return UpgradeRule(spec, Options(flags));
}
DLBridgeRule DowngradeRule(const TensorSpec& spec, uint32_t flags = 0) {
  VersionedSource source(spec);
  const DLBridgeConvertOptions options = Options(flags);
  DLManagedTensor* out = nullptr;
  Error error;
  if (dlbridge_downgrade(source.get(), &options, &out, &error) == DLBRIDGE_OK) {
    dlbridge_release_legacy(out);
    return DLBRIDGE_RULE_NONE;
  }
  EXPECT_TRUE(source.Untouched());
  source.Release();
  return error.rule;
}
DLBridgeRule AdoptRule(const TensorSpec& spec, const DLBridgeConvertOptions& options) {
  VersionedSource source(spec);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  if (dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, &error) ==
      DLBRIDGE_OK) {
    dlbridge_release_versioned(out);
    return DLBRIDGE_RULE_NONE;
  }
  EXPECT_TRUE(source.Untouched());
  source.Release();
  return error.rule;
}
DLBridgeRule AdoptRule(const TensorSpec& spec, uint32_t flags = 0) {
  return AdoptRule(spec, Options(flags));
}

DLBridgeLayout LayoutOf(const TensorSpec& spec) {
  LegacySource source(spec);
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Error error;
  EXPECT_EQ(dlbridge_layout(source.tensor(), spec.flags, &layout, &error), DLBRIDGE_OK)
      << error.message;
  source.Release();
  return layout;
}

// The severity that diagnose reports for `rule` on a versioned tensor of `spec`, or 0.
int32_t SeverityOf(const TensorSpec& spec, DLBridgeRule rule,
                   const DLBridgePolicy* policy = nullptr) {
  VersionedSource source(spec);
  std::array<DLBridgeFinding, 64> findings;
  size_t count = 0;
  EXPECT_EQ(dlbridge_diagnose(source.get(), DLBRIDGE_KIND_VERSIONED, 0, policy, findings.data(),
                              findings.size(), &count, nullptr),
            DLBRIDGE_OK);
  source.Release();
  for (size_t i = 0; i < count && i < findings.size(); ++i) {
    if (findings[i].rule == rule) {
      return findings[i].severity;
    }
  }
  return 0;
}

TensorSpec DtypeSpec(DLDataType dtype) {
  TensorSpec spec;
  spec.dtype = dtype;
  return spec;
}
TensorSpec DeviceSpec(int32_t type, int32_t id = 0) {
  TensorSpec spec;
  spec.device = Device(type, id);
  return spec;
}
TensorSpec FlagsSpec(uint64_t flags) {
  TensorSpec spec;
  spec.flags = flags;
  return spec;
}
TensorSpec NullStrides(const Axes& shape, DLPackVersion version = {1, 3}) {
  TensorSpec spec(shape);
  spec.null_strides = true;
  spec.version = version;
  return spec;
}

// ------------------------------------------------------------------------------- questions

TEST(MajorVersion, OtherThanOneIsRejectedBeforeOtherFieldsAreRead) {
  for (const uint32_t major : {0U, 2U, 3U, 0xffffffffU}) {
    // The fields up to `flags` are readable; dl_tensor is not.
    DLManagedTensorVersioned foreign = {};
    foreign.version = {major, 0};
    const Guarded memory(&foreign, offsetof(DLManagedTensorVersioned, dl_tensor));
    auto* tensor = memory.as<DLManagedTensorVersioned>();
    DLManagedTensorVersioned* out = nullptr;
    DLManagedTensor* legacy = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_validate_versioned(tensor, nullptr, &error), DLBRIDGE_ERROR_VERSION);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_VERSION_MAJOR);
    EXPECT_EQ(dlbridge_import(tensor, DLBRIDGE_KIND_VERSIONED, nullptr, &out, &error),
              DLBRIDGE_ERROR_VERSION);
    EXPECT_EQ(dlbridge_downgrade(tensor, nullptr, &legacy, &error), DLBRIDGE_ERROR_VERSION);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_VERSION_MAJOR);
  }
  EXPECT_EQ(VersionedRule(TensorSpec()), DLBRIDGE_RULE_NONE);
}

TEST(MajorVersion, IsRejectedWithEveryOption) {
  TensorSpec spec;
  spec.version = {2, 0};
  for (const uint32_t flags :
       {uint32_t{DLBRIDGE_CONVERT_SKIP_VALIDATION}, uint32_t{DLBRIDGE_CONVERT_ALLOW_UNKNOWN},
        uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    EXPECT_EQ(AdoptRule(spec, flags), DLBRIDGE_RULE_VERSION_MAJOR);
    EXPECT_EQ(DowngradeRule(spec, flags), DLBRIDGE_RULE_VERSION_MAJOR);
  }
}

TEST(RejectedSource, StaysUntouchedWithTheCaller) {
  TensorSpec spec({2, -1}, {1, 1});
  LegacySource source(spec);
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_upgrade(source.get(), nullptr, &out, nullptr), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(out, nullptr);
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

TEST(LegacyWritability, UnknownMeansReadOnlyWithoutVouchWritable) {
  for (const bool vouched : {false, true}) {
    LegacySource source;
    DLManagedTensorVersioned* up =
        MustUpgrade(source.get(), vouched ? uint32_t{DLBRIDGE_CONVERT_VOUCH_WRITABLE} : 0U);
    EXPECT_EQ(up->flags, vouched ? 0U : kReadOnly);
    dlbridge_release_versioned(up);
  }
  DLBridgePolicy writable = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  EXPECT_EQ(LegacyRule(TensorSpec(), &writable), DLBRIDGE_RULE_NOT_WRITABLE);
  EXPECT_EQ(VersionedRule(TensorSpec(), &writable), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(VersionedRule(FlagsSpec(kReadOnly), &writable), DLBRIDGE_RULE_NOT_WRITABLE);
  writable.options |= DLBRIDGE_POLICY_VOUCH_WRITABLE;
  EXPECT_EQ(LegacyRule(TensorSpec(), &writable), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(VersionedRule(FlagsSpec(kReadOnly), &writable), DLBRIDGE_RULE_NOT_WRITABLE);
}

TEST(LegacyWritability, OfABorrowedTensorIsUnknownToo) {
  LegacySource source;
  DLBridgePolicy writable = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, &writable, nullptr), DLBRIDGE_ERROR_POLICY);
  writable.options |= DLBRIDGE_POLICY_VOUCH_WRITABLE;
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, &writable, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_validate(source.tensor(), kReadOnly, &writable, nullptr),
            DLBRIDGE_ERROR_POLICY);
  source.Release();
}

TEST(ReadOnlyDowngrade, IsRejectedUnlessAllowedOrCopied) {
  EXPECT_EQ(DowngradeRule(FlagsSpec(kReadOnly)), DLBRIDGE_RULE_LEGACY_READ_ONLY);
  EXPECT_EQ(DowngradeRule(FlagsSpec(kReadOnly), DLBRIDGE_CONVERT_DROP_PADDED),
            DLBRIDGE_RULE_LEGACY_READ_ONLY);
  EXPECT_EQ(DowngradeRule(FlagsSpec(kReadOnly), DLBRIDGE_CONVERT_DROP_READ_ONLY),
            DLBRIDGE_RULE_NONE);
  EXPECT_EQ(DowngradeRule(FlagsSpec(kReadOnly), DLBRIDGE_CONVERT_COPY), DLBRIDGE_RULE_NONE);
}

TEST(ReadOnlyDowngrade, IsRejectedAlsoForUnknownWritability) {
  LegacySource source;
  DLManagedTensorVersioned* up = MustUpgrade(source.get());
  DLManagedTensor* down = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_downgrade(up, nullptr, &down, &error), DLBRIDGE_ERROR_UNREPRESENTABLE);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_LEGACY_READ_ONLY);
  DLManagedTensorVersioned* back = MustUpgrade(MustDowngrade(up, DLBRIDGE_CONVERT_DROP_READ_ONLY),
                                               DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  EXPECT_EQ(back->flags, kReadOnly) << "the flag is restored by the upgrade";
  dlbridge_release_versioned(back);
}

TEST(RoundTripFlags, AreKeptThroughLegacyAndBack) {
  for (uint64_t flags = 0; flags < 8; ++flags) {
    // CANONICAL makes a new node, so that the flags are not those of the original struct.
    for (const uint32_t reshape : {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}}) {
      TensorSpec spec = FlagsSpec(flags);
      spec.dtype = Dtype(kDLFloat4_e2m1fn, 4);
      VersionedSource source(spec);
      DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_DROP_READ_ONLY |
                                                              DLBRIDGE_CONVERT_DROP_PADDED |
                                                              DLBRIDGE_CONVERT_ALLOW_NEWER_CODES);
      DLManagedTensorVersioned* up = MustUpgrade(down, reshape);
      EXPECT_EQ(up->flags, flags);
      dlbridge_release_versioned(up);
    }
  }
}

TEST(NullStrides, AreJudgedByTheVersionOfTheTensor) {
  for (const Axes& shape : {Axes({2, 3}), Axes({1}), Axes({0}), Axes({2, 0, 3})}) {
    EXPECT_EQ(LegacyRule(NullStrides(shape)), DLBRIDGE_RULE_NONE);
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 0})), DLBRIDGE_RULE_NONE);
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 1})), DLBRIDGE_RULE_NONE);
    // Empty or not.
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 2})), DLBRIDGE_RULE_STRIDES_NULL);
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 3})), DLBRIDGE_RULE_STRIDES_NULL);
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 1000})), DLBRIDGE_RULE_STRIDES_NULL);
    const DLBridgePolicy passes = Policy(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES);
    EXPECT_EQ(VersionedRule(NullStrides(shape, {1, 3}), &passes), DLBRIDGE_RULE_NONE);
  }
  EXPECT_EQ(VersionedRule(NullStrides({}, {1, 3})), DLBRIDGE_RULE_NONE);
}

TEST(NullStrides, AreValidOnBorrowedTensors) {
  LegacySource source(NullStrides({2, 3}));
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, nullptr, nullptr), DLBRIDGE_OK);
  source.Release();
}

TEST(NullStrides, AreFilledInOnTheNodeAndNeverInTheSource) {
  const struct {
    Axes shape;
    Axes strides;
  } cases[] = {
      {{5}, {1}},
      {{2, 3, 4}, {12, 4, 1}},
      {{2, 1, 4}, {4, 4, 1}},
      {{2, 0, 4}, {4, 4, 1}},  // the product of max(1, later extents)
      {{0}, {1}},
      {{0, 3, 0}, {3, 1, 1}},
      {{0, INT64_MAX, 4}, {0, 4, 1}},  // 0 where that overflows
      {{0, INT64_MAX, INT64_MAX, 2}, {0, 0, 2, 1}},
  };
  for (const auto& expected : cases) {
    TensorSpec spec = NullStrides(expected.shape, {1, 1});
    spec.memory = 1024;
    LegacySource legacy(spec);
    DLManagedTensorVersioned* up = MustUpgrade(legacy.get());
    EXPECT_TRUE(legacy.Untouched());
    EXPECT_EQ(legacy.tensor()->strides, nullptr);
    EXPECT_EQ(StridesOf(up->dl_tensor), expected.strides);
    dlbridge_release_versioned(up);

    VersionedSource versioned(spec);
    DLManagedTensor* down = MustDowngrade(versioned.get());
    EXPECT_TRUE(versioned.Untouched());
    EXPECT_EQ(StridesOf(down->dl_tensor), expected.strides);
    dlbridge_release_legacy(down);

    VersionedSource foreign(spec);
    DLManagedTensorVersioned* ours = MustAdopt(foreign.get());
    EXPECT_TRUE(foreign.Untouched());
    EXPECT_EQ(StridesOf(ours->dl_tensor), expected.strides);
    dlbridge_release_versioned(ours);
  }
}

TEST(SameStructAgain, IsNotTreatedAsADoubleImport) {
  // Several capsules hold this struct; each call of its deleter drops one reference.
  static int references;
  references = 3;
  DLManagedTensor shared = {};
  float data = 0;
  shared.dl_tensor.data = &data;
  shared.dl_tensor.device = Device(kDLCPU);
  shared.dl_tensor.dtype = Dtype(kDLFloat, 32);
  shared.deleter = [](DLManagedTensor*) { --references; };
  const DLManagedTensor before = shared;
  std::vector<DLManagedTensorVersioned*> imports(3);
  for (DLManagedTensorVersioned*& import : imports) {
    import = MustUpgrade(&shared);
  }
  EXPECT_EQ(references, 3);
  for (DLManagedTensorVersioned* import : imports) {
    dlbridge_release_versioned(import);
  }
  EXPECT_EQ(references, 0);
  EXPECT_EQ(std::memcmp(&before, &shared, sizeof before), 0);
}

TensorSpec EmptySpec(bool null_data) {
  TensorSpec spec({2, 0, 3}, {-7, 5, 100});
  spec.null_data = null_data;
  spec.byte_offset = 24;
  return spec;
}

TEST(EmptyTensors, AreValidWithAnyPointerAndContiguous) {
  for (const bool null_data : {false, true}) {
    EXPECT_EQ(LegacyRule(EmptySpec(null_data)), DLBRIDGE_RULE_NONE);
    DLBridgePolicy contiguous = Policy();
    for (const int32_t order :
         {DLBRIDGE_CONTIGUITY_C, DLBRIDGE_CONTIGUITY_F, DLBRIDGE_CONTIGUITY_C_OR_F}) {
      contiguous.contiguity = order;
      EXPECT_EQ(LegacyRule(EmptySpec(null_data), &contiguous), DLBRIDGE_RULE_NONE);
    }
    const DLBridgeLayout layout = LayoutOf(EmptySpec(null_data));
    EXPECT_EQ(layout.properties, uint32_t{DLBRIDGE_LAYOUT_EMPTY | DLBRIDGE_LAYOUT_C_CONTIGUOUS |
                                          DLBRIDGE_LAYOUT_F_CONTIGUOUS});
    EXPECT_EQ(layout.begin, 0);
    EXPECT_EQ(layout.end, 0);
  }
}

TEST(EmptyTensors, KeepDataAndStridesInConversions) {
  for (const bool null_data : {false, true}) {
    const TensorSpec spec = EmptySpec(null_data);
    LegacySource legacy(spec);
    DLManagedTensorVersioned* up = MustUpgrade(legacy.get());
    EXPECT_EQ(up->dl_tensor.data, legacy.tensor()->data);
    EXPECT_EQ(up->dl_tensor.byte_offset, spec.byte_offset);
    EXPECT_EQ(StridesOf(up->dl_tensor), spec.strides);
    dlbridge_release_versioned(up);
    VersionedSource versioned(spec);
    DLManagedTensor* down = MustDowngrade(versioned.get());
    EXPECT_EQ(down->dl_tensor.data, versioned.tensor()->data);
    EXPECT_EQ(StridesOf(down->dl_tensor), spec.strides);
    dlbridge_release_legacy(down);
    VersionedSource foreign(spec);
    DLManagedTensorVersioned* ours = MustAdopt(foreign.get());
    EXPECT_EQ(ours->dl_tensor.data, foreign.tensor()->data);
    EXPECT_EQ(StridesOf(ours->dl_tensor), spec.strides);
    dlbridge_release_versioned(ours);
  }
}

TEST(EmptyTensors, AreCanonicalWithCanonicalAndWithCopy) {
  for (const uint32_t flags :
       {uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    LegacySource legacy(EmptySpec(false));
    DLManagedTensorVersioned* up = MustUpgrade(legacy.get(), flags);
    EXPECT_EQ(up->dl_tensor.data, nullptr);
    EXPECT_EQ(up->dl_tensor.byte_offset, 0U);
    EXPECT_EQ(StridesOf(up->dl_tensor), Axes({3, 3, 1}));
    dlbridge_release_versioned(up);
    VersionedSource versioned(EmptySpec(false));
    DLManagedTensor* down = MustDowngrade(versioned.get(), flags);
    EXPECT_EQ(down->dl_tensor.data, nullptr);
    EXPECT_EQ(StridesOf(down->dl_tensor), Axes({3, 3, 1}));
    dlbridge_release_legacy(down);
  }
}

TEST(NullData, IsRejectedUnlessEmpty) {
  TensorSpec spec;
  spec.null_data = true;
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_DATA_NULL);
  EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_DATA_NULL);
  EXPECT_EQ(UpgradeRule(spec), DLBRIDGE_RULE_DATA_NULL);
  TensorSpec scalar{Axes()};
  scalar.null_data = true;
  EXPECT_EQ(LegacyRule(scalar), DLBRIDGE_RULE_DATA_NULL);
}

TEST(SizeOneAxes, AreIgnoredInChecksAndCompactWithCanonical) {
  const TensorSpec spec({2, 1, 3, 1}, {3, -12345, 1, 0});
  DLBridgePolicy strict =
      Policy(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES | DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  strict.contiguity = DLBRIDGE_CONTIGUITY_C;
  EXPECT_EQ(LegacyRule(spec, &strict), DLBRIDGE_RULE_NONE);
  LegacySource kept(spec);
  DLManagedTensorVersioned* up = MustUpgrade(kept.get());
  EXPECT_EQ(StridesOf(up->dl_tensor), spec.strides);
  dlbridge_release_versioned(up);
  LegacySource canonical(spec);
  up = MustUpgrade(canonical.get(), DLBRIDGE_CONVERT_CANONICAL);
  EXPECT_EQ(StridesOf(up->dl_tensor), Axes({3, 3, 1, 1}));
  dlbridge_release_versioned(up);
}

TEST(NegativeStrides, AreValidReportedAndRejectedByPolicyOnly) {
  TensorSpec spec({2, 3}, {-3, 1});
  spec.start = 12;
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(UpgradeRule(spec), DLBRIDGE_RULE_NONE);
  const DLBridgeLayout layout = LayoutOf(spec);
  EXPECT_EQ(layout.properties, uint32_t{DLBRIDGE_LAYOUT_NEGATIVE_STRIDES});
  EXPECT_EQ(layout.negative_axes, 1U);
  EXPECT_EQ(layout.begin, -12);
  EXPECT_EQ(layout.end, 12);
  const DLBridgePolicy refuses = Policy(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES);
  EXPECT_EQ(LegacyRule(spec, &refuses), DLBRIDGE_RULE_NEGATIVE_STRIDE);
}

TEST(ZeroStrides, AreValidReportedAndRejectedByPolicyOnly) {
  const TensorSpec spec({2, 3}, {0, 1});
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(UpgradeRule(spec), DLBRIDGE_RULE_NONE);
  const DLBridgeLayout layout = LayoutOf(spec);
  EXPECT_EQ(layout.properties, uint32_t{DLBRIDGE_LAYOUT_BROADCAST});
  EXPECT_EQ(layout.broadcast_axes, 1U);
  EXPECT_EQ(layout.self_overlap, DLBRIDGE_YES);
  const DLBridgePolicy refuses = Policy(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  EXPECT_EQ(LegacyRule(spec, &refuses), DLBRIDGE_RULE_ZERO_STRIDE);
}

TEST(SelfOverlap, IsRejectedOnlyWhereTheTensorMustBeWritable) {
  const TensorSpec spec({2, 3}, {0, 1});
  EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(SeverityOf(spec, DLBRIDGE_RULE_SELF_OVERLAP), DLBRIDGE_SEVERITY_NOTE);
  DLBridgePolicy writable = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  EXPECT_EQ(VersionedRule(spec, &writable), DLBRIDGE_RULE_SELF_OVERLAP);
  EXPECT_EQ(SeverityOf(spec, DLBRIDGE_RULE_SELF_OVERLAP, &writable), DLBRIDGE_SEVERITY_BROKEN);
  writable.options |= DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;
  EXPECT_EQ(VersionedRule(spec, &writable), DLBRIDGE_RULE_NONE);
}

TEST(SelfOverlap, IsExactUpToFourAxes) {
  EXPECT_EQ(LayoutOf(TensorSpec({3, 2}, {2, 3})).self_overlap, DLBRIDGE_NO);
  EXPECT_EQ(LayoutOf(TensorSpec({4, 2}, {2, 3})).self_overlap, DLBRIDGE_NO);
  EXPECT_EQ(LayoutOf(TensorSpec({4, 3}, {2, 3})).self_overlap, DLBRIDGE_YES);
  EXPECT_EQ(LayoutOf(TensorSpec({3, 2, 1, 1}, {2, 3, 0, 7})).self_overlap, DLBRIDGE_NO);
}

TEST(SelfOverlap, UndecidedCountsAsOverlap) {
  // Many axes whose strides no simple argument separates.
  Axes shape;
  Axes strides;
  for (int64_t i = 0; i < 20; ++i) {
    shape.push_back(3);
    strides.push_back(1000003 + 7919 * i * i + 31 * i);
  }
  TensorSpec spec(shape, strides);
  spec.version = {1, 3};
  const DLBridgeAnswer answer = LayoutOf(spec).self_overlap;
  ASSERT_NE(answer, DLBRIDGE_NO) << "3^20 elements cannot be apart in that few bytes";
  const DLBridgePolicy writable = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  EXPECT_EQ(VersionedRule(spec, &writable), DLBRIDGE_RULE_SELF_OVERLAP);
}

TEST(ByteOffset, IsFoldedWhereDataIsAnAddressAndRejectedElsewhere) {
  for (int32_t type = -1; type < 25; ++type) {
    TensorSpec spec = DeviceSpec(type);
    spec.byte_offset = 8;
    const bool address = type == kDLCPU || type == kDLCUDA || type == kDLCUDAHost ||
                         type == kDLCUDAManaged || type == kDLROCM || type == kDLROCMHost ||
                         type == kDLOneAPI;
    const uint32_t fold = DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET | DLBRIDGE_CONVERT_ALLOW_UNKNOWN;
    const DLBridgeRule rule = address ? DLBRIDGE_RULE_NONE : DLBRIDGE_RULE_OFFSET_FOLD;
    EXPECT_EQ(UpgradeRule(spec, fold), rule) << type;
    EXPECT_EQ(DowngradeRule(spec, fold | DLBRIDGE_CONVERT_ALLOW_NEWER_CODES), rule) << type;
    EXPECT_EQ(AdoptRule(spec, fold), rule) << type;
  }
}

TEST(ByteOffset, IsKeptWithoutFold) {
  TensorSpec spec;
  spec.byte_offset = 8;
  LegacySource kept(spec);
  DLManagedTensorVersioned* up = MustUpgrade(kept.get());
  EXPECT_EQ(up->dl_tensor.byte_offset, 8U);
  EXPECT_EQ(up->dl_tensor.data, kept.tensor()->data);
  dlbridge_release_versioned(up);
  LegacySource folded(spec);
  auto* data = static_cast<char*>(folded.tensor()->data);
  up = MustUpgrade(folded.get(), DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET);
  EXPECT_EQ(up->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(up->dl_tensor.data, data + 8);
  dlbridge_release_versioned(up);
}

TEST(Overflow, OfCountSizeAndOffsetsIsRejected) {
  constexpr int64_t kBig = INT64_MAX;
  EXPECT_EQ(LegacyRule(TensorSpec({kBig, 2}, {0, 0})), DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({1LL << 32, 1LL << 31}, {0, 0})), DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_EQ(LegacyRule(NullStrides({1LL << 21, 1LL << 21, 1LL << 21})),
            DLBRIDGE_RULE_COUNT_OVERFLOW);
  // 2^64 elements wrap to 0 in 64 bits.
  EXPECT_EQ(LegacyRule(TensorSpec({1LL << 32, 1LL << 32}, {0, 0})), DLBRIDGE_RULE_COUNT_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({kBig / 4 + 1}, {0})), DLBRIDGE_RULE_SIZE_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({kBig / 4}, {0})), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(LegacyRule(TensorSpec({3}, {kBig})), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({3}, {INT64_MIN})), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({2}, {INT64_MIN})), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({2, 2}, {kBig - 1, kBig - 1})), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  EXPECT_EQ(LegacyRule(TensorSpec({2, 2}, {kBig / 2, -(kBig / 2)})), DLBRIDGE_RULE_OFFSET_OVERFLOW);
  // An empty tensor has size 0, whatever its other extents are.
  EXPECT_EQ(LegacyRule(TensorSpec({kBig, kBig, 0}, {kBig, INT64_MIN, 1})), DLBRIDGE_RULE_NONE);
}

TEST(Ndim, NegativeIsRejectedBeforeAPointerIsRead) {
  const Guarded page(8);
  DLTensor tensor = {};
  tensor.data = page.behind<void>();
  tensor.device = Device(kDLCPU);
  tensor.dtype = Dtype(kDLFloat, 32);
  tensor.shape = page.behind<int64_t>();
  tensor.strides = page.behind<int64_t>();
  for (const int32_t ndim : {-1, -2, INT32_MIN}) {
    tensor.ndim = ndim;
    Error error;
    EXPECT_EQ(dlbridge_validate(&tensor, 0, nullptr, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  }
}

TEST(Ndim, IsAtMost64WhateverThePolicy) {
  TensorSpec spec(Axes(64, 1));
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NONE);
  spec = TensorSpec(Axes(65, 1));
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NDIM_LIMIT);
  DLBridgePolicy policy = Policy();
  LimitNdim(&policy, DLBRIDGE_MAX_NDIM);
  EXPECT_EQ(LegacyRule(spec, &policy), DLBRIDGE_RULE_NDIM_LIMIT);
  LimitNdim(&policy, 0);
  EXPECT_EQ(LegacyRule(TensorSpec(Axes(1, 1)), &policy), DLBRIDGE_RULE_NDIM_LIMIT);
  EXPECT_EQ(LegacyRule(TensorSpec(Axes()), &policy), DLBRIDGE_RULE_NONE);
}

TEST(DtypeWidth, ZeroBitsAndZeroLanesAreRejected) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(code, 0))), DLBRIDGE_RULE_DTYPE_BITS_ZERO) << code;
  }
  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLFloat, 32, 0))), DLBRIDGE_RULE_DTYPE_LANES_ZERO);
}

TEST(DtypeWidth, IsFixedForBoolFloat8Float6Float4AndBfloat) {
  for (int code = 0; code <= kDLBcomplex; ++code) {
    int fixed = 0;
    if (code == kDLBool || (code >= kDLFloat8_e3m4 && code <= kDLFloat8_e8m0fnu)) {
      fixed = 8;
    } else if (code == kDLFloat6_e2m3fn || code == kDLFloat6_e3m2fn) {
      fixed = 6;
    } else if (code == kDLFloat4_e2m1fn) {
      fixed = 4;
    } else if (code == kDLBfloat) {
      fixed = 16;
    }
    for (int bits = 1; bits < 256; ++bits) {
      const bool refused = fixed != 0 && bits != fixed;
      EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(code, bits))),
                refused ? DLBRIDGE_RULE_DTYPE_BITS_FIXED : DLBRIDGE_RULE_NONE)
          << code << " of " << bits << " bits";
    }
  }
}

TEST(DtypeWidth, OfOtherIntegersAndFloatsIsDescribedAsGiven) {
  TensorSpec spec = DtypeSpec(Dtype(kDLInt, 24));
  EXPECT_EQ(LayoutOf(spec).item_bits, 24U);
  EXPECT_EQ(LayoutOf(spec).packed_bytes, 18);
  spec.dtype = Dtype(kDLUInt, 1);
  EXPECT_EQ(LayoutOf(spec).item_bits, 1U);
  EXPECT_EQ(LayoutOf(spec).packed_bytes, 1);
}

TEST(ScalableLanes, AreRejectedUnlessThePolicyAllowsThem) {
  const DLBridgePolicy passes = Policy(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES);
  for (const int lanes : {0x8000, 0x8001, 0xfffe, 0xffff}) {
    const TensorSpec spec = DtypeSpec(Dtype(kDLInt, 8, lanes));
    EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_DTYPE_LANES_SCALABLE);
    EXPECT_EQ(LegacyRule(spec, &passes), DLBRIDGE_RULE_NONE);
    LegacySource source(spec);
    Error error;
    dlbridge_validate_legacy(source.get(), nullptr, &error);
    EXPECT_TRUE(error.Says("scalable vector")) << error.message;
    source.Release();
  }
  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLInt, 8, 0x7fff))), DLBRIDGE_RULE_NONE);
}

TEST(Float4, IsDescribedAsGivenWithAnyLanes) {
  for (const int lanes : {1, 2, 4, 16}) {
    const DLDataType dtype = Dtype(kDLFloat4_e2m1fn, 4, lanes);
    const TensorSpec spec = DtypeSpec(dtype);
    EXPECT_EQ(LayoutOf(spec).item_bits, static_cast<uint32_t>(4 * lanes));
    LegacySource source(spec);
    DLManagedTensorVersioned* up = MustUpgrade(source.get());
    EXPECT_EQ(std::memcmp(&up->dl_tensor.dtype, &dtype, sizeof dtype), 0);
    EXPECT_EQ(ShapeOf(up->dl_tensor), spec.shape);
    dlbridge_release_versioned(up);
  }
}

TEST(UnknownCodes, PassValidationAndAreNoted) {
  EXPECT_EQ(VersionedRule(DtypeSpec(Dtype(kDLBcomplex, 32))), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(VersionedRule(DtypeSpec(Dtype(250, 9, 3))), DLBRIDGE_RULE_NONE);
  for (const int32_t type :
       {-5, 0, 5, 6, static_cast<int32_t>(kDLTPU), 999, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(VersionedRule(DeviceSpec(type)), DLBRIDGE_RULE_NONE) << type;
    EXPECT_EQ(SeverityOf(DeviceSpec(type), DLBRIDGE_RULE_DEVICE_UNKNOWN), DLBRIDGE_SEVERITY_NOTE);
  }
  EXPECT_EQ(VersionedRule(FlagsSpec(~uint64_t{7})), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(SeverityOf(DtypeSpec(Dtype(250, 9)), DLBRIDGE_RULE_DTYPE_UNKNOWN),
            DLBRIDGE_SEVERITY_NOTE);
  EXPECT_EQ(SeverityOf(FlagsSpec(8), DLBRIDGE_RULE_FLAGS_UNKNOWN), DLBRIDGE_SEVERITY_NOTE);
}

TEST(UnknownCodes, AreRejectedByPolicy) {
  DLBridgePolicy policy = Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE);
  EXPECT_EQ(VersionedRule(DtypeSpec(Dtype(kDLBcomplex, 32)), &policy), DLBRIDGE_RULE_DTYPE_UNKNOWN);
  EXPECT_EQ(VersionedRule(DtypeSpec(Dtype(kDLFloat8_e5m2, 8)), &policy), DLBRIDGE_RULE_NONE);
  policy.version = {1, 0};
  EXPECT_EQ(VersionedRule(DtypeSpec(Dtype(kDLFloat8_e5m2, 8)), &policy),
            DLBRIDGE_RULE_DTYPE_UNKNOWN);
  policy = Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE);
  EXPECT_EQ(VersionedRule(DeviceSpec(kDLAscend), &policy), DLBRIDGE_RULE_DEVICE_UNKNOWN);
  EXPECT_EQ(VersionedRule(DeviceSpec(kDLTrn), &policy), DLBRIDGE_RULE_NONE);
  policy.version = {1, 1};
  EXPECT_EQ(VersionedRule(DeviceSpec(kDLTrn), &policy), DLBRIDGE_RULE_DEVICE_UNKNOWN);
  policy = Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS);
  EXPECT_EQ(VersionedRule(FlagsSpec(8), &policy), DLBRIDGE_RULE_FLAGS_UNKNOWN);
  EXPECT_EQ(VersionedRule(FlagsSpec(7), &policy), DLBRIDGE_RULE_NONE);
  policy.version = {1, 0};
  EXPECT_EQ(VersionedRule(FlagsSpec(kPadded), &policy), DLBRIDGE_RULE_FLAGS_UNKNOWN);
}

TEST(UnknownCodes, AreRejectedByConversionsUnlessAllowed) {
  const struct {
    TensorSpec spec;
    DLBridgeRule rule;
  } unknown[] = {
      {DtypeSpec(Dtype(kDLBcomplex, 32)), DLBRIDGE_RULE_DTYPE_UNKNOWN},
      {DtypeSpec(Dtype(200, 8)), DLBRIDGE_RULE_DTYPE_UNKNOWN},
      {DeviceSpec(kDLTPU), DLBRIDGE_RULE_DEVICE_UNKNOWN},
      {DeviceSpec(5), DLBRIDGE_RULE_DEVICE_UNKNOWN},
      {DeviceSpec(0), DLBRIDGE_RULE_DEVICE_UNKNOWN},
      {DeviceSpec(-1), DLBRIDGE_RULE_DEVICE_UNKNOWN},
  };
  for (const auto& expected : unknown) {
    EXPECT_EQ(UpgradeRule(expected.spec), expected.rule);
    EXPECT_EQ(AdoptRule(expected.spec), expected.rule);
    EXPECT_EQ(DowngradeRule(expected.spec), expected.rule);
    EXPECT_EQ(UpgradeRule(expected.spec, DLBRIDGE_CONVERT_ALLOW_UNKNOWN), DLBRIDGE_RULE_NONE);
    EXPECT_EQ(AdoptRule(expected.spec, DLBRIDGE_CONVERT_ALLOW_UNKNOWN), DLBRIDGE_RULE_NONE);
    EXPECT_EQ(DowngradeRule(expected.spec, DLBRIDGE_CONVERT_ALLOW_UNKNOWN), DLBRIDGE_RULE_NONE);
  }
  DLBridgeConvertOptions options = Options();
  options.tensor_flags = 1U << 4;
  EXPECT_EQ(UpgradeRule(TensorSpec(), options), DLBRIDGE_RULE_FLAGS_UNKNOWN);
}

TEST(UnknownCodes, KeepTheVersionOfTheirSource) {
  TensorSpec spec = FlagsSpec(1U << 5);
  spec.version = {1, 7};
  VersionedSource source(spec);
  DLManagedTensorVersioned* ours = MustAdopt(source.get(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
  EXPECT_EQ(ours->version.minor, 7U);
  EXPECT_EQ(ours->flags, spec.flags);
  dlbridge_release_versioned(ours);

  // Also through legacy and back.
  for (const uint32_t flags : {uint32_t{DLBRIDGE_CONVERT_CANONICAL}, 0U}) {
    VersionedSource other(spec);
    DLManagedTensor* down = MustDowngrade(other.get(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
    DLManagedTensorVersioned* up = MustUpgrade(down, DLBRIDGE_CONVERT_ALLOW_UNKNOWN | flags);
    EXPECT_EQ(up->flags & ~kCopied, spec.flags);
    EXPECT_EQ(up->version.minor, 7U) << "options " << flags;
    dlbridge_release_versioned(up);
  }
}

// The bit may change the layout, so a copy could read the wrong bytes.
TEST(UnknownCodes, OfFlagsAreNeverCopied) {
  constexpr uint32_t kOptions = DLBRIDGE_CONVERT_COPY | DLBRIDGE_CONVERT_ALLOW_UNKNOWN;
  EXPECT_EQ(AdoptRule(FlagsSpec(1U << 5), kOptions), DLBRIDGE_RULE_FLAGS_UNKNOWN);
  EXPECT_EQ(DowngradeRule(FlagsSpec(1U << 5), kOptions), DLBRIDGE_RULE_FLAGS_UNKNOWN);
  EXPECT_EQ(AdoptRule(DtypeSpec(Dtype(77, 8)), kOptions), DLBRIDGE_RULE_NONE);
}

TEST(UnknownCodes, AreNotPermittedByCopy) {
  EXPECT_EQ(DowngradeRule(FlagsSpec(1U << 5), DLBRIDGE_CONVERT_COPY), DLBRIDGE_RULE_FLAGS_UNKNOWN);
  EXPECT_EQ(AdoptRule(FlagsSpec(1U << 5), DLBRIDGE_CONVERT_COPY), DLBRIDGE_RULE_FLAGS_UNKNOWN);
  EXPECT_EQ(DowngradeRule(DtypeSpec(Dtype(77, 8)), DLBRIDGE_CONVERT_COPY),
            DLBRIDGE_RULE_DTYPE_UNKNOWN);
  EXPECT_EQ(UpgradeRule(DtypeSpec(Dtype(77, 8)), DLBRIDGE_CONVERT_COPY),
            DLBRIDGE_RULE_DTYPE_UNKNOWN);
  EXPECT_EQ(DowngradeRule(FlagsSpec(1U << 5), DLBRIDGE_CONVERT_ALLOW_NEWER_CODES |
                                                  DLBRIDGE_CONVERT_DROP_PADDED |
                                                  DLBRIDGE_CONVERT_DROP_READ_ONLY),
            DLBRIDGE_RULE_FLAGS_UNKNOWN);
}

TEST(PaddedFlag, OnAByteSizedDtypeIsKeptWithoutEffect) {
  TensorSpec spec = FlagsSpec(kPadded);
  EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_NONE);
  const DLBridgeLayout layout = LayoutOf(spec);
  EXPECT_EQ(layout.item_bits, 32U);
  EXPECT_EQ(layout.properties & DLBRIDGE_LAYOUT_PADDED, 0U);
  VersionedSource source(spec);
  // No information is lost, so no option is needed.
  DLManagedTensor* down = MustDowngrade(source.get());
  DLManagedTensorVersioned* up = MustUpgrade(down, DLBRIDGE_CONVERT_CANONICAL);
  EXPECT_EQ(up->flags, kPadded);
  dlbridge_release_versioned(up);
}

TEST(PaddedFlag, RequiresVersion11) {
  EXPECT_EQ(AdoptRule(FlagsSpec(kPadded), Options(0, {1, 0})), DLBRIDGE_RULE_REQUIRED_VERSION);
  EXPECT_EQ(AdoptRule(FlagsSpec(kPadded), Options(0, {1, 1})), DLBRIDGE_RULE_NONE);
  TensorSpec spec = FlagsSpec(kPadded);
  DLPackVersion version = {9, 9};
  VersionedSource source(spec);
  EXPECT_EQ(dlbridge_required_version(source.tensor(), kPadded, &version, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(version.major, 1U);
  EXPECT_EQ(version.minor, 1U);
  source.Release();
}

TEST(Alignment, IsReportedAndCheckedOnlyByPolicy) {
  TensorSpec spec;
  spec.start = 1;
  EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(LayoutOf(spec).alignment, 1U);
  EXPECT_EQ(SeverityOf(spec, DLBRIDGE_RULE_DATA_UNALIGNED), DLBRIDGE_SEVERITY_NOTE);
  DLBridgePolicy aligned = Policy();
  aligned.alignment = 4;
  EXPECT_EQ(VersionedRule(spec, &aligned), DLBRIDGE_RULE_ALIGNMENT);
  spec.byte_offset = 3;
  EXPECT_EQ(VersionedRule(spec, &aligned), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(SeverityOf(spec, DLBRIDGE_RULE_DATA_UNALIGNED), 0);
}

TEST(DeviceIds, NegativeIdsAreRejectedOthersAreKept) {
  for (const int32_t type : {static_cast<int32_t>(kDLCPU), static_cast<int32_t>(kDLCUDAHost),
                             static_cast<int32_t>(kDLCUDAManaged), static_cast<int32_t>(kDLCUDA)}) {
    for (const int32_t id : {-1, INT32_MIN}) {
      EXPECT_EQ(LegacyRule(DeviceSpec(type, id)), DLBRIDGE_RULE_DEVICE_ID_NEGATIVE);
    }
    for (const int32_t id : {0, 1, 3, INT32_MAX}) {
      EXPECT_EQ(LegacyRule(DeviceSpec(type, id)), DLBRIDGE_RULE_NONE);
      LegacySource source(DeviceSpec(type, id));
      DLManagedTensorVersioned* up = MustUpgrade(source.get());
      EXPECT_EQ(up->dl_tensor.device.device_id, id);
      dlbridge_release_versioned(up);
    }
  }
}

TEST(DeviceIds, AreWrittenAs0OnHostLikeMemoryInCanonicalForm) {
  for (int32_t type = 1; type < 19; ++type) {
    const bool host =
        type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost || type == kDLCUDAManaged;
    LegacySource source(DeviceSpec(type, 3));
    DLManagedTensorVersioned* up =
        MustUpgrade(source.get(), DLBRIDGE_CONVERT_CANONICAL | DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
    EXPECT_EQ(up->dl_tensor.device.device_id, host ? 0 : 3) << type;
    dlbridge_release_versioned(up);
    EXPECT_EQ(SeverityOf(DeviceSpec(type, 3), DLBRIDGE_RULE_DEVICE_ID_HOST),
              host ? DLBRIDGE_SEVERITY_NOTE : 0)
        << type;
  }
}

TEST(DeviceLevel, IsTheHighestLevel) {
  DLBridgePolicy policy = Policy();
  for (const int32_t level : {-1, 4, INT32_MAX}) {
    policy.level = level;
    LegacySource source;
    Error error;
    EXPECT_EQ(dlbridge_validate_legacy(source.get(), &policy, &error),
              level < 0 ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_ERROR_TOO_NEW);
    EXPECT_TRUE(error.Says("policy.level"));
    source.Release();
  }
}

TEST(NullDeleter, IsValidOnInputAndNeverOnOutput) {
  TensorSpec spec;
  spec.null_deleter = true;
  LegacySource legacy(spec);
  DLManagedTensorVersioned* up = MustUpgrade(legacy.get());
  EXPECT_NE(up->deleter, nullptr);
  dlbridge_release_versioned(up);
  VersionedSource versioned(spec);
  DLManagedTensor* down = MustDowngrade(versioned.get());
  EXPECT_NE(down->deleter, nullptr);
  dlbridge_release_legacy(down);
}

TEST(MaxVersion, IsAHintAndTheKindOfTheResultDecides) {
  // Whichever form a producer sends for a request of 1.3, export makes it the form that is read.
  const DLPackVersion target = {1, 3};
  void* out = nullptr;
  DLBridgeKind kind = 0;
  LegacySource legacy;
  ASSERT_EQ(
      dlbridge_export(legacy.get(), DLBRIDGE_KIND_LEGACY, target, nullptr, &out, &kind, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(kind, DLBRIDGE_KIND_VERSIONED);
  dlbridge_release_versioned(static_cast<DLManagedTensorVersioned*>(out));
  VersionedSource versioned;
  ASSERT_EQ(dlbridge_export(versioned.get(), DLBRIDGE_KIND_VERSIONED, target, nullptr, &out, &kind,
                            nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(out, versioned.get());
  versioned.Release();
}

TEST(CopyToLegacy, PermitsEverythingThatLegacyCannotExpress) {
  TensorSpec spec = DtypeSpec(Dtype(kDLFloat4_e2m1fn, 4));
  spec.flags = kReadOnly | kPadded;
  EXPECT_EQ(DowngradeRule(spec), DLBRIDGE_RULE_LEGACY_READ_ONLY);
  EXPECT_EQ(DowngradeRule(spec, DLBRIDGE_CONVERT_DROP_READ_ONLY), DLBRIDGE_RULE_LEGACY_PADDED);
  EXPECT_EQ(DowngradeRule(spec, DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED),
            DLBRIDGE_RULE_LEGACY_DTYPE);
  EXPECT_EQ(DowngradeRule(spec, DLBRIDGE_CONVERT_COPY), DLBRIDGE_RULE_NONE);
}

TEST(CopyToLegacy, DropsIsCopiedWithoutAnOption) {
  EXPECT_EQ(DowngradeRule(FlagsSpec(kCopied)), DLBRIDGE_RULE_NONE);
}

TEST(VersionOnOutput, IsTheSmallerOfTheConsumersAndTheLibrarys) {
  const struct {
    DLPackVersion asked;
    uint32_t minor;
  } cases[] = {{{0, 0}, 3}, {{1, 0}, 0}, {{1, 1}, 1},          {{1, 2}, 2},
               {{1, 3}, 3}, {{1, 4}, 3}, {{1, 0xffffffffU}, 3}};
  for (const auto& expected : cases) {
    LegacySource source;
    const DLBridgeConvertOptions options = Options(0, expected.asked);
    DLManagedTensorVersioned* up = nullptr;
    ASSERT_EQ(dlbridge_upgrade(source.get(), &options, &up, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(up->version.major, 1U);
    EXPECT_EQ(up->version.minor, expected.minor);
    dlbridge_release_versioned(up);
  }
}

TEST(VersionOnOutput, TooSmallForTheTensorIsRejected) {
  const TensorSpec fp8 = DtypeSpec(Dtype(kDLFloat8_e5m2, 8));
  EXPECT_EQ(UpgradeRule(fp8, Options(0, {1, 0})), DLBRIDGE_RULE_REQUIRED_VERSION);
  EXPECT_EQ(UpgradeRule(fp8, Options(0, {1, 1})), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(UpgradeRule(DeviceSpec(kDLTrn), Options(0, {1, 1})), DLBRIDGE_RULE_REQUIRED_VERSION);
  EXPECT_EQ(UpgradeRule(DeviceSpec(kDLTrn), Options(0, {1, 2})), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(AdoptRule(fp8, Options(0, {1, 0})), DLBRIDGE_RULE_REQUIRED_VERSION);
}

TEST(ExchangeApi, SkipsOtherMajorsAndBrokenTables) {
  DLPackExchangeAPI whole = {};
  whole.header.version = {1, 2};
  whole.managed_tensor_allocator = [](DLTensor*, DLManagedTensorVersioned**, void*,
                                      void (*)(void*, const char*, const char*)) { return 0; };
  whole.managed_tensor_from_py_object_no_sync = [](void*, DLManagedTensorVersioned**) { return 0; };
  whole.managed_tensor_to_py_object_no_sync = [](DLManagedTensorVersioned*, void**) { return 0; };
  whole.current_work_stream = [](DLDeviceType, int32_t, void**) { return 0; };
  DLPackExchangeAPI broken = whole;
  broken.header.version = {1, 9};
  broken.current_work_stream = nullptr;
  broken.header.prev_api = &whole.header;
  DLPackExchangeAPI next_major = whole;
  next_major.header.version = {2, 0};
  next_major.header.prev_api = &broken.header;
  const DLPackExchangeAPI* found = nullptr;
  ASSERT_EQ(dlbridge_exchange_api_find(&next_major.header, {1, 0}, &found, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(found, &whole);
}

// -------------------------------------------------- inputs that other suites leave out

TEST(Inputs, NegativeNdim) {
  for (const int32_t ndim : {-1, -2, -64, INT32_MIN}) {
    TensorSpec spec;
    spec.ndim = ndim;
    EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NDIM_NEGATIVE);
    EXPECT_EQ(UpgradeRule(spec, DLBRIDGE_CONVERT_SKIP_VALIDATION), DLBRIDGE_RULE_NDIM_NEGATIVE);
    EXPECT_EQ(DowngradeRule(spec, DLBRIDGE_CONVERT_COPY), DLBRIDGE_RULE_NDIM_NEGATIVE);
  }
}

TEST(Inputs, NdimJustAboveALimit) {
  for (const int32_t limit : {0, 1, 8, 63, 64}) {
    DLBridgePolicy policy = Policy();
    LimitNdim(&policy, limit);
    TensorSpec spec(Axes(static_cast<size_t>(limit) + 1, 1));
    EXPECT_EQ(LegacyRule(spec, &policy), DLBRIDGE_RULE_NDIM_LIMIT);
    spec = TensorSpec(Axes(static_cast<size_t>(limit), 1));
    EXPECT_EQ(LegacyRule(spec, &policy), DLBRIDGE_RULE_NONE);
  }
}

TEST(Inputs, MajorZero) {
  TensorSpec spec;
  spec.version = {0, 8};
  EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_VERSION_MAJOR);
  EXPECT_EQ(AdoptRule(spec), DLBRIDGE_RULE_VERSION_MAJOR);
  EXPECT_EQ(DowngradeRule(spec), DLBRIDGE_RULE_VERSION_MAJOR);
}

TEST(Inputs, ANewerMinorWithANewDtypeOrDevice) {
  for (TensorSpec spec : {DtypeSpec(Dtype(60, 8)), DeviceSpec(60)}) {
    spec.version = {1, 12};
    EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_NONE);
    EXPECT_NE(AdoptRule(spec), DLBRIDGE_RULE_NONE);
    VersionedSource source(spec);
    DLManagedTensorVersioned* ours = MustAdopt(source.get(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
    EXPECT_EQ(ours->version.minor, 12U);
    dlbridge_release_versioned(ours);
  }
  TensorSpec plain;
  plain.version = {1, 12};
  EXPECT_EQ(AdoptRule(plain), DLBRIDGE_RULE_NONE)
      << "a newer minor is accepted if all codes are known";
}

TEST(Inputs, NullDeleterInAVersionedStruct) {
  TensorSpec spec;
  spec.null_deleter = true;
  VersionedSource source(spec);
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  DLManagedTensorVersioned* shared = MustShare(ours);
  dlbridge_release_versioned(ours);
  dlbridge_release_versioned(shared);
}

TEST(Inputs, EveryFlagBitAboveTwo) {
  const DLBridgePolicy strict = Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS);
  for (int bit = 3; bit < 64; ++bit) {
    const TensorSpec spec = FlagsSpec(uint64_t{1} << bit);
    EXPECT_EQ(VersionedRule(spec), DLBRIDGE_RULE_NONE);
    EXPECT_EQ(VersionedRule(spec, &strict), DLBRIDGE_RULE_FLAGS_UNKNOWN);
    EXPECT_EQ(AdoptRule(spec), DLBRIDGE_RULE_FLAGS_UNKNOWN);
    EXPECT_EQ(DowngradeRule(spec), DLBRIDGE_RULE_FLAGS_UNKNOWN);
    VersionedSource source(spec);
    DLManagedTensorVersioned* ours = MustAdopt(source.get(), DLBRIDGE_CONVERT_ALLOW_UNKNOWN);
    EXPECT_EQ(ours->flags, spec.flags);
    dlbridge_release_versioned(ours);
  }
}

TEST(Inputs, ThePaddedFlagOnAByteSizedDtype) {
  EXPECT_EQ(AdoptRule(FlagsSpec(kPadded)), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(DowngradeRule(FlagsSpec(kPadded)), DLBRIDGE_RULE_NONE);
}

TEST(Inputs, ReadOnlyThroughVersionedLegacyVersioned) {
  for (const uint32_t reshape : {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}}) {
    VersionedSource source(FlagsSpec(kReadOnly));
    DLManagedTensor* down = MustDowngrade(source.get(), DLBRIDGE_CONVERT_DROP_READ_ONLY);
    DLManagedTensorVersioned* up = MustUpgrade(down, DLBRIDGE_CONVERT_VOUCH_WRITABLE | reshape);
    EXPECT_EQ(up->flags, kReadOnly);
    dlbridge_release_versioned(up);
  }
}

TEST(Inputs, ByteOffsetNearTheEndOfTheAddressSpace) {
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 4096}) {
    TensorSpec spec;
    spec.byte_offset = offset;
    EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_ADDRESS_RANGE);
    EXPECT_EQ(UpgradeRule(spec, DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET), DLBRIDGE_RULE_ADDRESS_RANGE);
    // With an opaque handle only the offset must not overflow.
    spec.device = Device(kDLVulkan);
    EXPECT_EQ(LegacyRule(spec),
              offset > UINT64_MAX - 24 ? DLBRIDGE_RULE_ADDRESS_RANGE : DLBRIDGE_RULE_NONE);
    // An empty tensor touches no memory, so any offset is valid.
    TensorSpec empty(Axes({0}));
    empty.byte_offset = offset;
    EXPECT_EQ(LegacyRule(empty), DLBRIDGE_RULE_NONE);
  }
}

TEST(Inputs, NullDataWithAnOffset) {
  TensorSpec spec;
  spec.null_data = true;
  spec.byte_offset = 4096;
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_DATA_NULL);
  spec.device = Device(kDLCUDA);
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_DATA_NULL);
  TensorSpec empty(Axes({0}));
  empty.null_data = true;
  empty.byte_offset = 4096;
  LegacySource source(empty);
  DLManagedTensorVersioned* up = MustUpgrade(source.get(), DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET);
  EXPECT_EQ(up->dl_tensor.data, nullptr) << "NULL stays NULL";
  dlbridge_release_versioned(up);
}

TEST(Inputs, ZeroBitsAndZeroOr65535Lanes) {
  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLFloat, 0))), DLBRIDGE_RULE_DTYPE_BITS_ZERO);
  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLFloat, 32, 0))), DLBRIDGE_RULE_DTYPE_LANES_ZERO);
  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLFloat, 32, 65535))), DLBRIDGE_RULE_DTYPE_LANES_SCALABLE);
}

TEST(Inputs, DeviceIdsNegativeHugeOrNonZeroOnHostMemory) {
  EXPECT_EQ(LegacyRule(DeviceSpec(kDLCUDA, -1)), DLBRIDGE_RULE_DEVICE_ID_NEGATIVE);
  EXPECT_EQ(LegacyRule(DeviceSpec(kDLCUDA, INT32_MAX)), DLBRIDGE_RULE_NONE);
  EXPECT_EQ(LegacyRule(DeviceSpec(kDLCPU, 7)), DLBRIDGE_RULE_NONE);
}

TEST(Inputs, ASizeOneAxisWithStrideInt64Min) {
  const TensorSpec spec({1, 3, 1}, {INT64_MIN, 1, INT64_MAX});
  EXPECT_EQ(LegacyRule(spec), DLBRIDGE_RULE_NONE);
  const DLBridgeLayout layout = LayoutOf(spec);
  EXPECT_EQ(layout.begin, 0);
  EXPECT_EQ(layout.end, 12);
  EXPECT_EQ(layout.self_overlap, DLBRIDGE_NO);
  EXPECT_EQ(layout.properties,
            uint32_t{DLBRIDGE_LAYOUT_C_CONTIGUOUS | DLBRIDGE_LAYOUT_F_CONTIGUOUS});
}

TEST(Inputs, OverlapByStridesOtherThanZero) {
  EXPECT_EQ(LayoutOf(TensorSpec({3, 3}, {1, 1})).self_overlap, DLBRIDGE_YES);
  EXPECT_EQ(LayoutOf(TensorSpec({3, 3}, {2, 1})).self_overlap, DLBRIDGE_YES);
  EXPECT_EQ(LayoutOf(TensorSpec({3, 3}, {3, 1})).self_overlap, DLBRIDGE_NO);
  TensorSpec mixed({3, 3}, {-2, 1});
  mixed.start = 64;
  EXPECT_EQ(LayoutOf(mixed).self_overlap, DLBRIDGE_YES);
}

TEST(Inputs, DeletersOnForeignThreadsAfterTheProducerIsGone) {
  DLManagedTensorVersioned* tensor = nullptr;
  std::unique_ptr<LegacySource> source;
  std::thread([&] {
    source = std::make_unique<LegacySource>();
    tensor = MustUpgrade(source->get());
  }).join();
  std::thread([&] { dlbridge_release_versioned(tensor); }).join();
  EXPECT_EQ(source->deletions(), 1);
}

}  // namespace
}  // namespace dlbridge_test
