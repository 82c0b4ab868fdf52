// SPDX-License-Identifier: Apache-2.0
// DLBridgeError, and the names and texts of statuses and rules.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <set>
#include <string>

#include "dlbridge/dlbridge.h"
#include "support/last_numbers.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// A call that fails for an invalid `tensor`.
DLBridgeStatus Fail(const DLTensor& tensor, DLBridgeError* error) {
  return dlbridge_validate(&tensor, 0, nullptr, error);
}

DLTensor BrokenTensor() {
  DLTensor tensor = {};
  tensor.ndim = -3;
  tensor.device = Device(kDLCPU);
  tensor.dtype = Dtype(kDLFloat, 32);
  return tensor;
}

TEST(Error, Is256BytesForEver) {
  EXPECT_EQ(sizeof(DLBridgeError), 256U);
  EXPECT_EQ(sizeof(DLBridgeFinding), 256U);
}

TEST(Error, MayBeNull) { EXPECT_EQ(Fail(BrokenTensor(), nullptr), DLBRIDGE_ERROR_INVALID_TENSOR); }

// A failing call writes every field, whatever the struct contained before.
TEST(Error, NeedsNoInitialisation) {
  for (const int fill : {0x00, 0x55, 0xff}) {
    DLBridgeError error;
    std::memset(&error, fill, sizeof error);
    EXPECT_EQ(Fail(BrokenTensor(), &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.status, DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
    EXPECT_EQ(error.axis, -1);
    EXPECT_EQ(error.native_code, 0);
    EXPECT_EQ(error.reserved[0] | error.reserved[1], 0U);
    EXPECT_NE(std::memchr(error.message, 0, sizeof error.message), nullptr);
  }
}

// No byte of the caller's stack remains in an error that a program may log or send.
TEST(Error, IsWrittenUpToTheEndOfItsText) {
  DLBridgeError first;
  DLBridgeError second;
  std::memset(&first, 0x33, sizeof first);
  std::memset(&second, 0xcc, sizeof second);
  Fail(BrokenTensor(), &first);
  Fail(BrokenTensor(), &second);
  const size_t length = offsetof(DLBridgeError, message) + std::strlen(first.message) + 1;
  EXPECT_EQ(std::memcmp(&first, &second, length), 0);
}

TEST(Error, InitialiserIsSuccess) {
  const DLBridgeError initialised = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(initialised.status, DLBRIDGE_OK);
  EXPECT_EQ(initialised.rule, DLBRIDGE_RULE_NONE);
  EXPECT_EQ(initialised.axis, -1);
  EXPECT_EQ(initialised.native_code, 0);
  EXPECT_EQ(initialised.message[0], '\0');
}

TEST(Error, StatesExpectedFoundAndRemedy) {
  Error error;
  Fail(BrokenTensor(), &error);
  EXPECT_EQ(error.status, DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  EXPECT_EQ(error.axis, -1);
  EXPECT_STREQ(error.message,
               "ndim is negative: expected at least 0, found -3; correct it in the producer, or in "
               "the call's spec");
}

TEST(Error, OfAnEarlierCallIsOverwritten) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  std::memset(error.message, 'x', sizeof error.message);
  error.axis = 5;
  error.native_code = 7;
  Fail(BrokenTensor(), &error);
  EXPECT_EQ(error.axis, -1);
  EXPECT_EQ(error.native_code, 0);
  EXPECT_LT(strnlen(error.message, sizeof error.message), 100U);
}

// Every message that these tensors can cause, with the longest numbers.
TEST(Error, MessagesOfAllRulesFitAndEnd) {
  Random random(41);
  const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, 2, INT64_MAX - 1, INT64_MAX};
  std::set<DLBridgeRule> seen;
  for (size_t round = 0; round < Scaled(50000); ++round) {
    Axes shape = {random.Pick(numbers), random.Between(0, 3)};
    Axes strides = {random.Pick(numbers), random.Pick(numbers)};
    DLTensor tensor = {};
    tensor.data = random.OneIn(3) ? nullptr : &tensor;
    tensor.device = Device(static_cast<int32_t>(random.Pick(numbers)),
                           static_cast<int32_t>(random.OneIn(3) ? random.Pick(numbers) : 0));
    tensor.ndim = random.OneIn(10) ? static_cast<int32_t>(random.Bits()) : 2;
    tensor.ndim = tensor.ndim > 2 && tensor.ndim < 65 ? 2 : tensor.ndim;
    tensor.dtype = Dtype(random.OneIn(2) ? 2 : static_cast<int>(random.Between(0, 255)),
                         random.OneIn(3) ? static_cast<int>(random.Between(0, 255)) : 32,
                         random.OneIn(5) ? static_cast<int>(random.Between(0, 65535)) : 1);
    tensor.shape = shape.data();
    tensor.strides = strides.data();
    tensor.byte_offset = random.OneIn(2) ? random.Bits() : 0;
    DLBridgePolicy policy = Policy(random.OneIn(2) ? 0 : (random.Bits() & 0x3ff) << 8);
    policy.alignment = random.OneIn(4) ? uint64_t{1} << 63 : 0;
    policy.contiguity = static_cast<int32_t>(random.Between(0, 3));
    if (random.OneIn(4)) {
      LimitBuffer(&policy, random.Bits());
    }
    Error error;
    const DLBridgeStatus status = dlbridge_validate(&tensor, random.Bits(), &policy, &error);
    if (status != DLBRIDGE_OK) {
      ASSERT_EQ(error.status, status);
      ASSERT_LT(strnlen(error.message, sizeof error.message), sizeof error.message);
      // A truncated message would fill the whole buffer.
      ASSERT_LT(strnlen(error.message, sizeof error.message), sizeof error.message - 1)
          << error.message;
      seen.insert(error.rule);
    }
  }
  EXPECT_GE(seen.size(), Scale() < 1 ? 5U : 15U);
}

// ----------------------------------------------------------------------------------- names

std::string StripPrefix(const std::string& name) {
  const std::string prefix = "DLBRIDGE_";
  EXPECT_EQ(name.substr(0, prefix.size()), prefix);
  return name.substr(prefix.size());
}

bool IsUpper(const std::string& name) {
  for (const char character : name) {
    if (std::isupper(static_cast<unsigned char>(character)) == 0 && character != '_') {
      return false;
    }
  }
  return !name.empty();
}

TEST(Names, OfStatusesAreDistinctAndNeverNull) {
  std::set<std::string> names;
  std::set<std::string> texts;
  for (DLBridgeStatus status = 0; status <= kLastStatus; ++status) {
    EXPECT_TRUE(IsUpper(StripPrefix(dlbridge_status_name(status))));
    names.insert(dlbridge_status_name(status));
    texts.insert(dlbridge_status_text(status));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kLastStatus) + 1);
  EXPECT_EQ(texts.size(), names.size());
  EXPECT_STREQ(dlbridge_status_name(DLBRIDGE_OK), "DLBRIDGE_OK");
  EXPECT_STREQ(dlbridge_status_name(DLBRIDGE_ERROR_VERSION), "DLBRIDGE_ERROR_VERSION");
  EXPECT_STREQ(dlbridge_status_name(kLastStatus), kLastStatusName);
}

TEST(Names, OfRulesAreDistinctAndNeverNull) {
  std::set<std::string> names;
  std::set<std::string> texts;
  for (DLBridgeRule rule = 0; rule <= kLastRule; ++rule) {
    EXPECT_TRUE(IsUpper(dlbridge_rule_name(rule)));
    names.insert(dlbridge_rule_name(rule));
    texts.insert(dlbridge_rule_text(rule));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kLastRule) + 1);
  EXPECT_EQ(texts.size(), names.size());
  EXPECT_STREQ(dlbridge_rule_name(DLBRIDGE_RULE_NDIM_NEGATIVE), "NDIM_NEGATIVE");
  EXPECT_STREQ(dlbridge_rule_name(kLastRule), kLastRuleName);
}

TEST(Names, OfOtherIntegersAreUnknown) {
  for (const int32_t number : {-1, INT32_MIN, INT32_MAX, 1000}) {
    EXPECT_STREQ(dlbridge_status_name(number), "UNKNOWN_STATUS");
    EXPECT_STREQ(dlbridge_rule_name(number), "UNKNOWN_RULE");
    EXPECT_NE(dlbridge_status_text(number), nullptr);
    EXPECT_NE(dlbridge_rule_text(number), nullptr);
  }
  EXPECT_STREQ(dlbridge_status_name(kLastStatus + 1), "UNKNOWN_STATUS");
  EXPECT_STREQ(dlbridge_rule_name(kLastRule + 1), "UNKNOWN_RULE");
}

}  // namespace
}  // namespace dlbridge_test
