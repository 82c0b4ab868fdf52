// SPDX-License-Identifier: Apache-2.0
// All findings on a tensor; the first broken rule is the one that validate reports.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

using Findings = std::vector<DLBridgeFinding>;

Findings Diagnose(const void* tensor, DLBridgeKind kind, const DLBridgePolicy* policy = nullptr,
                  uint64_t flags = 0) {
  Findings findings(256);
  size_t count = 0;
  Error error;
  EXPECT_EQ(dlbridge_diagnose(tensor, kind, flags, policy, findings.data(), findings.size(), &count,
                              &error),
            DLBRIDGE_OK)
      << error.message;
  EXPECT_LE(count, findings.size());
  findings.resize(count);
  return findings;
}

const DLBridgeFinding* FirstBroken(const Findings& findings) {
  for (const DLBridgeFinding& finding : findings) {
    if (finding.severity == DLBRIDGE_SEVERITY_BROKEN) {
      return &finding;
    }
  }
  return nullptr;
}

std::multiset<DLBridgeRule> RulesOf(const Findings& findings) {
  std::multiset<DLBridgeRule> rules;
  for (const DLBridgeFinding& finding : findings) {
    rules.insert(finding.rule);
  }
  return rules;
}

void ExpectWellFormed(const Findings& findings) {
  for (const DLBridgeFinding& finding : findings) {
    EXPECT_GT(finding.rule, DLBRIDGE_RULE_NONE);
    EXPECT_GE(finding.axis, -1);
    const bool broken = finding.severity == DLBRIDGE_SEVERITY_BROKEN;
    EXPECT_TRUE(broken || finding.severity == DLBRIDGE_SEVERITY_NOTE);
    EXPECT_EQ(finding.status != DLBRIDGE_OK, broken);
    EXPECT_LT(strnlen(finding.expected, sizeof finding.expected), sizeof finding.expected);
    EXPECT_LT(strnlen(finding.found, sizeof finding.found), sizeof finding.found);
    EXPECT_NE(finding.expected[0], '\0') << dlbridge_rule_name(finding.rule);
    EXPECT_NE(finding.found[0], '\0') << dlbridge_rule_name(finding.rule);
  }
}

// A versioned tensor in which any field may be invalid.
struct Wild {
  Axes shape;
  Axes strides;
  DLManagedTensorVersioned managed;
};

int64_t PickExtent(Random* random) {
  const int64_t odd[] = {-1, 0, INT64_MIN, INT64_MAX, 1LL << 32, 1LL << 62};
  return random->OneIn(8) ? random->Pick(odd) : random->Between(1, 5);
}

int64_t PickStride(Random* random) {
  const int64_t odd[] = {0, INT64_MIN, INT64_MAX, -1, 1LL << 61};
  return random->OneIn(8) ? random->Pick(odd) : random->Between(-8, 30);
}

void PickTensor(Random* random, Wild* wild, DLTensor* tensor) {
  wild->shape.clear();
  wild->strides.clear();
  const int64_t ndim = random->Between(0, 5);
  for (int64_t i = 0; i < ndim; ++i) {
    wild->shape.push_back(PickExtent(random));
    wild->strides.push_back(PickStride(random));
  }
  if (random->OneIn(3)) {
    int64_t product = 1;
    for (size_t i = wild->shape.size(); i-- > 0;) {
      wild->strides[i] = product;
      product = static_cast<int64_t>(static_cast<uint64_t>(product) *
                                     static_cast<uint64_t>(wild->shape[i]));
    }
  }
  const uint64_t addresses[] = {0, 1, 8, 4096, 0x7f0000000003, UINT64_MAX, UINT64_MAX - 100};
  tensor->data = reinterpret_cast<void*>(static_cast<uintptr_t>(
      random->OneIn(4) ? random->Pick(addresses) : uint64_t{0x7f0000000000}));
  tensor->device = Device(static_cast<int32_t>(random->OneIn(3) ? random->Between(-2, 24) : 1),
                          static_cast<int32_t>(random->OneIn(5) ? random->Between(-1, 2) : 0));
  tensor->ndim = static_cast<int32_t>(random->OneIn(15) ? -1 - random->Between(0, 9) : ndim);
  tensor->dtype = Dtype(static_cast<int>(random->OneIn(3) ? random->Between(0, 20) : 2),
                        static_cast<int>(random->OneIn(5) ? random->Between(0, 16) : 32),
                        static_cast<int>(random->OneIn(10) ? 0x8000 : random->Between(0, 8)));
  tensor->dtype.lanes = random->OneIn(2) ? uint16_t{1} : tensor->dtype.lanes;
  tensor->shape = random->OneIn(20) ? nullptr : wild->shape.data();
  tensor->strides = random->OneIn(4) ? nullptr : wild->strides.data();
  tensor->byte_offset = random->OneIn(10) ? random->Bits() : random->OneIn(2) ? 0U : 16U;
}

void PickWild(Random* random, Wild* wild) {
  wild->managed = {};
  wild->managed.version = {static_cast<uint32_t>(random->OneIn(20) ? random->Between(0, 3) : 1),
                           static_cast<uint32_t>(random->Between(0, 4))};
  wild->managed.flags =
      random->OneIn(10) ? random->Bits() : static_cast<uint64_t>(random->Between(0, 7));
  PickTensor(random, wild, &wild->managed.dl_tensor);
}

DLBridgePolicy PickPolicy(Random* random) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = random->OneIn(3) ? 0 : static_cast<uint32_t>(random->Between(0, 0x3ff)) << 8;
  policy.version = {static_cast<uint32_t>(random->Between(0, 1)),
                    static_cast<uint32_t>(random->Between(0, 4))};
  if (random->OneIn(5)) {
    LimitNdim(&policy, static_cast<int32_t>(random->Between(2, 5)),
              static_cast<int32_t>(random->Between(0, 2)));
  }
  policy.contiguity = static_cast<int32_t>(random->OneIn(2) ? 0 : random->Between(0, 3));
  policy.alignment = random->OneIn(3) ? uint64_t{1} << random->Between(0, 12) : 0;
  if (random->OneIn(3)) {
    LimitBuffer(&policy, static_cast<uint64_t>(random->Between(0, 500)));
  }
  static const DLDevice devices[] = {{kDLCPU, -1}, {kDLCUDA, 0}};
  if (random->OneIn(4)) {
    policy.devices = devices;
    policy.device_count = static_cast<size_t>(random->Between(1, 2));
  }
  static const DLDataType dtypes[] = {{kDLFloat, 32, 1}, {kDLInt, 8, 1}};
  if (random->OneIn(4)) {
    policy.dtypes = dtypes;
    policy.dtype_count = static_cast<size_t>(random->Between(1, 2));
  }
  if (random->OneIn(6)) {
    policy.level = DLBRIDGE_LEVEL_STRUCT;
    policy.contiguity = 0;
    policy.alignment = 0;
    policy.buffer_size = 0;
    policy.options &= DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
                      DLBRIDGE_POLICY_LIMIT_NDIM | DLBRIDGE_POLICY_ALLOW_NULL_STRIDES;
  }
  return policy;
}

// The first broken rule is the one that validation reports; a valid tensor has none.
void ExpectAgreement(DLBridgeStatus status, const Error& error, const Findings& findings) {
  ExpectWellFormed(findings);
  const DLBridgeFinding* broken = FirstBroken(findings);
  ASSERT_EQ(status != DLBRIDGE_OK, broken != nullptr) << error.message;
  if (broken != nullptr) {
    EXPECT_EQ(broken->rule, error.rule) << error.message;
    EXPECT_EQ(broken->status, status);
    EXPECT_EQ(broken->axis, error.axis);
    EXPECT_TRUE(error.Says(broken->found)) << error.message << " / " << broken->found;
    EXPECT_TRUE(error.Says(broken->expected)) << error.message << " / " << broken->expected;
  }
}

TEST(Diagnose, AgreesWithValidate) {
  Random random(51);
  std::set<DLBridgeRule> seen;
  size_t passed = 0;
  const size_t rounds = Scaled(60000);
  for (size_t round = 0; round < rounds; ++round) {
    Wild wild;
    PickWild(&random, &wild);
    DLBridgePolicy policy = PickPolicy(&random);
    const DLBridgePolicy* given = random.OneIn(4) ? nullptr : &policy;
    const DLTensor& tensor = wild.managed.dl_tensor;
    const DLManagedTensor legacy = {tensor, nullptr, nullptr};
    Error versioned_error;
    Error legacy_error;
    Error bare_error;
    const DLBridgeStatus status =
        dlbridge_validate_versioned(&wild.managed, given, &versioned_error);
    ExpectAgreement(status, versioned_error,
                    Diagnose(&wild.managed, DLBRIDGE_KIND_VERSIONED, given));
    ExpectAgreement(dlbridge_validate_legacy(&legacy, given, &legacy_error), legacy_error,
                    Diagnose(&legacy, DLBRIDGE_KIND_LEGACY, given));
    ExpectAgreement(dlbridge_validate(&tensor, wild.managed.flags, given, &bare_error), bare_error,
                    Diagnose(&tensor, DLBRIDGE_KIND_BORROWED, given, wild.managed.flags));
    passed += status == DLBRIDGE_OK ? 1 : 0;
    seen.insert(versioned_error.rule);
    ASSERT_FALSE(HasFailure()) << "round " << round << ", shape "
                               << testing::PrintToString(wild.shape) << ", strides "
                               << testing::PrintToString(wild.strides);
  }
  if (rounds > 10000) {
    EXPECT_GT(passed, rounds / 100);
    EXPECT_GE(seen.size(), 25U) << "the random tensors break too few rules";
  }
}

TEST(Diagnose, FindsNothingOnAPlainTensor) {
  VersionedSource source;
  EXPECT_TRUE(Diagnose(source.get(), DLBRIDGE_KIND_VERSIONED).empty());
  source.Release();
}

TEST(Diagnose, FindsEverythingAtOnce) {
  TensorSpec spec({2, -3, 4, -5}, {1, 1, 1, 1});
  spec.device = Device(99, -4);
  spec.dtype = Dtype(200, 0, 0);
  spec.flags = 1U << 9;
  VersionedSource source(spec);
  const Findings findings = Diagnose(source.get(), DLBRIDGE_KIND_VERSIONED);
  const std::multiset<DLBridgeRule> expected = {
      DLBRIDGE_RULE_DTYPE_BITS_ZERO, DLBRIDGE_RULE_DTYPE_LANES_ZERO,
      DLBRIDGE_RULE_DTYPE_UNKNOWN,   DLBRIDGE_RULE_DEVICE_UNKNOWN,
      DLBRIDGE_RULE_FLAGS_UNKNOWN,   DLBRIDGE_RULE_DEVICE_ID_NEGATIVE,
      DLBRIDGE_RULE_EXTENT_NEGATIVE, DLBRIDGE_RULE_EXTENT_NEGATIVE};
  EXPECT_EQ(RulesOf(findings), expected);
  std::set<int32_t> axes;
  for (const DLBridgeFinding& finding : findings) {
    if (finding.rule == DLBRIDGE_RULE_EXTENT_NEGATIVE) {
      axes.insert(finding.axis);
    }
  }
  EXPECT_EQ(axes, std::set<int32_t>({1, 3}));
  source.Release();
}

TEST(Diagnose, ReportsExpectedAndFound) {
  TensorSpec spec({2, -3}, {1, 1});
  LegacySource source(spec);
  const Findings findings = Diagnose(source.get(), DLBRIDGE_KIND_LEGACY);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_STREQ(findings[0].expected, "at least 0");
  EXPECT_STREQ(findings[0].found, "-3");
  EXPECT_EQ(findings[0].axis, 1);
  EXPECT_EQ(findings[0].status, DLBRIDGE_ERROR_INVALID_TENSOR);
  source.Release();
}

TEST(Diagnose, NotesHarmlessFindings) {
  TensorSpec spec({2, 3}, {0, 1});
  spec.device = Device(kDLCPU, 5);
  spec.dtype = Dtype(kDLFloat8_e5m2, 8);
  spec.version = {1, 0};
  VersionedSource source(spec);
  const Findings findings = Diagnose(source.get(), DLBRIDGE_KIND_VERSIONED);
  const std::multiset<DLBridgeRule> expected = {
      DLBRIDGE_RULE_DEVICE_ID_HOST, DLBRIDGE_RULE_VERSION_LABEL, DLBRIDGE_RULE_SELF_OVERLAP};
  EXPECT_EQ(RulesOf(findings), expected);
  EXPECT_EQ(FirstBroken(findings), nullptr);
  source.Release();
}

TEST(Diagnose, ReportsEveryAxisThatThePolicyRejects) {
  TensorSpec spec({2, 3, 4, 1}, {-12, 0, -1, -5});
  spec.start = 128;
  DLBridgePolicy policy =
      Policy(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES | DLBRIDGE_POLICY_REJECT_ZERO_STRIDES);
  LegacySource source(spec);
  std::set<int32_t> negative;
  std::set<int32_t> zero;
  for (const DLBridgeFinding& finding : Diagnose(source.get(), DLBRIDGE_KIND_LEGACY, &policy)) {
    if (finding.rule == DLBRIDGE_RULE_NEGATIVE_STRIDE) {
      negative.insert(finding.axis);
    } else if (finding.rule == DLBRIDGE_RULE_ZERO_STRIDE) {
      zero.insert(finding.axis);
    }
  }
  EXPECT_EQ(negative, std::set<int32_t>({0, 2}));
  EXPECT_EQ(zero, std::set<int32_t>({1}));
  source.Release();
}

TEST(Diagnose, EndsWithTheFindingThatMakesTheRestUnreadable) {
  TensorSpec spec;
  spec.ndim = -1;
  LegacySource source(spec);
  Findings findings = Diagnose(source.get(), DLBRIDGE_KIND_LEGACY);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  source.Release();
  spec = TensorSpec();
  spec.version = {2, 0};
  VersionedSource versioned(spec);
  findings = Diagnose(versioned.get(), DLBRIDGE_KIND_VERSIONED);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, DLBRIDGE_RULE_VERSION_MAJOR);
  versioned.Release();
}

TEST(Diagnose, CountsFindingsBeyondTheCapacity) {
  TensorSpec spec({-1, -2, -3}, {1, 1, 1});
  LegacySource source(spec);
  std::array<DLBridgeFinding, 3> findings;
  std::memset(findings.data(), 0x66, sizeof findings);
  size_t count = 0;
  ASSERT_EQ(dlbridge_diagnose(source.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, findings.data(), 1,
                              &count, nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(findings[0].axis, 0);
  EXPECT_EQ(findings[1].axis, 0x66666666) << "past the capacity";
  ASSERT_EQ(dlbridge_diagnose(source.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, nullptr, 0, &count,
                              nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(count, 3U);
  source.Release();
}

TEST(Diagnose, RejectsInvalidArguments) {
  LegacySource source;
  size_t count = 77;
  Error error;
  const auto refused = [&](const void* tensor, DLBridgeKind kind, uint64_t flags,
                           DLBridgeFinding* findings, size_t capacity, size_t* out,
                           const char* argument) {
    EXPECT_EQ(dlbridge_diagnose(tensor, kind, flags, nullptr, findings, capacity, out, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says(argument)) << error.message;
    EXPECT_EQ(count, 77U);
  };
  refused(nullptr, DLBRIDGE_KIND_LEGACY, 0, nullptr, 0, &count, "tensor");
  refused(source.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, 0, nullptr, "count");
  refused(source.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, 1, &count, "findings");
  for (const DLBridgeKind kind : {-1, 0, 4}) {
    refused(source.get(), kind, 0, nullptr, 0, &count, "kind");
  }
  refused(source.get(), DLBRIDGE_KIND_LEGACY, 1, nullptr, 0, &count, "flags");
  refused(source.get(), DLBRIDGE_KIND_VERSIONED, 1, nullptr, 0, &count, "flags");
  source.Release();
}

}  // namespace
}  // namespace dlbridge_test
