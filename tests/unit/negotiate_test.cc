// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// major * 100 + minor of the required version; 0 where no release knows a code.
int Required(DLDataType dtype, int32_t device, uint64_t flags = 0, DLBridgeRule* rule = nullptr) {
  DLTensor tensor = {};
  tensor.ndim = 3;  // shape and strides are not read
  tensor.dtype = dtype;
  tensor.device = Device(device);
  DLPackVersion out = {77, 77};
  Error error;
  const DLBridgeStatus status = dlbridge_required_version(&tensor, flags, &out, &error);
  if (status != DLBRIDGE_OK) {
    EXPECT_EQ(status, DLBRIDGE_ERROR_UNKNOWN_CODE);
    EXPECT_EQ(out.major, 77U) << "an output was written on failure";
    if (rule != nullptr) {
      *rule = error.rule;
    }
    return 0;
  }
  return static_cast<int>(out.major * 100 + out.minor);
}

TEST(RequiredVersion, OfADeviceIsItsFirstRelease) {
  // Indexed by code; 0: in no release.
  const int since[] = {0, 2, 2, 2, 2, 0, 0, 3, 2, 2, 2, 6, 3, 6, 7, 7, 7, 100, 102, 0, 0, 0, 0};
  for (int32_t type = 0; type < static_cast<int32_t>(std::size(since)); ++type) {
    EXPECT_EQ(Required(Dtype(kDLFloat, 32), type), since[type]) << type;
  }
  for (const int32_t type : {-1, INT32_MIN, INT32_MAX, 64, 65, 256}) {
    DLBridgeRule rule = 0;
    EXPECT_EQ(Required(Dtype(kDLFloat, 32), type, 0, &rule), 0) << type;
    EXPECT_EQ(rule, DLBRIDGE_RULE_DEVICE_UNKNOWN);
  }
}

TEST(RequiredVersion, OfADtypeIsItsFirstRelease) {
  const int since[] = {2,   2,   2,   4,   3,   4,   8,   101, 101, 101,
                       101, 101, 101, 101, 101, 101, 101, 101, 0};
  for (int code = 0; code < static_cast<int>(std::size(since)); ++code) {
    EXPECT_EQ(Required(Dtype(code, 8), kDLCPU), since[code]) << code;
  }
  for (int code = 18; code < 256; ++code) {
    DLBridgeRule rule = 0;
    EXPECT_EQ(Required(Dtype(code, 8), kDLCPU, 0, &rule), 0) << code;
    EXPECT_EQ(rule, DLBRIDGE_RULE_DTYPE_UNKNOWN);
  }
}

TEST(RequiredVersion, OfFlagsIsTheirFirstRelease) {
  const DLDataType dtype = Dtype(kDLFloat, 32);
  EXPECT_EQ(Required(dtype, kDLCPU, 0), 2);
  EXPECT_EQ(Required(dtype, kDLCPU, kReadOnly), 100);
  EXPECT_EQ(Required(dtype, kDLCPU, kCopied), 100);
  EXPECT_EQ(Required(dtype, kDLCPU, kPadded), 101);
  EXPECT_EQ(Required(dtype, kDLCPU, 7), 101);
  for (int bit = 3; bit < 64; ++bit) {
    DLBridgeRule rule = 0;
    EXPECT_EQ(Required(dtype, kDLCPU, uint64_t{1} << bit, &rule), 0);
    EXPECT_EQ(rule, DLBRIDGE_RULE_FLAGS_UNKNOWN);
  }
}

TEST(RequiredVersion, OfATensorIsTheNewestOfItsParts) {
  EXPECT_EQ(Required(Dtype(kDLBool, 8), kDLHexagon), 8);
  EXPECT_EQ(Required(Dtype(kDLFloat8_e5m2, 8), kDLTrn, kReadOnly), 102);
  EXPECT_EQ(Required(Dtype(kDLFloat8_e5m2, 8), kDLMAIA), 101);
}

struct Outcome {
  DLBridgeKind kind;
  uint32_t major;
  uint32_t minor;
};

void ExpectOutcome(DLPackVersion producer, DLPackVersion consumer, Outcome expected) {
  DLBridgeKind kind = 77;
  DLPackVersion version = {77, 77};
  Error error;
  ASSERT_EQ(dlbridge_negotiate(producer, consumer, &kind, &version, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(kind, expected.kind);
  EXPECT_EQ(version.major, expected.major);
  EXPECT_EQ(version.minor, expected.minor);
}

TEST(Negotiate, TakesTheSmallerMinorOfTheSameMajor) {
  ExpectOutcome({1, 3}, {1, 3}, {DLBRIDGE_KIND_VERSIONED, 1, 3});
  ExpectOutcome({1, 3}, {1, 0}, {DLBRIDGE_KIND_VERSIONED, 1, 0});
  ExpectOutcome({1, 0}, {1, 3}, {DLBRIDGE_KIND_VERSIONED, 1, 0});
  ExpectOutcome({1, 7}, {1, 5}, {DLBRIDGE_KIND_VERSIONED, 1, 5});
  ExpectOutcome({2, 1}, {2, 4}, {DLBRIDGE_KIND_VERSIONED, 2, 1});
}

TEST(Negotiate, IsLegacyWhereEitherIsOlderThan10) {
  ExpectOutcome({1, 3}, {0, 8}, {DLBRIDGE_KIND_LEGACY, 0, 8});
  ExpectOutcome({0, 8}, {1, 3}, {DLBRIDGE_KIND_LEGACY, 0, 8});
  ExpectOutcome({0, 6}, {0, 5}, {DLBRIDGE_KIND_LEGACY, 0, 5});
  ExpectOutcome({2, 0}, {0, 8}, {DLBRIDGE_KIND_LEGACY, 0, 8});
  ExpectOutcome({0, 2}, {3, 0}, {DLBRIDGE_KIND_LEGACY, 0, 2});
  // There was no release 0.9.
  ExpectOutcome({0, 99}, {1, 3}, {DLBRIDGE_KIND_LEGACY, 0, 8});
  ExpectOutcome({1, 3}, {0, 9}, {DLBRIDGE_KIND_LEGACY, 0, 8});
}

TEST(Negotiate, AllowsANewerConsumerToReadAnOlderMajor) {
  ExpectOutcome({1, 3}, {2, 0}, {DLBRIDGE_KIND_VERSIONED, 1, 3});
  ExpectOutcome({1, 3}, {0xffffffffU, 0}, {DLBRIDGE_KIND_VERSIONED, 1, 3});
}

TEST(Negotiate, RejectsAProducerOfAHigherMajor) {
  for (const DLPackVersion producer :
       {DLPackVersion{2, 0}, DLPackVersion{3, 1}, DLPackVersion{0xffffffffU, 0}}) {
    DLBridgeKind kind = 77;
    DLPackVersion version = {77, 77};
    Error error;
    EXPECT_EQ(dlbridge_negotiate(producer, {1, 3}, &kind, &version, &error),
              DLBRIDGE_ERROR_VERSION);
    EXPECT_EQ(kind, 77);
    EXPECT_EQ(version.major, 77U);
    EXPECT_TRUE(error.Says("major")) << error.message;
  }
}

TEST(Negotiate, RejectsNull) {
  DLBridgeKind kind = 0;
  DLPackVersion version = {0, 0};
  Error error;
  EXPECT_EQ(dlbridge_negotiate({1, 3}, {1, 3}, nullptr, &version, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("kind"));
  EXPECT_EQ(dlbridge_negotiate({1, 3}, {1, 3}, &kind, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("version"));
  DLTensor tensor = {};
  EXPECT_EQ(dlbridge_required_version(nullptr, 0, &version, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_required_version(&tensor, 0, nullptr, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dlbridge_test
