// SPDX-License-Identifier: Apache-2.0
// This copy's own context table: docs/context-table.md says what each function promises.
//
// Readers take the current snapshot and no lock. A writer makes the next snapshot under the lock
// and keeps the old ones, since nobody knows who still reads them: they are small and few. Records
// stay as well, found by their id.
#include "device/table.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "device.h"
#include "device/backend.h"
#include "device/fork.h"
#include "support/boundary.h"
#include "support/lock.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownFlags = DLBRIDGE_CONTEXT_DEFAULT | DLBRIDGE_CONTEXT_REPLACE |
                                 DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;
// What a registration asks for, and does not stay true.
constexpr uint32_t kWishes = DLBRIDGE_CONTEXT_DEFAULT | DLBRIDGE_CONTEXT_REPLACE;

struct Record {
  DLBridgeContextEntry entry;
  std::atomic<uint64_t> owners;  // 2 for each that keeps it, and 1 while it is registered
  uint32_t generation;           // of the process that registered it
};

struct Row {
  uint64_t key;
  uint64_t context;
  uint64_t id;
  Record* record;
};

// An index by device comes first, `mask + 1` numbers: 1 + the first row of the device, or 0. The
// rows behind it stand together by device, each device's default first.
struct Snapshot {
  const Snapshot* older;
  uint32_t count;
  uint32_t mask;

  uint32_t* index() { return reinterpret_cast<uint32_t*>(this + 1); }
  const uint32_t* index() const { return reinterpret_cast<const uint32_t*>(this + 1); }
  Row* rows() { return reinterpret_cast<Row*>(index() + mask + 1); }
  const Row* rows() const { return reinterpret_cast<const Row*>(index() + mask + 1); }
};
constexpr uint32_t kFewestSlots = 4;
static_assert((sizeof(Snapshot) + kFewestSlots * sizeof(uint32_t)) % alignof(Row) == 0,
              "rows follow the index");

constexpr uint32_t kMostRows = 1U << 20;
constexpr uint32_t kFirstSegmentLog = 4;
constexpr uint32_t kSegmentCount = 40;

std::atomic<const Snapshot*> g_snapshot;
std::atomic<uint64_t> g_last_id;
std::atomic<Record*> g_segments[kSegmentCount];  // each twice as long as the one before
Lock g_lock;

// ------------------------------------------------------------------------------------- records

struct Place {
  uint32_t segment;
  uint64_t offset;
};

Place PlaceOf(uint64_t id) {
  const uint64_t number = id - 1 + (uint64_t{1} << kFirstSegmentLog);
  const auto log = static_cast<uint32_t>(63 - __builtin_clzll(number));
  return {log - kFirstSegmentLog, number - (uint64_t{1} << log)};
}

// The record of an id that was ever given, else NULL.
Record* RecordOf(uint64_t id) {
  if (id == 0 || id > g_last_id.load(std::memory_order_acquire)) {
    return nullptr;
  }
  const Place place = PlaceOf(id);
  return g_segments[place.segment].load(std::memory_order_relaxed) + place.offset;
}

// Is it of before a fork, when its driver's handles were worth something?
bool IsStale(const Record& record) { return record.generation != ForkGeneration(); }

// Under the lock: the memory of the next id. Where that comes to nothing it is used again.
Record* NextRecord(uint64_t id) {
  const Place place = PlaceOf(id);
  if (place.segment >= kSegmentCount) {
    return nullptr;
  }
  Record* segment = g_segments[place.segment].load(std::memory_order_relaxed);
  if (segment == nullptr) {
    const size_t length = size_t{1} << (place.segment + kFirstSegmentLog);
    segment = static_cast<Record*>(std::calloc(length, sizeof(Record)));
    if (segment == nullptr) {
      return nullptr;
    }
    g_segments[place.segment].store(segment, std::memory_order_relaxed);
  }
  return segment + place.offset;
}

void Fill(const DLBridgeContextEntry& entry, uint64_t id, Record* record) {
  record->entry = entry;
  record->entry.id = id;
  record->entry.properties &= ~kWishes;
  record->owners.store(1, std::memory_order_relaxed);
  record->generation = ForkGeneration();
}

// The last of its owners is gone. Outside the lock.
void Finish(const Record& record) {
  if (record.entry.release != nullptr) {
    record.entry.release(record.entry.release_context, &record.entry);
  }
}

// By whoever took it out of the snapshot.
void Unregister(Record* record) {
  if (record->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Finish(*record);
  }
}

// ----------------------------------------------------------------------------------- snapshots

uint64_t KeyOf(const DLDevice& device) {
  return static_cast<uint64_t>(static_cast<uint32_t>(TypeOf(device))) << 32 |
         static_cast<uint32_t>(device.device_id);
}

uint32_t HashOf(uint64_t key) { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15U) >> 32); }

DLBRIDGE_INLINE const Snapshot* Current() { return g_snapshot.load(std::memory_order_acquire); }

// The first row of a device, which is its default, or NULL.
DLBRIDGE_INLINE const Row* FindDevice(const Snapshot* snapshot, uint64_t key) {
  if (snapshot == nullptr) {
    return nullptr;
  }
  for (uint32_t slot = HashOf(key);; ++slot) {
    const uint32_t number = snapshot->index()[slot & snapshot->mask];
    if (number == 0) {
      return nullptr;
    }
    const Row* row = snapshot->rows() + (number - 1);
    if (row->key == key) {
      return row;
    }
  }
}

DLBRIDGE_INLINE const Row* EndOf(const Snapshot* snapshot) {
  return snapshot->rows() + snapshot->count;
}

bool IsDefault(const Snapshot& snapshot, const Row* row) {
  return row == snapshot.rows() || row[-1].key != row->key;
}

DLBRIDGE_INLINE void CopyOut(const DLBridgeContextEntry& entry, bool is_default,
                             DLBridgeContextEntry* out) {
  const uint32_t flags = entry.properties | (is_default ? uint32_t{DLBRIDGE_CONTEXT_DEFAULT} : 0);
  *out = entry;
  out->properties = flags;
}

// An empty snapshot with room for so many rows; NULL where there is no memory.
Snapshot* MakeSnapshot(uint32_t capacity) {
  if (capacity > kMostRows) {
    return nullptr;
  }
  uint32_t slots = kFewestSlots;
  while (slots < 2 * capacity) {
    slots *= 2;
  }
  const size_t size = sizeof(Snapshot) + capacity * sizeof(Row) + slots * sizeof(uint32_t);
  auto* snapshot = static_cast<Snapshot*>(std::calloc(1, size));
  if (snapshot != nullptr) {
    snapshot->mask = slots - 1;
  }
  return snapshot;
}

// Copies the rows that are to stay.
template <class Stays>
void Append(const Snapshot* from, Stays stays, Snapshot* to) {
  for (uint32_t i = 0; from != nullptr && i < from->count; ++i) {
    if (stays(from->rows()[i])) {
      to->rows()[to->count++] = from->rows()[i];
    }
  }
}

void IndexDevice(Snapshot* snapshot, uint32_t row) {
  uint32_t slot = HashOf(snapshot->rows()[row].key);
  while (snapshot->index()[slot & snapshot->mask] != 0) {
    ++slot;
  }
  snapshot->index()[slot & snapshot->mask] = row + 1;
}

void Publish(Snapshot* snapshot) {
  for (uint32_t i = 0; i < snapshot->count; ++i) {
    if (IsDefault(*snapshot, snapshot->rows() + i)) {
      IndexDevice(snapshot, i);
    }
  }
  snapshot->older = Current();
  g_snapshot.store(snapshot, std::memory_order_release);
}

// ------------------------------------------------------------------------------------- adding

bool IsEnumerated(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
}

bool IsOneNativeDevice(const DLBridgeContextEntry& a, const DLBridgeContextEntry& b) {
  return a.backend == b.backend && a.native_device == b.native_device;
}

// Is an entry of the same device taken out when `added` comes?
bool GivesWay(const DLBridgeContextEntry& entry, const DLBridgeContextEntry& added) {
  if (IsEnumerated(added)) {
    return false;
  }
  const bool other = !IsOneNativeDevice(entry, added);
  if (IsEnumerated(entry)) {
    return other || entry.context == added.context;
  }
  return other && (added.properties & DLBRIDGE_CONTEXT_REPLACE) != 0;
}

// What an application registered goes before what was enumerated, and a new default before its
// like.
bool GoesBefore(const DLBridgeContextEntry& entry, const DLBridgeContextEntry& added) {
  if (IsEnumerated(entry) != IsEnumerated(added)) {
    return IsEnumerated(added);
  }
  return (added.properties & DLBRIDGE_CONTEXT_DEFAULT) == 0;
}

// Does an entry that stays stand against `added`?
bool Conflicts(const Snapshot* snapshot, uint64_t key, const DLBridgeContextEntry& added) {
  const Row* row = FindDevice(snapshot, key);
  for (; row != nullptr && row != EndOf(snapshot) && row->key == key; ++row) {
    const DLBridgeContextEntry& entry = row->record->entry;
    if (!IsStale(*row->record) && !GivesWay(entry, added) &&
        (!IsOneNativeDevice(entry, added) || entry.context == added.context)) {
      return true;
    }
  }
  return false;
}

// One registration while it goes on.
struct Addition {
  const DLBridgeContextEntry& entry;
  uint64_t key;
  uint64_t id;
  Record* record;
  const Snapshot* before;
};

// The rows of other devices, then those of this one with the new row in its place.
void AppendAll(const Addition& addition, Snapshot* to) {
  const DLBridgeContextEntry& added = addition.entry;
  const auto stays = [&](const Row& row) {
    return row.key == addition.key && !IsStale(*row.record) && !GivesWay(row.record->entry, added);
  };
  Append(
      addition.before, [&](const Row& row) { return row.key != addition.key; }, to);
  Append(
      addition.before,
      [&](const Row& row) { return stays(row) && GoesBefore(row.record->entry, added); }, to);
  to->rows()[to->count++] = {addition.key, added.context, addition.id, addition.record};
  Append(
      addition.before,
      [&](const Row& row) { return stays(row) && !GoesBefore(row.record->entry, added); }, to);
}

// Under the lock.
DLBridgeStatus Insert(Addition* addition) {
  addition->before = Current();
  if (Conflicts(addition->before, addition->key, addition->entry)) {
    return DLBRIDGE_ERROR_EXISTS;
  }
  addition->id = g_last_id.load(std::memory_order_relaxed) + 1;
  addition->record = NextRecord(addition->id);
  const uint32_t count = addition->before != nullptr ? addition->before->count : 0;
  Snapshot* next = addition->record != nullptr ? MakeSnapshot(count + 1) : nullptr;
  if (next == nullptr) {
    return DLBRIDGE_ERROR_OUT_OF_MEMORY;
  }
  Fill(addition->entry, addition->id, addition->record);
  g_last_id.store(addition->id, std::memory_order_release);
  AppendAll(*addition, next);
  Publish(next);
  return DLBRIDGE_OK;
}

// Outside the lock: what gave way is no longer registered.
void UnregisterReplaced(const Addition& addition) {
  const Row* row = FindDevice(addition.before, addition.key);
  for (; row != nullptr && row != EndOf(addition.before) && row->key == addition.key; ++row) {
    if (!IsStale(*row->record) && GivesWay(row->record->entry, addition.entry)) {
      Unregister(row->record);
    }
  }
}

DLBridgeStatus Add(const DLBridgeContextEntry* entry, uint64_t* id) {
  if (entry == nullptr || id == nullptr) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  DLBRIDGE_TRY(CheckEntry(*entry, nullptr));
  if (!WatchForks()) {
    return DLBRIDGE_ERROR_OUT_OF_MEMORY;
  }
  Addition addition = {*entry, KeyOf(entry->device), 0, nullptr, nullptr};
  {
    const Locked locked(&g_lock);
    DLBRIDGE_TRY(Insert(&addition));
  }
  *id = addition.id;
  UnregisterReplaced(addition);
  return DLBRIDGE_OK;
}

// ----------------------------------------------------------------------------------- the rest

DLBridgeStatus Find(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
  if (out == nullptr) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  const uint64_t key = KeyOf(TableKey(device));
  const Snapshot* snapshot = Current();
  const Row* first = FindDevice(snapshot, key);
  const Row* row = first;
  while (row != nullptr && context != 0 && row->context != context) {
    ++row;
    row = row != EndOf(snapshot) && row->key == key ? row : nullptr;
  }
  if (row == nullptr) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  if (DLBRIDGE_UNLIKELY(IsStale(*row->record))) {
    return DLBRIDGE_ERROR_FORKED;
  }
  CopyOut(row->record->entry, row == first, out);
  return DLBRIDGE_OK;
}

DLBridgeStatus Next(uint64_t* cursor, DLBridgeContextEntry* out) {
  if (cursor == nullptr || out == nullptr) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  const Snapshot* snapshot = Current();
  const Row* next = nullptr;
  for (uint32_t i = 0; snapshot != nullptr && i < snapshot->count; ++i) {
    const Row* row = snapshot->rows() + i;
    if (row->id > *cursor && (next == nullptr || row->id < next->id) && !IsStale(*row->record)) {
      next = row;
    }
  }
  if (next == nullptr) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  CopyOut(next->record->entry, IsDefault(*snapshot, next), out);
  *cursor = next->id;
  return DLBRIDGE_OK;
}

// The record behind an id that this process may use.
DLBridgeStatus Identify(uint64_t id, Record** out) {
  *out = RecordOf(id);
  if (*out == nullptr) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  return IsStale(**out) ? DLBRIDGE_ERROR_FORKED : DLBRIDGE_OK;
}

DLBridgeStatus Retain(uint64_t id) {
  Record* record = nullptr;
  DLBRIDGE_TRY(Identify(id, &record));
  uint64_t owners = record->owners.load(std::memory_order_relaxed);
  do {
    if ((owners & 1) == 0) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
  } while (!record->owners.compare_exchange_weak(owners, owners + 2, std::memory_order_relaxed));
  return DLBRIDGE_OK;
}

DLBridgeStatus Release(uint64_t id) {
  Record* record = nullptr;
  DLBRIDGE_TRY(Identify(id, &record));
  uint64_t owners = record->owners.load(std::memory_order_relaxed);
  do {
    if (owners < 2) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
  } while (!record->owners.compare_exchange_weak(owners, owners - 2, std::memory_order_acq_rel));
  if (owners == 2) {
    Finish(*record);
  }
  return DLBRIDGE_OK;
}

// Under the lock: takes the entry out of the snapshot.
DLBridgeStatus Withdraw(uint64_t id) {
  const Snapshot* before = Current();
  Snapshot* next = MakeSnapshot(before->count);
  if (next == nullptr) {
    return DLBRIDGE_ERROR_OUT_OF_MEMORY;
  }
  Append(
      before, [&](const Row& row) { return row.id != id; }, next);
  if (next->count == before->count) {
    std::free(next);
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  Publish(next);
  return DLBRIDGE_OK;
}

DLBridgeStatus Remove(uint64_t id) {
  Record* record = nullptr;
  DLBRIDGE_TRY(Identify(id, &record));
  {
    const Locked locked(&g_lock);
    DLBRIDGE_TRY(Withdraw(id));
  }
  Unregister(record);
  return DLBRIDGE_OK;
}

// ------------------------------------------------------------------------- what an entry must be

bool IsBackendOf(DLBridgeBackend backend, int32_t device_type) {
  const BackendList list = BackendsOf(device_type);
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.backends[i]->id == backend) {
      return true;
    }
  }
  return false;
}

bool IsKey(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLROCM || device_type == kDLOpenCL ||
         device_type == kDLOneAPI;
}

DLBridgeStatus CheckDevice(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!IsKey(TypeOf(entry.device))) {
    return RefuseArgument(error, "entry.device",
                          "must be kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI, which stand for their "
                          "pinned and managed memory too");
  }
  if (entry.device.device_id < 0) {
    return RefuseArgument(error, "entry.device", "must not have a negative id");
  }
  if (!IsBackendOf(entry.backend, TypeOf(entry.device))) {
    return RefuseArgument(error, "entry.backend",
                          "must be the device's: CUDA, HIP, OPENCL, for kDLOneAPI LEVEL_ZERO or "
                          "OPENCL");
  }
  return DLBRIDGE_OK;
}

// CUDA and HIP go by numbers, the others by handles.
DLBridgeStatus CheckHandles(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  const bool ordinals =
      entry.backend == DLBRIDGE_BACKEND_CUDA || entry.backend == DLBRIDGE_BACKEND_HIP;
  if (ordinals && (entry.native_device > INT32_MAX || entry.platform != 0)) {
    return RefuseArgument(error, "entry.native_device",
                          "must be the ordinal, and the platform 0, in CUDA and HIP");
  }
  if (entry.backend == DLBRIDGE_BACKEND_HIP && entry.context != 0) {
    return RefuseArgument(error, "entry.context", "must be 0 in HIP, which has no contexts");
  }
  if (!ordinals && (entry.native_device == 0 || entry.context == 0)) {
    return RefuseArgument(error, entry.context == 0 ? "entry.context" : "entry.native_device",
                          "must not be NULL in Level Zero and OpenCL");
  }
  return DLBRIDGE_OK;
}

bool QueueKindFits(const DLBridgeContextEntry& entry) {
  if (entry.queue == 0) {
    return entry.queue_kind == 0;
  }
  return entry.queue_kind == DLBRIDGE_STREAM_QUEUE ||
         (entry.queue_kind == DLBRIDGE_STREAM_IMMEDIATE_LIST &&
          entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO);
}

DLBridgeStatus CheckQueueAndFlags(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!QueueKindFits(entry)) {
    return RefuseArgument(error, "entry.queue_kind",
                          "must be 0 without a queue, else QUEUE or, in Level Zero, "
                          "IMMEDIATE_LIST");
  }
  if ((entry.properties & ~kKnownFlags) != 0) {
    return RefuseArgument(error, "entry.properties", "has a bit that this table does not know");
  }
  if (IsEnumerated(entry) && (entry.properties & DLBRIDGE_CONTEXT_REPLACE) != 0) {
    return RefuseArgument(error, "entry.properties",
                          "must not say REPLACE where it says ENUMERATED");
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (entry.struct_size != sizeof entry) {
    return RefuseArgument(error, "entry.struct_size", "must be 128");
  }
  if (entry.id != 0) {
    return RefuseArgument(error, "entry.id", "must be 0: the table gives it");
  }
  if ((entry.reserved[0] | entry.reserved[1] | entry.reserved[2] | entry.reserved[3]) != 0) {
    return RefuseArgument(error, "entry.reserved", "must be zero");
  }
  DLBRIDGE_TRY(CheckDevice(entry, error));
  DLBRIDGE_TRY(CheckHandles(entry, error));
  return CheckQueueAndFlags(entry, error);
}

constexpr DLBridgeContextTable kOwnTable = {
    sizeof(DLBridgeContextTable), 1, Add, Find, Next, Retain, Release, Remove};

void ResetTableInChild() {
#ifndef _WIN32
  g_lock.ResetInChild();
#endif
}

}  // namespace dlbridge

extern "C" {

const DLBridgeContextTable* dlbridge_context_table_v1(void) { return &dlbridge::kOwnTable; }

}  // extern "C"
