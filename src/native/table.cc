// SPDX-License-Identifier: Apache-2.0
// The context table of this copy of the library: docs/context-table.md specifies each function.
//
// Slots hold the entries (native/table_slots.h), an index finds them (native/table_index.h).
// Look-ups and retain take no lock. Functions that add or remove an entry hold the lock while they
// change the index, and run release callbacks after they released it.
#include "native/table.h"

#include <atomic>
#include <cstdint>

#include "describe/boundary.h"
#include "native/fork.h"
#include "native/table_index.h"
#include "native/table_slots.h"
#include "support/lock.h"

namespace dlbridge {
namespace {

Lock g_lock;
bool g_is_forked;  // true in a forked child until its first change; protected by the lock

// ------------------------------------------------------------------------------------ finishing

// The entry has no owners left, so only this thread uses its slot.
void Finish(Slot* slot) {
  const DLBridgeContextEntry entry = ReadEntry(*slot);
  {
    const Locked locked(&g_lock);
    ReturnSlot(SlotNumberOf(entry.id));
  }
  if (entry.release != nullptr) {
    entry.release(entry.release_context, &entry);
  }
}

// A callback may fork. In the child the rest of the list belongs to the parent: nothing is released
// there, and the slots are used for other entries.
void FinishAll(Slot* slot) {
  const uint32_t generation = ForkGeneration();
  while (slot != nullptr && ForkGeneration() == generation) {
    Slot* next = slot->next != 0 ? SlotAt(slot->next) : nullptr;
    Finish(slot);
    slot = next;
  }
}

// Ends the registration of an entry that is no longer in the index. Returns true if it has no
// retains.
bool EndRegistration(Slot* slot) {
  return CountOf(slot->owners.fetch_sub(1, std::memory_order_acq_rel)) == 1;
}

// --------------------------------------------------------------------------------------- adding

bool IsEnumerated(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
}

bool IsOneNativeDevice(const DLBridgeContextEntry& a, const DLBridgeContextEntry& b) {
  return a.backend == b.backend && a.native_device == b.native_device;
}

// Decides about entries of the same native device, which may have several contexts. Only an entry
// of the same context conflicts.
DLBridgeStatus MakeRoomForContext(const View& view, const Slot& first,
                                  const DLBridgeContextEntry& added, Change* change) {
  const bool is_first = ContextOf(first) == added.context;
  const Slot* same = is_first ? &first : FindOther(view, KeyOf(first), added.context);
  if (same != nullptr && (IsEnumerated(added) || !IsEnumerated(ReadEntry(*same)))) {
    return DLBRIDGE_ERROR_EXISTS;
  }
  change->leaving = same;
  return DLBRIDGE_OK;
}

// All entries of a device have the same native device, and the first one is ENUMERATED only if all
// are. So checking the first is sufficient.
DLBridgeStatus MakeRoom(const DLBridgeContextEntry& added, Change* change) {
  const View* view = CurrentView();
  const Slot* slot = view != nullptr ? FindFirst(*view, KeyOf(added.device)) : nullptr;
  if (slot == nullptr) {
    return DLBRIDGE_OK;
  }
  const DLBridgeContextEntry first = ReadEntry(*slot);
  if (!IsStale(first.id)) {
    if (IsOneNativeDevice(first, added)) {
      return MakeRoomForContext(*view, *slot, added, change);
    }
    if (IsEnumerated(added) ||
        (!IsEnumerated(first) && (added.properties & DLBRIDGE_CONTEXT_REPLACE) == 0)) {
      return DLBRIDGE_ERROR_EXISTS;
    }
  }
  change->leaving = slot;
  change->all_leave = true;
  return DLBRIDGE_OK;
}

// Makes a list of the slots whose entries will be removed. Their `next` fields are free for it.
Slot* ListLeaving(const Change& change) {
  if (change.leaving == nullptr) {
    return nullptr;
  }
  const View& view = *CurrentView();
  uint32_t number = SlotNumberOf(IdOf(*change.leaving));
  Slot* list = SlotAt(number);
  for (Slot* slot = list; slot != nullptr; slot = number != 0 ? SlotAt(number) : nullptr) {
    number = change.all_leave ? view.links(number).next.load(std::memory_order_relaxed) : 0;
    slot->next = number;
  }
  return list;
}

// Ends the registrations in a list; returns those to finish. Entries from before a fork are dropped
// without their callbacks.
Slot* EndRegistrations(Slot* list) {
  Slot* finished = nullptr;
  while (list != nullptr) {
    Slot* slot = list;
    list = slot->next != 0 ? SlotAt(slot->next) : nullptr;
    if (IsStale(IdOf(*slot))) {
      ReturnSlot(SlotNumberOf(IdOf(*slot)));
    } else if (EndRegistration(slot)) {
      slot->next = finished != nullptr ? SlotNumberOf(IdOf(*finished)) : 0;
      finished = slot;
    }
  }
  return finished;
}

// Makes the slot of a new entry; NULL if there is no memory.
Slot* NewSlot(const DLBridgeContextEntry& added) {
  uint32_t number = TakeSlot();
  if (number == 0 && Grow()) {
    number = TakeSlot();
  }
  if (number == 0) {
    return nullptr;
  }
  DLBridgeContextEntry entry = added;
  entry.id = NextId(number);
  if (entry.id == 0) {
    ReturnSlot(number);
    return nullptr;
  }
  // These two bits are requests, not properties of the entry.
  entry.properties &= ~uint32_t{DLBRIDGE_CONTEXT_DEFAULT | DLBRIDGE_CONTEXT_REPLACE};
  Fill(entry, SlotAt(number));
  return SlotAt(number);
}

// Called with the lock held.
DLBridgeStatus Insert(const DLBridgeContextEntry& added, uint64_t* id, Slot** finished) {
  if (g_is_forked) {
    RepairAfterFork();
    g_is_forked = false;
  }
  Change change = {nullptr, false, nullptr, (added.properties & DLBRIDGE_CONTEXT_DEFAULT) != 0};
  DLBRIDGE_TRY(MakeRoom(added, &change));
  change.added = NewSlot(added);
  if (change.added == nullptr) {
    return DLBRIDGE_ERROR_OUT_OF_MEMORY;
  }
  *id = IdOf(*change.added);
  Slot* leaving = ListLeaving(change);
  Commit(change);
  *finished = EndRegistrations(leaving);
  return DLBRIDGE_OK;
}

DLBridgeStatus Add(const DLBridgeContextEntry* entry, uint64_t* id) {
  if (entry == nullptr || id == nullptr || entry->struct_size != sizeof *entry) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  const DLBridgeContextEntry added = *entry;
  DLBRIDGE_TRY(CheckEntry(added, nullptr));
  if (!WatchForks()) {
    return DLBRIDGE_ERROR_OUT_OF_MEMORY;
  }
  Slot* finished = nullptr;
  {
    const Locked locked(&g_lock);
    DLBRIDGE_TRY(Insert(added, id, &finished));
  }
  FinishAll(finished);
  return DLBRIDGE_OK;
}

// -------------------------------------------------------------------------------------- finding

// The entry that was found, and whether it is the default of its device.
struct Found {
  const Slot* slot;
  EntryCopy entry;
  bool is_first;

  DLBRIDGE_INLINE void Read(const View& view, uint64_t key, uint64_t context) {
    slot = FindFirst(view, key);
    is_first = slot == nullptr || context == 0 || ContextOf(*slot) == context;
    if (!is_first) {
      slot = FindOther(view, key, context);
    }
    if (slot != nullptr) {
      entry.Take(*slot);
    }
  }

  void ReadFollowing(const View& view, uint64_t id) {
    slot = FindFollowing(view, id);
    if (slot != nullptr) {
      entry.Take(*slot);
      is_first = FindFirst(view, KeyOf(*slot)) == slot;
    }
  }
};

DLBRIDGE_INLINE void CopyOut(const Found& found, DLBridgeContextEntry* out) {
  found.entry.Give(out);
  out->properties |= found.is_first ? uint32_t{DLBRIDGE_CONTEXT_DEFAULT} : 0;
}

DLBridgeStatus Find(DLDevice device, uint64_t context, DLBridgeContextEntry* out) {
  if (out == nullptr) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  const uint64_t key = KeyOf(TableKey(device));
  Found found;
  Reading reading;
  do {
    const View* view = reading.Begin();
    if (view == nullptr) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
    found.Read(*view, key, context);
  } while (!reading.IsWhole());
  if (found.slot == nullptr) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  if (DLBRIDGE_UNLIKELY(IsStale(found.entry.id()))) {
    return DLBRIDGE_ERROR_FORKED;
  }
  CopyOut(found, out);
  return DLBRIDGE_OK;
}

DLBridgeStatus Next(uint64_t* cursor, DLBridgeContextEntry* out) {
  if (cursor == nullptr || out == nullptr) {
    return DLBRIDGE_ERROR_INVALID_ARGUMENT;
  }
  const uint64_t after = *cursor > LastStaleId() ? *cursor : LastStaleId();
  Found found;
  Reading reading;
  do {
    const View* view = reading.Begin();
    if (view == nullptr) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
    found.ReadFollowing(*view, after);
  } while (!reading.IsWhole());
  if (found.slot == nullptr) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  CopyOut(found, out);
  *cursor = found.entry.id();
  return DLBRIDGE_OK;
}

// -------------------------------------------------------------------------------------- keeping

// The slot of an id that this process may use. It may hold another entry by now.
DLBridgeStatus Identify(uint64_t id, Slot** out) {
  if (IsStale(id)) {
    return DLBRIDGE_ERROR_FORKED;
  }
  *out = SlotOfId(id);
  return *out != nullptr ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND;
}

// Retain and Release load the owners before they compare the id. If the slot gets another entry
// after that, the exchange fails, since the owners contain the serial number.
DLBridgeStatus Retain(uint64_t id) {
  Slot* slot = nullptr;
  DLBRIDGE_TRY(Identify(id, &slot));
  uint64_t owners = slot->owners.load(std::memory_order_acquire);
  do {
    if (IdOf(*slot) != id || (owners & 1) == 0) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
    if (CountOf(owners) > kMostOwners) {
      return DLBRIDGE_ERROR_OUT_OF_MEMORY;
    }
  } while (!slot->owners.compare_exchange_weak(owners, owners + 2, std::memory_order_acquire));
  return DLBRIDGE_OK;
}

DLBridgeStatus Release(uint64_t id) {
  Slot* slot = nullptr;
  DLBRIDGE_TRY(Identify(id, &slot));
  uint64_t owners = slot->owners.load(std::memory_order_acquire);
  do {
    if (IdOf(*slot) != id || CountOf(owners) < 2) {
      return DLBRIDGE_ERROR_NOT_FOUND;
    }
  } while (!slot->owners.compare_exchange_weak(owners, owners - 2, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
  if (CountOf(owners) == 2) {
    Finish(slot);
  }
  return DLBRIDGE_OK;
}

// Called with the lock held. Entries are in the index as long as they are registered.
DLBridgeStatus Withdraw(uint64_t id, Slot* slot, bool* is_last) {
  if (IdOf(*slot) != id || (slot->owners.load(std::memory_order_relaxed) & 1) == 0) {
    return DLBRIDGE_ERROR_NOT_FOUND;
  }
  Commit({slot, false, nullptr, false});
  *is_last = EndRegistration(slot);
  return DLBRIDGE_OK;
}

DLBridgeStatus Remove(uint64_t id) {
  Slot* slot = nullptr;
  DLBRIDGE_TRY(Identify(id, &slot));
  bool is_last = false;
  {
    const Locked locked(&g_lock);
    DLBRIDGE_TRY(Withdraw(id, slot, &is_last));
  }
  if (is_last) {
    Finish(slot);
  }
  return DLBRIDGE_OK;
}

}  // namespace

constexpr DLBridgeContextTable kOwnTable = {
    sizeof(DLBridgeContextTable), 1, Add, Find, Next, Retain, Release, Remove};

void ResetTableInChild() {
#ifndef _WIN32
  g_lock.ResetInChild();
#endif
  g_is_forked = true;
  MarkIdsStale();
}

}  // namespace dlbridge

extern "C" {

const DLBridgeContextTable* dlbridge_context_table_v1(void) { return &dlbridge::kOwnTable; }

}  // extern "C"
