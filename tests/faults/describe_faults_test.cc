// SPDX-License-Identifier: Apache-2.0
// Functions that only read: they make no call that can fail.
#include <gtest/gtest.h>

#include <cstring>

#include "faults/attempt.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// Succeeds whatever fails, because the function asks the system for nothing.
template <class Call>
std::function<void(Attempt&)> NeedsNothing(Call call) {
  return [call](Attempt& attempt) {
    EXPECT_TRUE(attempt(call));
    EXPECT_EQ(attempt.failed(), 0);
  };
}

DLBridgeStatus Texts(DLBridgeError* /*error*/) {
  const bool all =
      dlbridge_version() != 0 && dlbridge_version_string()[0] != '\0' &&
      dlbridge_dlpack_version().major == 1 && dlbridge_status_name(DLBRIDGE_OK) != nullptr &&
      dlbridge_status_text(DLBRIDGE_OK) != nullptr &&
      dlbridge_rule_name(DLBRIDGE_RULE_NONE) != nullptr &&
      dlbridge_rule_text(DLBRIDGE_RULE_NONE) != nullptr &&
      dlbridge_host_accessible(kDLCPU, nullptr) == 1 && dlbridge_upgrade_storage_size(4) != 0 &&
      dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) != nullptr;
  return all ? DLBRIDGE_OK : DLBRIDGE_ERROR_UNSUPPORTED;
}

DLBridgeStatus Formats(DLBridgeError* error) {
  char text[64];
  DLDataType dtype = {};
  DLDevice device = {};
  EXPECT_EQ(dlbridge_dtype_format(Dtype(kDLFloat, 32), text, sizeof text, nullptr, error),
            DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_dtype_parse(text, std::strlen(text), &dtype, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_device_format(Device(kDLCUDA, 1), text, sizeof text, nullptr, error),
            DLBRIDGE_OK);
  return dlbridge_device_parse(text, std::strlen(text), &device, error);
}

DLBridgeStatus Checks(const LegacySource& legacy, const VersionedSource& versioned,
                      DLBridgeError* error) {
  char text[256];
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBridgeFinding findings[4];
  size_t count = 0;
  DLPackVersion version = {};
  const DLTensor* tensor = legacy.tensor();
  EXPECT_EQ(dlbridge_layout(tensor, 0, &layout, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_tensor_format(tensor, 0, text, sizeof text, nullptr, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_validate(tensor, 0, nullptr, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_validate_legacy(legacy.get(), nullptr, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_validate_versioned(versioned.get(), nullptr, error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_identify(versioned.get()), DLBRIDGE_KIND_VERSIONED);
  EXPECT_EQ(dlbridge_required_version(tensor, 0, &version, error), DLBRIDGE_OK);
  return dlbridge_diagnose(legacy.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, findings, 4, &count,
                           error);
}

void ReadTensor(Attempt& attempt) {
  LegacySource legacy;
  VersionedSource versioned;
  NeedsNothing([&](DLBridgeError* error) { return Checks(legacy, versioned, error); })(attempt);
  EXPECT_TRUE(legacy.Untouched());
  EXPECT_TRUE(versioned.Untouched());
  legacy.Release();
  versioned.Release();
}

DLBridgeStatus Agree(DLBridgeError* error) {
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  DLPackVersion version = {};
  return dlbridge_negotiate({1, 3}, {1, 0}, &kind, &version, error);
}

// A chain without a usable table: an error, found without a call that can fail.
void FindTable(Attempt& attempt) {
  DLPackExchangeAPI table = {};
  table.header.version = {1, 3};
  EXPECT_TRUE(attempt([&](DLBridgeError* error) {
    const DLPackExchangeAPI* out = nullptr;
    EXPECT_EQ(dlbridge_exchange_api_find(&table.header, {1, 3}, &out, error),
              DLBRIDGE_ERROR_NOT_FOUND);
    return DLBRIDGE_OK;
  }));
  EXPECT_EQ(attempt.failed(), 0);
}

const std::vector<Scenario> kScenarios = {
    {"Texts", NeedsNothing(Texts)}, {"Formats", NeedsNothing(Formats)},
    {"ReadTensor", ReadTensor},     {"Negotiate", NeedsNothing(Agree)},
    {"ExchangeApiFind", FindTable},
};

DLBRIDGE_FAIL_EACH_CALL(Describe, kScenarios);

}  // namespace
}  // namespace dlbridge_test
