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
#define DLBRIDGE_MEMBER(member, function)       \
  EXPECT_EQ(api->member, &dlbridge_##function); \
  EXPECT_TRUE(DLBRIDGE_API_HAS(api, member))
#define DLBRIDGE_SAME(member) DLBRIDGE_MEMBER(member, member)
  DLBRIDGE_SAME(version);
  DLBRIDGE_SAME(version_string);
  DLBRIDGE_SAME(dlpack_version);
  DLBRIDGE_SAME(status_name);
  DLBRIDGE_SAME(status_text);
  DLBRIDGE_SAME(rule_name);
  DLBRIDGE_SAME(rule_text);
  DLBRIDGE_SAME(layout);
  DLBRIDGE_SAME(dtype_format);
  DLBRIDGE_SAME(dtype_parse);
  DLBRIDGE_SAME(device_format);
  DLBRIDGE_SAME(device_parse);
  DLBRIDGE_SAME(tensor_format);
  DLBRIDGE_SAME(host_accessible);
  DLBRIDGE_SAME(validate);
  DLBRIDGE_SAME(validate_legacy);
  DLBRIDGE_SAME(validate_versioned);
  DLBRIDGE_SAME(diagnose);
  DLBRIDGE_SAME(upgrade);
  DLBRIDGE_SAME(upgrade_storage_size);
  DLBRIDGE_SAME(upgrade_into);
  DLBRIDGE_SAME(upgrade_many);
  DLBRIDGE_SAME(downgrade);
  DLBRIDGE_MEMBER(export_tensor, export);
  DLBRIDGE_MEMBER(import_tensor, import);
  DLBRIDGE_SAME(release);
  DLBRIDGE_SAME(share);
  DLBRIDGE_SAME(view);
  DLBRIDGE_SAME(allocate);
  DLBRIDGE_SAME(release_legacy);
  DLBRIDGE_SAME(release_versioned);
  DLBRIDGE_SAME(required_version);
  DLBRIDGE_SAME(negotiate);
  DLBRIDGE_SAME(exchange_api_find);
  DLBRIDGE_SAME(identify);
  DLBRIDGE_SAME(module_pin);
  DLBRIDGE_SAME(backend_info);
  DLBRIDGE_SAME(pointer_info);
  DLBRIDGE_SAME(wrap);
  DLBRIDGE_SAME(wrap_legacy);
  DLBRIDGE_SAME(stream_from_array_api);
  DLBRIDGE_SAME(stream_handoff);
  DLBRIDGE_SAME(stream_synchronize);
  DLBRIDGE_SAME(context_register);
  DLBRIDGE_SAME(context_find);
  DLBRIDGE_SAME(context_next);
  DLBRIDGE_SAME(context_retain);
  DLBRIDGE_SAME(context_release);
  DLBRIDGE_SAME(context_unregister);
  DLBRIDGE_SAME(context_table_v1);
  DLBRIDGE_SAME(copy);
  DLBRIDGE_SAME(ipc_export);
  DLBRIDGE_SAME(ipc_import);
#undef DLBRIDGE_SAME
#undef DLBRIDGE_MEMBER
}

TEST(Api, HasNoEntryAfterTheLastTestedOne) {
  // A function added to the table must also be added to the list above.
  EXPECT_EQ(sizeof(DLBridgeApi), offsetof(DLBridgeApi, ipc_import) + sizeof(void*));
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
