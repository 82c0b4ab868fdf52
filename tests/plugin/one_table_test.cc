// SPDX-License-Identifier: Apache-2.0
// One context table per process: copies of the library under other names, and another library with
// a table, loaded and used in every possible order. This program links none of them, and each case
// runs in a separate process.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

void* Load(const char* path, const char* symbol) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  void* found = handle != nullptr ? dlsym(handle, symbol) : nullptr;
  EXPECT_NE(found, nullptr) << path;
  return found;
}

const DLBridgeApi* ApiOf(const char* path) {
  using GetApi = const DLBridgeApi* (*)(uint32_t, size_t);
  const auto get_api = reinterpret_cast<GetApi>(Load(path, "dlbridge_get_api"));
  return get_api != nullptr ? get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) : nullptr;
}

const DLBridgeContextTable* TableOf(const char* path) {
  using GetTable = const DLBridgeContextTable* (*)();
  const auto get_table = reinterpret_cast<GetTable>(Load(path, "dlbridge_context_table_v1"));
  return get_table != nullptr ? get_table() : nullptr;
}

constexpr DLDevice kDevice = {kDLOneAPI, 5};

DLBridgeContextEntry Entry(uint64_t native, uint64_t context, int* releases) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  entry.device = kDevice;
  entry.native_device = native;
  entry.context = context;
  entry.release = [](void* user, const DLBridgeContextEntry*) { ++*static_cast<int*>(user); };
  entry.release_context = releases;
  return entry;
}

bool Has(const DLBridgeContextTable* table, uint64_t context) {
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return table->find(kDevice, context, &found) == DLBRIDGE_OK && found.context == context;
}

// One copy registers an entry, the other finds, retains and releases it; the callback runs once.
void ExpectOneTable(const DLBridgeApi& first, const DLBridgeApi& second) {
  int releases = 0;
  const DLBridgeContextEntry entry = Entry(0x51, 0xc1, &releases);
  uint64_t id = 0;
  ASSERT_EQ(first.context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  ASSERT_EQ(second.context_find(kDevice, 0, &found, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(found.id, id);
  EXPECT_EQ(found.release_context, &releases);
  uint64_t other = 0;
  EXPECT_EQ(second.context_register(&entry, &other, nullptr), DLBRIDGE_ERROR_EXISTS);
  EXPECT_EQ(second.context_retain(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(first.context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(releases, 0);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(first.context_retain(id, &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_NE(error.message[0], '\0');
  EXPECT_EQ(second.context_release(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(releases, 1);
}

TEST(OneTable, IsThatOfTheCopyLoadedFirstWhicheverIsUsedFirst) {
  for (const bool first_uses_first : {true, false}) {
    EXPECT_TRUE(InChild([&] {
      const DLBridgeApi* first = ApiOf(COPY_7);
      const DLBridgeApi* second = ApiOf(COPY_8);
      ASSERT_NE(first, nullptr);
      ASSERT_NE(second, nullptr);
      ASSERT_NE(first->context_table_v1(), second->context_table_v1());
      ExpectOneTable(first_uses_first ? *first : *second, first_uses_first ? *second : *first);
      int releases = 0;
      const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
      uint64_t id = 0;
      ASSERT_EQ(second->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
      EXPECT_TRUE(Has(first->context_table_v1(), 0xc2));
      EXPECT_FALSE(Has(second->context_table_v1(), 0xc2));
    }));
  }
}

TEST(OneTable, StaysThatOfTheFirstIfTheSecondComesLater) {
  EXPECT_TRUE(InChild([] {
    const DLBridgeApi* first = ApiOf(COPY_7);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(first->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    const DLBridgeApi* second = ApiOf(COPY_8);
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_EQ(second->context_find(kDevice, 0xc2, &found, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(second->context_unregister(id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(releases, 1);
    ExpectOneTable(*second, *first);
  }));
}

TEST(OneTable, MayBeThatOfAnotherLibrary) {
  for (const char* path : {FOREIGN_TABLE, OLDER_TABLE}) {
    EXPECT_TRUE(InChild([&] {
      const DLBridgeContextTable* table = TableOf(path);
      ASSERT_NE(table, nullptr);
      const DLBridgeApi* first = ApiOf(COPY_7);
      const DLBridgeApi* second = ApiOf(COPY_8);
      ExpectOneTable(*first, *second);
      ExpectOneTable(*second, *first);
      int releases = 0;
      const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
      uint64_t id = 0;
      ASSERT_EQ(table->add(&entry, &id), DLBRIDGE_OK);
      DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
      EXPECT_EQ(second->context_find(kDevice, 0, &found, nullptr), DLBRIDGE_OK);
      EXPECT_EQ(found.id, id);
      EXPECT_FALSE(Has(first->context_table_v1(), 0xc2));
    })) << path;
  }
}

#ifdef HIDDEN_COPY

const DLBridgeApi* HiddenApi() {
  using GetApi = const DLBridgeApi* (*)();
  const auto get_api = reinterpret_cast<GetApi>(Load(HIDDEN_COPY, "hidden_api"));
  return get_api != nullptr ? get_api() : nullptr;
}

TEST(OneTable, OfAHiddenCopyIsAFoundOneOrItsOwn) {
  EXPECT_TRUE(InChild([] {
    const DLBridgeApi* hidden = HiddenApi();
    const DLBridgeApi* first = ApiOf(COPY_7);
    ExpectOneTable(*hidden, *first);
    ExpectOneTable(*first, *hidden);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(hidden->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_TRUE(Has(first->context_table_v1(), 0xc2));
  }));
  EXPECT_TRUE(InChild([] {
    const DLBridgeApi* hidden = HiddenApi();
    ExpectOneTable(*hidden, *hidden);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(hidden->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_TRUE(Has(hidden->context_table_v1(), 0xc2));
  }));
}

// Other copies do not find the table of a static copy, so nothing dangles when it is unloaded.
TEST(OneTable, IsNotThatOfAHiddenCopyThatIsClosed) {
  EXPECT_TRUE(InChild([] {
    void* plugin = dlopen(HIDDEN_COPY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto share = reinterpret_cast<DLBridgeStatus (*)()>(dlsym(plugin, "hidden_share"));
    ASSERT_NE(share, nullptr);
    EXPECT_EQ(share(), DLBRIDGE_OK);
    const DLBridgeApi* first = ApiOf(COPY_7);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(first->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(dlclose(plugin), 0);
    EXPECT_FALSE(IsLoaded(HIDDEN_COPY));
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_EQ(first->context_find(kDevice, 0xc2, &found, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(first->context_unregister(id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(releases, 1);
  }));
}

TEST(OneTable, KeepsAHiddenCopyThatUsesItsOwn) {
  EXPECT_TRUE(InChild([] {
    void* plugin = dlopen(HIDDEN_COPY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto get_api = reinterpret_cast<const DLBridgeApi* (*)()>(dlsym(plugin, "hidden_api"));
    ASSERT_NE(get_api, nullptr);
    const DLBridgeApi* hidden = get_api();
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(hidden->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(dlclose(plugin), 0);
    EXPECT_TRUE(IsLoaded(HIDDEN_COPY));
    EXPECT_EQ(hidden->context_unregister(id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(releases, 1);
  }));
}

#endif

// The object must stay loaded, although it was not linked with -z nodelete.
TEST(OneTable, KeepsItsObjectLoaded) {
  EXPECT_TRUE(InChild([] {
    void* plugin = dlopen(FOREIGN_TABLE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const DLBridgeApi* first = ApiOf(COPY_7);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(first->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_FALSE(Has(first->context_table_v1(), 0xc2));
    EXPECT_EQ(dlclose(plugin), 0);
    EXPECT_TRUE(IsLoaded(FOREIGN_TABLE));
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_EQ(first->context_find(kDevice, 0xc2, &found, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(first->context_unregister(id, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(releases, 1);
  }));
}

TEST(OneTable, IsNotThatOfALibraryLoadedLater) {
  EXPECT_TRUE(InChild([] {
    const DLBridgeApi* first = ApiOf(COPY_7);
    const DLBridgeContextTable* table = TableOf(FOREIGN_TABLE);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(first->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_FALSE(Has(table, 0xc2));
    EXPECT_TRUE(Has(first->context_table_v1(), 0xc2));
  }));
}

TEST(OneTable, IsNeverOneOfAnotherVersion) {
  EXPECT_TRUE(InChild([] {
    ASSERT_NE(TableOf(NEWER_TABLE), nullptr);
    const DLBridgeApi* first = ApiOf(COPY_7);
    const DLBridgeApi* second = ApiOf(COPY_8);
    ExpectOneTable(*second, *first);
    int releases = 0;
    const DLBridgeContextEntry entry = Entry(0x51, 0xc2, &releases);
    uint64_t id = 0;
    ASSERT_EQ(second->context_register(&entry, &id, nullptr), DLBRIDGE_OK);
    EXPECT_TRUE(Has(first->context_table_v1(), 0xc2));
  }));
}

// Parts of the specification that the orders above do not cover, on the other library's table.
TEST(OneTable, OfAnotherLibraryBehavesLikeDlbridges) {
  for (const char* path : {FOREIGN_TABLE, COPY_7}) {
    EXPECT_TRUE(InChild([&] {
      const DLBridgeContextTable* table = TableOf(path);
      int enumerated = 0;
      int first = 0;
      int second = 0;
      uint64_t id = 0;
      uint64_t kept = 0;
      DLBridgeContextEntry entry = Entry(0x51, 0xc1, &enumerated);
      entry.properties = DLBRIDGE_CONTEXT_ENUMERATED;
      ASSERT_EQ(table->add(&entry, &id), DLBRIDGE_OK);
      entry = Entry(0x52, 0xc2, &first);
      ASSERT_EQ(table->add(&entry, &kept), DLBRIDGE_OK);
      EXPECT_EQ(enumerated, 1) << "the enumerated entry must be replaced";
      EXPECT_GT(kept, id);
      entry = Entry(0x53, 0xc3, &second);
      EXPECT_EQ(table->add(&entry, &id), DLBRIDGE_ERROR_EXISTS);
      EXPECT_EQ(table->retain(kept), DLBRIDGE_OK);
      entry.properties = DLBRIDGE_CONTEXT_REPLACE;
      ASSERT_EQ(table->add(&entry, &id), DLBRIDGE_OK);
      EXPECT_EQ(first, 0);
      EXPECT_EQ(table->release(kept), DLBRIDGE_OK);
      EXPECT_EQ(first, 1);
      EXPECT_EQ(table->release(id), DLBRIDGE_ERROR_NOT_FOUND);
      uint64_t cursor = 0;
      DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
      EXPECT_EQ(table->next(&cursor, &found), DLBRIDGE_OK);
      EXPECT_EQ(cursor, id);
      EXPECT_EQ(found.properties, uint32_t{DLBRIDGE_CONTEXT_DEFAULT});
      EXPECT_EQ(table->next(&cursor, &found), DLBRIDGE_ERROR_NOT_FOUND);
      EXPECT_TRUE(InChild([&] {
        EXPECT_EQ(table->find(kDevice, 0, &found), DLBRIDGE_ERROR_FORKED);
        EXPECT_EQ(table->remove(id), DLBRIDGE_ERROR_FORKED);
      }));
      EXPECT_EQ(table->remove(id), DLBRIDGE_OK);
      EXPECT_EQ(second, 1);
    })) << path;
  }
}

}  // namespace
}  // namespace dlbridge_test
