// SPDX-License-Identifier: Apache-2.0
// The function table for clients that dlopen the library, and the version functions.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "dlbridge/dlbridge.h"

namespace {

TEST(Api, HoldsEveryFunction) {
  const DLBridgeApi* api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  ASSERT_NE(api, nullptr);
  EXPECT_EQ(api->struct_size, sizeof(DLBridgeApi));
  EXPECT_EQ(api->abi, uint32_t{DLBRIDGE_ABI});
  size_t tested = 0;
#define DLBRIDGE_MEMBER(member, function)       \
  ++tested;                                     \
  EXPECT_EQ(api->member, &dlbridge_##function); \
  EXPECT_TRUE(DLBRIDGE_API_HAS(api, member))
  // [facts/functions.toml]
  DLBRIDGE_MEMBER(version, version);
  DLBRIDGE_MEMBER(version_string, version_string);
  DLBRIDGE_MEMBER(dlpack_version, dlpack_version);
  DLBRIDGE_MEMBER(status_name, status_name);
  DLBRIDGE_MEMBER(status_text, status_text);
  DLBRIDGE_MEMBER(rule_name, rule_name);
  DLBRIDGE_MEMBER(rule_text, rule_text);
  DLBRIDGE_MEMBER(layout, layout);
  DLBRIDGE_MEMBER(dtype_format, dtype_format);
  DLBRIDGE_MEMBER(dtype_parse, dtype_parse);
  DLBRIDGE_MEMBER(device_format, device_format);
  DLBRIDGE_MEMBER(device_parse, device_parse);
  DLBRIDGE_MEMBER(tensor_format, tensor_format);
  DLBRIDGE_MEMBER(host_accessible, host_accessible);
  DLBRIDGE_MEMBER(import_tensor, import);
  DLBRIDGE_MEMBER(export_tensor, export);
  DLBRIDGE_MEMBER(release, release);
  DLBRIDGE_MEMBER(release_legacy, release_legacy);
  DLBRIDGE_MEMBER(release_versioned, release_versioned);
  DLBRIDGE_MEMBER(validate, validate);
  DLBRIDGE_MEMBER(validate_legacy, validate_legacy);
  DLBRIDGE_MEMBER(validate_versioned, validate_versioned);
  DLBRIDGE_MEMBER(diagnose, diagnose);
  DLBRIDGE_MEMBER(upgrade, upgrade);
  DLBRIDGE_MEMBER(upgrade_storage_size, upgrade_storage_size);
  DLBRIDGE_MEMBER(upgrade_into, upgrade_into);
  DLBRIDGE_MEMBER(upgrade_many, upgrade_many);
  DLBRIDGE_MEMBER(downgrade, downgrade);
  DLBRIDGE_MEMBER(share, share);
  DLBRIDGE_MEMBER(view, view);
  DLBRIDGE_MEMBER(allocate, allocate);
  DLBRIDGE_MEMBER(required_version, required_version);
  DLBRIDGE_MEMBER(negotiate, negotiate);
  DLBRIDGE_MEMBER(exchange_api_find, exchange_api_find);
  DLBRIDGE_MEMBER(identify, identify);
  DLBRIDGE_MEMBER(module_pin, module_pin);
  DLBRIDGE_MEMBER(backend_info, backend_info);
  DLBRIDGE_MEMBER(pointer_info, pointer_info);
  DLBRIDGE_MEMBER(wrap, wrap);
  DLBRIDGE_MEMBER(wrap_legacy, wrap_legacy);
  DLBRIDGE_MEMBER(stream_from_array_api, stream_from_array_api);
  DLBRIDGE_MEMBER(stream_handoff, stream_handoff);
  DLBRIDGE_MEMBER(stream_synchronize, stream_synchronize);
  DLBRIDGE_MEMBER(context_register, context_register);
  DLBRIDGE_MEMBER(context_find, context_find);
  DLBRIDGE_MEMBER(context_next, context_next);
  DLBRIDGE_MEMBER(context_retain, context_retain);
  DLBRIDGE_MEMBER(context_release, context_release);
  DLBRIDGE_MEMBER(context_unregister, context_unregister);
  DLBRIDGE_MEMBER(context_table_v1, context_table_v1);
  DLBRIDGE_MEMBER(copy, copy);
  DLBRIDGE_MEMBER(ipc_export, ipc_export);
  DLBRIDGE_MEMBER(ipc_import, ipc_import);
  DLBRIDGE_MEMBER(copy_async, copy_async);
  DLBRIDGE_MEMBER(release_after, release_after);
  DLBRIDGE_MEMBER(collect, collect);
  // [/facts]
#undef DLBRIDGE_MEMBER
  // A function added to the table must also be added to the list above.
  EXPECT_EQ(sizeof(DLBridgeApi), offsetof(DLBridgeApi, version) + tested * sizeof(void*));
}

TEST(Api, ServesClientsOfEachEarlierSize) {
  const size_t first = offsetof(DLBridgeApi, ipc_import) + sizeof(void*);  // the size in 0.3.0
  EXPECT_NE(dlbridge_get_api(DLBRIDGE_ABI, first), nullptr);
  EXPECT_EQ(dlbridge_get_api(DLBRIDGE_ABI, first - 1), nullptr);
}

TEST(Api, IsNullForAnotherAbiOrAnImpossibleSize) {
  for (const uint32_t abi : {0U, DLBRIDGE_ABI + 1U, 0xffffffffU}) {
    EXPECT_EQ(dlbridge_get_api(abi, sizeof(DLBridgeApi)), nullptr);
  }
  for (const size_t size : {size_t{0}, size_t{8}}) {
    EXPECT_EQ(dlbridge_get_api(DLBRIDGE_ABI, size), nullptr);
  }
}

TEST(Api, ServesNewerClientsWithTheLibrarysSize) {
  const DLBridgeApi* api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi) + 800);
  EXPECT_EQ(api, dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)));
  EXPECT_EQ(dlbridge_get_api(DLBRIDGE_ABI, SIZE_MAX), api);
}

TEST(Api, HasIsFalseForEntriesPastAShorterTable) {
  DLBridgeApi older = *dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  older.struct_size = offsetof(DLBridgeApi, negotiate);
  EXPECT_TRUE(DLBRIDGE_API_HAS(&older, required_version));
  EXPECT_FALSE(DLBRIDGE_API_HAS(&older, negotiate));
  EXPECT_FALSE(DLBRIDGE_API_HAS(&older, identify));
  older.struct_size = offsetof(DLBridgeApi, negotiate) + 4;
  EXPECT_FALSE(DLBRIDGE_API_HAS(&older, negotiate)) << "half an entry does not count";
  older.required_version = nullptr;
  EXPECT_FALSE(DLBRIDGE_API_HAS(&older, required_version));
}

TEST(Version, IsTheHeadersInEveryForm) {
  EXPECT_EQ(dlbridge_version(), DLBRIDGE_VERSION_MAJOR * 10000U + DLBRIDGE_VERSION_MINOR * 100U +
                                    DLBRIDGE_VERSION_PATCH);
  EXPECT_STREQ(dlbridge_version_string(), DLBRIDGE_VERSION_STRING);
  EXPECT_EQ(std::string(DLBRIDGE_VERSION_STRING), std::to_string(DLBRIDGE_VERSION_MAJOR) + "." +
                                                      std::to_string(DLBRIDGE_VERSION_MINOR) + "." +
                                                      std::to_string(DLBRIDGE_VERSION_PATCH));
  EXPECT_EQ(dlbridge_dlpack_version().major, 1U);
  EXPECT_EQ(dlbridge_dlpack_version().minor, 3U);
}

}  // namespace
