// SPDX-License-Identifier: Apache-2.0
// The context table: registration, lookup, retains, and the time of the release. The table is
// process-wide, so each test uses its own device ids. No driver is called: the handles are numbers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

#ifndef _WIN32
#include <csignal>

#include "support/child.h"
#endif

namespace dlbridge_test {
namespace {

// Counts the releases of entries and keeps the last entry.
struct Releases {
  std::atomic<int> count{0};
  DLBridgeContextEntry last = DLBRIDGE_CONTEXT_ENTRY_INIT;
  std::thread::id thread;

  static void Release(void* user, const DLBridgeContextEntry* entry) {
    auto* self = static_cast<Releases*>(user);
    self->last = *entry;
    self->thread = std::this_thread::get_id();
    self->count.fetch_add(1);
  }
};

DLBridgeContextEntry Cuda(int32_t id, uint64_t context, uint32_t flags = 0) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = Device(kDLCUDA, id);
  entry.native_device = static_cast<uint64_t>(id);
  entry.context = context;
  entry.properties = flags;
  return entry;
}

DLBridgeContextEntry OneApi(int32_t id, uint64_t native, uint64_t context, uint32_t flags = 0) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  entry.device = Device(kDLOneAPI, id);
  entry.platform = 7;
  entry.native_device = native;
  entry.context = context;
  entry.properties = flags;
  return entry;
}

DLBridgeContextEntry With(DLBridgeContextEntry entry, Releases* releases) {
  entry.release = &Releases::Release;
  entry.release_context = releases;
  return entry;
}

uint64_t MustRegister(const DLBridgeContextEntry& entry) {
  uint64_t id = 0;
  Error error;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_OK) << error.message;
  EXPECT_NE(id, 0U);
  return id;
}

void MustUnregister(uint64_t id) {
  Error error;
  EXPECT_EQ(dlbridge_context_unregister(id, &error), DLBRIDGE_OK) << error.message;
}

// The id of the entry found, or 0.
uint64_t Find(DLDevice device, uint64_t context = 0) {
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return dlbridge_context_find(device, context, &found, nullptr) == DLBRIDGE_OK ? found.id : 0;
}

// Asks the table directly, which does not enumerate devices.
DLBridgeStatus TableFind(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
  return dlbridge_context_table_v1()->find(device, context, out);
}

TEST(ContextTable, FindsWhatWasRegistered) {
  DLBridgeContextEntry entry = OneApi(100, 0x51, 0xc1, DLBRIDGE_CONTEXT_PRIVATE);
  entry.queue = 0x91;
  entry.queue_kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
  entry.uuid[3] = 9;
  const uint64_t id = MustRegister(entry);
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  ASSERT_EQ(dlbridge_context_find(Device(kDLOneAPI, 100), 0, &found, nullptr), DLBRIDGE_OK);
  DLBridgeContextEntry expected = entry;
  expected.id = id;
  expected.properties = DLBRIDGE_CONTEXT_PRIVATE | DLBRIDGE_CONTEXT_DEFAULT;
  EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0);
  ASSERT_EQ(dlbridge_context_find(Device(kDLOneAPI, 100), 0xc1, &found, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(found.id, id);
  MustUnregister(id);
}

TEST(ContextTable, HasAnExactSize) {
  EXPECT_EQ(dlbridge_context_table_v1()->struct_size, sizeof(DLBridgeContextTable));
  EXPECT_EQ(dlbridge_context_table_v1()->version, 1U);
}

TEST(ContextTable, ReportsTheMissingContext) {
  const uint64_t id = MustRegister(OneApi(101, 0x51, 0xc1));
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  Error error;
  EXPECT_EQ(dlbridge_context_find(Device(kDLOneAPI, 101), 0xc2, &found, &error),
            DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("no such context for oneapi:101")) << error.message;
  EXPECT_EQ(found.id, 0U);
  MustUnregister(id);
}

TEST(ContextTable, RejectsDevicesWithoutContexts) {
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for (const int32_t type : {int32_t{kDLCPU}, int32_t{kDLVulkan}, int32_t{kDLMetal}, 0, -5, 999}) {
    Error error;
    EXPECT_EQ(dlbridge_context_find(Device(type), 0, &found, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("device")) << error.message;
  }
}

TEST(ContextTable, PinnedAndManagedMemoryShareTheDevice) {
  const uint64_t cuda = MustRegister(Cuda(102, 0xc1));
  EXPECT_EQ(Find(Device(kDLCUDAHost, 102)), cuda);
  EXPECT_EQ(Find(Device(kDLCUDAManaged, 102), 0xc1), cuda);
  DLBridgeContextEntry rocm = DLBRIDGE_CONTEXT_ENTRY_INIT;
  rocm.backend = DLBRIDGE_BACKEND_HIP;
  rocm.device = Device(kDLROCM, 102);
  rocm.native_device = 2;
  const uint64_t id = MustRegister(rocm);
  EXPECT_EQ(Find(Device(kDLROCMHost, 102)), id);
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_EQ(TableFind(Device(kDLROCMHost, 102), 0, &found), DLBRIDGE_OK);
  EXPECT_EQ(found.device.device_type, kDLROCM);
  MustUnregister(cuda);
  MustUnregister(id);
}

// ------------------------------------------------------------------------------------- defaults

TEST(ContextTableDefault, IsTheFirstRegistered) {
  const uint64_t first = MustRegister(Cuda(110, 0xc1));
  const uint64_t second = MustRegister(Cuda(110, 0xc2));
  EXPECT_EQ(Find(Device(kDLCUDA, 110)), first);
  EXPECT_EQ(Find(Device(kDLCUDA, 110), 0xc2), second);
  MustUnregister(first);
  EXPECT_EQ(Find(Device(kDLCUDA, 110)), second);
  MustUnregister(second);
}

TEST(ContextTableDefault, IsTheEntryWithTheDefaultFlag) {
  const uint64_t first = MustRegister(Cuda(111, 0xc1));
  const uint64_t second = MustRegister(Cuda(111, 0xc2, DLBRIDGE_CONTEXT_DEFAULT));
  EXPECT_EQ(Find(Device(kDLCUDA, 111)), second);
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  ASSERT_EQ(TableFind(Device(kDLCUDA, 111), 0xc1, &found), DLBRIDGE_OK);
  EXPECT_EQ(found.properties, 0U);
  const uint64_t third = MustRegister(Cuda(111, 0xc3, DLBRIDGE_CONTEXT_DEFAULT));
  EXPECT_EQ(Find(Device(kDLCUDA, 111)), third);
  MustUnregister(third);
  EXPECT_EQ(Find(Device(kDLCUDA, 111)), second);
  MustUnregister(second);
  MustUnregister(first);
}

TEST(ContextTableDefault, PrefersAnApplicationsEntryToAnEnumeratedOne) {
  const uint64_t enumerated = MustRegister(Cuda(112, 0, DLBRIDGE_CONTEXT_ENUMERATED));
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), enumerated);
  const uint64_t own = MustRegister(Cuda(112, 0xc1));
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), own);
  const uint64_t late =
      MustRegister(Cuda(112, 0xc2, DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_DEFAULT));
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), own);
  const uint64_t other = MustRegister(Cuda(112, 0xc3));
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), own) << "the application's first entry stays";
  MustUnregister(own);
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), other);
  MustUnregister(other);
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), late)
      << "DEFAULT puts it before the other enumerated entry";
  MustUnregister(late);
  EXPECT_EQ(Find(Device(kDLCUDA, 112)), enumerated);
  MustUnregister(enumerated);
}

// ------------------------------------------------------------------------------------ conflicts

void ExpectExists(const DLBridgeContextEntry& entry) {
  uint64_t id = 77;
  Error error;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_ERROR_EXISTS);
  EXPECT_TRUE(error.Says("REPLACE")) << error.message;
  EXPECT_EQ(id, 77U);
}

TEST(ContextTableConflict, RejectsASecondEntryOfTheSameContext) {
  Releases releases;
  const uint64_t id = MustRegister(Cuda(120, 0xc1));
  ExpectExists(With(Cuda(120, 0xc1), &releases));
  ExpectExists(With(Cuda(120, 0xc1, DLBRIDGE_CONTEXT_REPLACE), &releases));
  ExpectExists(With(Cuda(120, 0xc1, DLBRIDGE_CONTEXT_ENUMERATED), &releases));
  EXPECT_EQ(releases.count, 0);
  MustUnregister(id);
}

TEST(ContextTableConflict, RejectsAnotherNativeDeviceWithoutReplace) {
  Releases first;
  Releases second;
  const uint64_t a = MustRegister(With(OneApi(121, 0x51, 0xc1), &first));
  const uint64_t b = MustRegister(With(OneApi(121, 0x51, 0xc2), &second));
  ExpectExists(OneApi(121, 0x52, 0xc3));
  DLBridgeContextEntry opencl = OneApi(121, 0x51, 0xc3);
  opencl.backend = DLBRIDGE_BACKEND_OPENCL;
  ExpectExists(opencl);
  EXPECT_EQ(dlbridge_context_retain(b, nullptr), DLBRIDGE_OK);
  const uint64_t c = MustRegister(OneApi(121, 0x52, 0xc3, DLBRIDGE_CONTEXT_REPLACE));
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.last.id, a);
  EXPECT_EQ(second.count, 0) << "it is retained";
  EXPECT_EQ(Find(Device(kDLOneAPI, 121)), c);
  EXPECT_EQ(Find(Device(kDLOneAPI, 121), 0xc2), 0U);
  EXPECT_EQ(dlbridge_context_unregister(b, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(dlbridge_context_release(b, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(second.count, 1);
  MustUnregister(c);
}

TEST(ContextTableConflict, ReplacesEnumeratedEntries) {
  Releases other;
  Releases same;
  MustRegister(With(OneApi(122, 0x51, 0xc1, DLBRIDGE_CONTEXT_ENUMERATED), &other));
  const uint64_t own = MustRegister(OneApi(122, 0x52, 0xc2));
  EXPECT_EQ(other.count, 1);
  EXPECT_EQ(Find(Device(kDLOneAPI, 122)), own);
  ExpectExists(OneApi(122, 0x51, 0xc1, DLBRIDGE_CONTEXT_ENUMERATED));
  MustUnregister(own);

  MustRegister(With(Cuda(123, 0, DLBRIDGE_CONTEXT_ENUMERATED), &same));
  const uint64_t again = MustRegister(Cuda(123, 0));
  EXPECT_EQ(same.count, 1);
  EXPECT_EQ(Find(Device(kDLCUDA, 123)), again);
  MustUnregister(again);
}

TEST(ContextTableConflict, AllowsTwoIdsOfOneNativeDevice) {
  const uint64_t a = MustRegister(OneApi(124, 0x51, 0xc1));
  const uint64_t b = MustRegister(OneApi(125, 0x51, 0xc1));
  EXPECT_NE(a, b);
  MustUnregister(a);
  MustUnregister(b);
}

// ------------------------------------------------------------------------------------ arguments

struct BadEntry {
  const char* says;
  void (*spoil)(DLBridgeContextEntry* entry);
  DLBridgeStatus status = DLBRIDGE_ERROR_INVALID_ARGUMENT;
};

const BadEntry kBadEntries[] = {
    {"struct_size", [](DLBridgeContextEntry* entry) { entry->struct_size = 120; }},
    {"struct_size", [](DLBridgeContextEntry* entry) { entry->struct_size = 136; }},
    {"id", [](DLBridgeContextEntry* entry) { entry->id = 1; }},
    {"reserved", [](DLBridgeContextEntry* entry) { entry->reserved[0] = 1; },
     DLBRIDGE_ERROR_TOO_NEW},
    {"reserved", [](DLBridgeContextEntry* entry) { entry->reserved[3] = uint64_t{1} << 63; },
     DLBRIDGE_ERROR_TOO_NEW},
    {"device", [](DLBridgeContextEntry* entry) { entry->device = Device(kDLCUDAHost); }},
    {"device", [](DLBridgeContextEntry* entry) { entry->device = Device(kDLCPU); }},
    {"device", [](DLBridgeContextEntry* entry) { entry->device = Device(-1); }},
    {"negative", [](DLBridgeContextEntry* entry) { entry->device.device_id = -1; }},
    {"backend", [](DLBridgeContextEntry* entry) { entry->backend = DLBRIDGE_BACKEND_CUDA; }},
    {"backend", [](DLBridgeContextEntry* entry) { entry->backend = DLBRIDGE_BACKEND_NONE; }},
    {"backend", [](DLBridgeContextEntry* entry) { entry->backend = -1; }},
    {"native_device", [](DLBridgeContextEntry* entry) { entry->native_device = 0; }},
    {"context", [](DLBridgeContextEntry* entry) { entry->context = 0; }},
    {"queue_kind", [](DLBridgeContextEntry* entry) { entry->queue = 1; }},
    {"queue_kind", [](DLBridgeContextEntry* entry) { entry->queue_kind = DLBRIDGE_STREAM_QUEUE; }},
    {"queue_kind",
     [](DLBridgeContextEntry* entry) {
       entry->queue = 1;
       entry->queue_kind = DLBRIDGE_STREAM_HOST;
     }},
    {"queue_kind",
     [](DLBridgeContextEntry* entry) {
       entry->backend = DLBRIDGE_BACKEND_OPENCL;
       entry->queue = 1;
       entry->queue_kind = DLBRIDGE_STREAM_IMMEDIATE_LIST;
     }},
    {"PRIVATE", [](DLBridgeContextEntry* entry) { entry->properties = 1U << 4; },
     DLBRIDGE_ERROR_TOO_NEW},
    {"0x80000000", [](DLBridgeContextEntry* entry) { entry->properties = 1U << 31; },
     DLBRIDGE_ERROR_TOO_NEW},
    // An unknown bit may change what the other fields mean.
    {"PRIVATE",
     [](DLBridgeContextEntry* entry) {
       entry->properties = 1U << 4;
       entry->device = Device(-1);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"REPLACE",
     [](DLBridgeContextEntry* entry) {
       entry->properties = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_REPLACE;
     }},
    {"ordinal",
     [](DLBridgeContextEntry* entry) {
       *entry = Cuda(130, 1);
       entry->native_device = uint64_t{1} << 31;
     }},
    {"platform",
     [](DLBridgeContextEntry* entry) {
       *entry = Cuda(130, 1);
       entry->platform = 1;
     }},
    {"HIP",
     [](DLBridgeContextEntry* entry) {
       *entry = Cuda(130, 1);
       entry->backend = DLBRIDGE_BACKEND_HIP;
       entry->device = Device(kDLROCM, 130);
     }},
};

TEST(ContextTableArguments, AreChecked) {
  for (const BadEntry& bad : kBadEntries) {
    Releases releases;
    DLBridgeContextEntry entry = With(OneApi(130, 0x51, 0xc1), &releases);
    bad.spoil(&entry);
    uint64_t id = 77;
    Error error;
    EXPECT_EQ(dlbridge_context_register(&entry, &id, &error), bad.status) << bad.says;
    EXPECT_TRUE(error.Says(bad.says)) << error.message;
    EXPECT_EQ(dlbridge_context_table_v1()->add(&entry, &id), bad.status) << bad.says;
    EXPECT_EQ(id, 77U);
    EXPECT_EQ(releases.count, 0);
  }
}

TEST(ContextTableArguments, MayNotBeNull) {
  DLBridgeContextEntry entry = Cuda(131, 1);
  uint64_t number = 0;
  Error error;
  EXPECT_EQ(dlbridge_context_register(nullptr, &number, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_context_register(&entry, nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_context_find(entry.device, 0, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_context_next(nullptr, &entry, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_context_next(&number, nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  const DLBridgeContextTable& table = *dlbridge_context_table_v1();
  EXPECT_EQ(table.add(nullptr, &number), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table.add(&entry, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table.find(entry.device, 0, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table.next(nullptr, &entry), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table.next(&number, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

// ------------------------------------------------------------------------------------ ownership

TEST(ContextTableOwnership, EndsWithUnregister) {
  Releases releases;
  DLBridgeContextEntry entry = With(Cuda(140, 0xc1, DLBRIDGE_CONTEXT_DEFAULT), &releases);
  const uint64_t id = MustRegister(entry);
  EXPECT_EQ(releases.count, 0);
  MustUnregister(id);
  EXPECT_EQ(releases.count, 1);
  EXPECT_EQ(releases.thread, std::this_thread::get_id());
  EXPECT_EQ(releases.last.id, id);
  EXPECT_EQ(releases.last.context, 0xc1U);
  EXPECT_EQ(releases.last.properties, 0U);
  Error error;
  EXPECT_EQ(dlbridge_context_unregister(id, &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("registered")) << error.message;
  EXPECT_EQ(releases.count, 1);
}

TEST(ContextTableOwnership, LastsUntilTheLastRelease) {
  Releases releases;
  const uint64_t id = MustRegister(With(Cuda(141, 0xc1), &releases));
  EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_OK);
  MustUnregister(id);
  Error error;
  EXPECT_EQ(dlbridge_context_retain(id, &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("registered")) << error.message;
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(releases.count, 0);
  std::thread([&] { EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_OK); }).join();
  EXPECT_EQ(releases.count, 1);
  EXPECT_NE(releases.thread, std::this_thread::get_id());
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(releases.count, 1);
}

TEST(ContextTableOwnership, OneReleaseTooManyDoesNotEndTheRegistration) {
  Releases releases;
  const uint64_t id = MustRegister(With(Cuda(142, 0xc1), &releases));
  Error error;
  EXPECT_EQ(dlbridge_context_release(id, &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("retained")) << error.message;
  EXPECT_EQ(releases.count, 0);
  EXPECT_EQ(Find(Device(kDLCUDA, 142)), id);
  MustUnregister(id);
}

TEST(ContextTableOwnership, UnusedIdsAreNotFound) {
  for (const uint64_t id : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
    EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  }
}

TEST(ContextTableOwnership, IdsAreNeverReused) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    const uint64_t id = MustRegister(Cuda(143, 0xc1));
    EXPECT_TRUE(seen.insert(id).second);
    MustUnregister(id);
  }
}

// Every function answers NOT_FOUND for an id that belongs to no live entry.
void ExpectUnknown(uint64_t id) {
  EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND) << id;
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND) << id;
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND) << id;
}

TEST(ContextTableOwnership, IdsOfEndedEntriesStayUnknownAfterTheirMemoryIsReused) {
  std::vector<uint64_t> ended;
  for (uint64_t i = 1; i <= 40; ++i) {
    ended.push_back(MustRegister(Cuda(146, i)));
  }
  for (const uint64_t id : ended) {
    MustUnregister(id);
  }
  std::vector<uint64_t> ids;
  for (uint64_t i = 1; i <= 40; ++i) {
    ids.push_back(MustRegister(Cuda(146, i)));
  }
  for (const uint64_t id : ended) {
    ExpectUnknown(id);
  }
  for (const uint64_t id : ids) {
    MustUnregister(id);
  }
}

TEST(ContextTableOwnership, IdsThatDifferInAnyBitAreUnknown) {
  const uint64_t id = MustRegister(Cuda(147, 1));
  const uint64_t kept = MustRegister(Cuda(147, 2));
  ASSERT_EQ(dlbridge_context_retain(kept, nullptr), DLBRIDGE_OK);
  MustUnregister(kept);
  for (int bit = 0; bit < 64; ++bit) {
    if ((id ^ uint64_t{1} << bit) != kept) {
      ExpectUnknown(id ^ uint64_t{1} << bit);
    }
    if ((kept ^ uint64_t{1} << bit) != id) {
      ExpectUnknown(kept ^ uint64_t{1} << bit);
    }
  }
  EXPECT_EQ(dlbridge_context_release(kept, nullptr), DLBRIDGE_OK);
  MustUnregister(id);
}

// The callback may call functions of the table.
TEST(ContextTableOwnership, CallbacksRunWithoutALock) {
  DLBridgeContextEntry entry = Cuda(144, 0xc1);
  static uint64_t from_callback;
  entry.release = [](void* /*user*/, const DLBridgeContextEntry* old) {
    EXPECT_EQ(dlbridge_context_unregister(old->id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
    from_callback = MustRegister(Cuda(145, 0xc1));
  };
  MustUnregister(MustRegister(entry));
  EXPECT_EQ(Find(Device(kDLCUDA, 145)), from_callback);
  MustUnregister(from_callback);
}

// ------------------------------------------------------------------------------------- walking

TEST(ContextTableNext, ReturnsEachEntryOnce) {
  std::vector<uint64_t> ids;
  ids.reserve(40);
  for (int32_t i = 0; i < 40; ++i) {
    ids.push_back(MustRegister(Cuda(150 + i % 7, static_cast<uint64_t>(i) + 1)));
  }
  std::vector<uint64_t> met;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t cursor = 0;
  while (dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK) {
    EXPECT_EQ(entry.id, cursor);
    met.push_back(cursor);
    if (met.size() == 10) {
      MustUnregister(ids[5]);
      MustUnregister(ids[20]);
    }
  }
  ids.erase(ids.begin() + 20);
  EXPECT_EQ(met, ids);
  Error error;
  EXPECT_EQ(dlbridge_context_next(&cursor, &entry, &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("cursor")) << error.message;
  ids.erase(ids.begin() + 5);
  for (const uint64_t id : ids) {
    MustUnregister(id);
  }
}

TEST(ContextTableNext, ContinuesFromAnyCursor) {
  const uint64_t first = MustRegister(Cuda(158, 1));
  const uint64_t middle = MustRegister(Cuda(158, 2));
  const uint64_t last = MustRegister(Cuda(158, 3));
  MustUnregister(middle);
  const auto after = [](uint64_t cursor) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    const DLBridgeStatus status = dlbridge_context_next(&cursor, &entry, nullptr);
    EXPECT_EQ(entry.id, status == DLBRIDGE_OK ? cursor : 0);
    return status == DLBRIDGE_OK ? cursor : 0;
  };
  EXPECT_EQ(after(first - 1), first);
  EXPECT_EQ(after(first), last);
  EXPECT_EQ(after(first + 1), last);
  EXPECT_EQ(after(middle), last) << "it is no longer registered";
  EXPECT_EQ(after(last), 0U);
  EXPECT_EQ(after(UINT64_MAX), 0U);
  MustUnregister(first);
  EXPECT_EQ(after(first), last);
  MustUnregister(last);
}

TEST(ContextTableNext, AllowsUnregisteringTheCurrentEntry) {
  for (int32_t i = 0; i < 60; ++i) {
    MustRegister(Cuda(159, static_cast<uint64_t>(i) + 1));
  }
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  int met = 0;
  for (uint64_t cursor = 0; dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK; ++met) {
    MustUnregister(cursor);
  }
  EXPECT_EQ(met, 60);
}

TEST(ContextTable, FindsAmongMany) {
  std::vector<uint64_t> ids;
  ids.reserve(300);
  for (int32_t i = 0; i < 300; ++i) {
    ids.push_back(MustRegister(Cuda(1000 + i, 0)));
  }
  for (int32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(Find(Device(kDLCUDA, 1000 + i)), ids[static_cast<size_t>(i)]);
  }
  for (const uint64_t id : ids) {
    MustUnregister(id);
  }
}

// ------------------------------------------------------------------------------------- threads

// Checks that a release callback runs only while no thread retains the entry.
struct Watched {
  std::atomic<int> kept{0};
  std::atomic<int> released{0};
  static void Release(void* user, const DLBridgeContextEntry* /*entry*/) {
    auto* self = static_cast<Watched*>(user);
    EXPECT_EQ(self->kept.load(), 0);
    EXPECT_EQ(self->released.fetch_add(1), 0);
  }
};

TEST(ContextTableThreads, ReadRetainAndChangeConcurrently) {
  std::vector<Watched> watched(Scaled(2000));
  std::atomic<bool> done{false};
  std::atomic<int> reading{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (reading.load() < 2) {
      std::this_thread::yield();
    }
    for (Watched& state : watched) {
      DLBridgeContextEntry entry = Cuda(160, 0xc1);
      entry.release = &Watched::Release;
      entry.release_context = &state;
      MustUnregister(MustRegister(entry));
      std::this_thread::yield();
    }
    done.store(true);
  });
  threads.emplace_back([&] {
    for (size_t i = 0; i < watched.size(); ++i) {
      MustUnregister(MustRegister(OneApi(161, 0x51, 0xc1)));
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      reading.fetch_add(1);
      while (!done.load()) {
        std::this_thread::yield();
        DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
        if (TableFind(Device(kDLCUDA, 160), 0, &entry) != DLBRIDGE_OK) {
          continue;
        }
        EXPECT_EQ(entry.context, 0xc1U);
        auto* state = static_cast<Watched*>(entry.release_context);
        if (dlbridge_context_retain(entry.id, nullptr) == DLBRIDGE_OK) {
          state->kept.fetch_add(1);
          EXPECT_EQ(state->released.load(), 0);
          state->kept.fetch_sub(1);
          EXPECT_EQ(dlbridge_context_release(entry.id, nullptr), DLBRIDGE_OK);
        }
        uint64_t cursor = 0;
        while (dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK) {
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Watched& state : watched) {
    EXPECT_EQ(state.released.load(), 1);
  }
}

// All fields of one entry derive from one number.
DLBridgeContextEntry Uniform(int32_t device, uint64_t number, uint32_t flags) {
  DLBridgeContextEntry entry = OneApi(device, number, number, flags);
  entry.platform = number;
  entry.queue = number;
  entry.queue_kind = DLBRIDGE_STREAM_QUEUE;
  std::memcpy(entry.uuid, &number, sizeof number);
  std::memcpy(entry.uuid + 8, &number, sizeof number);
  entry.release_context = reinterpret_cast<void*>(number);
  return entry;
}

bool IsUniform(const DLBridgeContextEntry& entry) {
  DLBridgeContextEntry expected = Uniform(entry.device.device_id, entry.context, entry.properties);
  expected.id = entry.id;
  return std::memcmp(&entry, &expected, sizeof entry) == 0;
}

// A device whose entry is replaced repeatedly always has one, and a reader never sees a mixture.
TEST(ContextTableThreads, ReadersSeeEachChangeAtomically) {
  std::atomic<bool> done{false};
  uint64_t id = MustRegister(Uniform(163, 1, 0));
  std::atomic<int64_t> reads{0};
  std::vector<std::thread> readers;
  readers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      uint64_t newest = 0;
      do {
        DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
        ASSERT_EQ(TableFind(Device(kDLOneAPI, 163), 0, &entry), DLBRIDGE_OK);
        ASSERT_TRUE(IsUniform(entry));
        ASSERT_GE(entry.id, newest);
        newest = entry.id;
        uint64_t cursor = newest - 1;
        if (dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK) {
          ASSERT_TRUE(entry.device.device_id != 163 || IsUniform(entry));
        }
        reads.fetch_add(1);
      } while (!done.load());
    });
  }
  for (uint64_t number = 2; number < Scaled(20000) || reads.load() < 100; ++number) {
    id = MustRegister(Uniform(163, number, DLBRIDGE_CONTEXT_REPLACE));
    MustUnregister(MustRegister(Uniform(164, number, 0)));
  }
  done.store(true);
  for (std::thread& reader : readers) {
    reader.join();
  }
  MustUnregister(id);
}

// Readers continue while the table is replaced by larger ones.
TEST(ContextTableThreads, ReadersSeeATableThatGrows) {
  std::atomic<bool> done{false};
  const uint64_t first = MustRegister(Uniform(165, 1, 0));
  std::vector<std::thread> readers;
  readers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      do {
        DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
        ASSERT_EQ(TableFind(Device(kDLOneAPI, 165), 1, &entry), DLBRIDGE_OK);
        ASSERT_TRUE(IsUniform(entry));
      } while (!done.load());
    });
  }
  std::vector<uint64_t> ids;
  ids.reserve(5000);
  for (int32_t i = 0; i < 5000; ++i) {
    ids.push_back(MustRegister(Uniform(2000 + i, 7, 0)));
  }
  done.store(true);
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (const uint64_t id : ids) {
    MustUnregister(id);
  }
  MustUnregister(first);
}

TEST(ContextTableThreads, OneOfManyRegistersAndOneUnregisters) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> registered{0};
    std::atomic<int> unregistered{0};
    std::atomic<uint64_t> id{0};
    Releases releases;
    const auto race = [&](auto part) {
      std::vector<std::thread> threads;
      threads.reserve(4);
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back(part);
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
    };
    race([&] {
      const DLBridgeContextEntry entry = With(Cuda(162, 0xc1), &releases);
      uint64_t mine = 0;
      if (dlbridge_context_register(&entry, &mine, nullptr) == DLBRIDGE_OK) {
        registered.fetch_add(1);
        id.store(mine);
      }
    });
    race([&] {
      if (dlbridge_context_unregister(id.load(), nullptr) == DLBRIDGE_OK) {
        unregistered.fetch_add(1);
      }
    });
    EXPECT_EQ(registered.load(), 1);
    EXPECT_EQ(unregistered.load(), 1);
    EXPECT_EQ(releases.count.load(), 1);
  }
}

#ifndef _WIN32

// ---------------------------------------------------------------------------------------- fork

TEST(ContextTableFork, ParentsEntriesAreRejectedInTheChild) {
  Releases releases;
  const uint64_t id = MustRegister(With(Cuda(170, 0xc1), &releases));
  const uint64_t other = MustRegister(Cuda(171, 0xc1));
  ASSERT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_OK);
  EXPECT_TRUE(InChild([&] {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    Error error;
    EXPECT_EQ(dlbridge_context_find(Device(kDLCUDA, 170), 0, &entry, &error),
              DLBRIDGE_ERROR_FORKED);
    EXPECT_TRUE(error.Says("forked")) << error.message;
    EXPECT_EQ(dlbridge_context_retain(id, nullptr), DLBRIDGE_ERROR_FORKED);
    EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_FORKED);
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_ERROR_FORKED);
    uint64_t cursor = 0;
    EXPECT_EQ(dlbridge_context_next(&cursor, &entry, nullptr), DLBRIDGE_ERROR_NOT_FOUND);

    const uint64_t own = MustRegister(Cuda(170, 0xc1));
    EXPECT_GT(own, other);
    EXPECT_EQ(Find(Device(kDLCUDA, 170)), own);
    EXPECT_EQ(TableFind(Device(kDLCUDA, 171), 0, &entry), DLBRIDGE_ERROR_FORKED);
    MustUnregister(own);
    EXPECT_EQ(releases.count, 0);
  }));
  EXPECT_EQ(Find(Device(kDLCUDA, 170)), id);
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_OK);
  MustUnregister(id);
  EXPECT_EQ(releases.count, 1);
  MustUnregister(other);
}

// Ends the child with SIGKILL, so that no leak check runs: memory that a thread of the parent was
// about to free is not a leak of the child.
void ChangeAndVanish() {
  std::vector<uint64_t> ids;
  for (uint64_t i = 1; i <= 50; ++i) {
    ids.push_back(MustRegister(Cuda(173 + static_cast<int32_t>(i % 3), i)));
  }
  std::vector<uint64_t> met;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for (uint64_t cursor = 0; dlbridge_context_next(&cursor, &entry, nullptr) == DLBRIDGE_OK;) {
    met.push_back(cursor);
  }
  EXPECT_EQ(met, ids);
  for (const uint64_t id : ids) {
    MustUnregister(id);
  }
  EXPECT_EQ(Find(Device(kDLCUDA, 173)), 0U);
  if (!testing::Test::HasFailure()) {
    kill(getpid(), SIGKILL);
  }
  _exit(1);
}

// A thread that was changing the table at the fork leaves its lock held in the child.
TEST(ContextTableFork, WorksWhileAnotherThreadChangesTheTable) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done.load()) {
      const uint64_t id = MustRegister(Cuda(172, 0xc1));
      MustUnregister(MustRegister(Cuda(172, 0xc2, DLBRIDGE_CONTEXT_DEFAULT)));
      MustUnregister(id);
    }
  });
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      ChangeAndVanish();
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
  }
  done.store(true);
  writer.join();
}

struct ForkingRelease {
  int count = 0;
  pid_t child = -1;
  static void Release(void* user, const DLBridgeContextEntry* /*entry*/) {
    auto* self = static_cast<ForkingRelease*>(user);
    if (++self->count == 1) {
      self->child = fork();
    }
  }
};

// Of the entries that one registration replaces, the parent releases those after the fork.
TEST(ContextTableFork, InACallbackLeavesTheOtherCallbacksToTheParent) {
  ForkingRelease state;
  for (uint64_t context = 1; context <= 3; ++context) {
    DLBridgeContextEntry entry = OneApi(176, 0x51, context);
    entry.release = &ForkingRelease::Release;
    entry.release_context = &state;
    MustRegister(entry);
  }
  const uint64_t id = MustRegister(OneApi(176, 0x52, 1, DLBRIDGE_CONTEXT_REPLACE));
  if (state.child == 0) {
    EXPECT_EQ(state.count, 1);
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_ERROR_FORKED);
    ChangeAndVanish();
  }
  int status = 0;
  EXPECT_EQ(waitpid(state.child, &status, 0), state.child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(state.count, 3);
  MustUnregister(id);
}

#endif

}  // namespace
}  // namespace dlbridge_test
