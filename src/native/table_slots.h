// SPDX-License-Identifier: Apache-2.0
// The storage of the context table's entries: slots that are reused and never freed.
//
// So a reader may access any slot at any time. native/table_index.h describes how it knows that the
// words that it read belong together.
#ifndef DLBRIDGE_SRC_NATIVE_TABLE_SLOTS_H_
#define DLBRIDGE_SRC_NATIVE_TABLE_SLOTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dlbridge/dlbridge.h"
#include "support/checked.h"

// x86-64 loads two words into one register. ThreadSanitizer does not see accesses in assembly.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define DLBRIDGE_LOADS_PAIRS
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef DLBRIDGE_LOADS_PAIRS
#endif
#endif

namespace dlbridge {

// The low kNumberBits of an id are the slot number, the rest is the serial number of the
// registration. So ids grow from entry to entry, are never reused, and lead to their slot.
constexpr uint32_t kNumberBits = 20;
constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
constexpr uint64_t kLastSerial = UINT64_MAX >> kNumberBits;

constexpr uint32_t SlotNumberOf(uint64_t id) { return static_cast<uint32_t>(id & kNumberMask); }
constexpr uint32_t SerialOf(uint64_t id) { return static_cast<uint32_t>(id >> kNumberBits); }

// The reserved words are zero in every entry, so they are not stored.
constexpr size_t kEntrySize = offsetof(DLBridgeContextEntry, reserved);
constexpr size_t kEntryWords = kEntrySize / sizeof(uint64_t);

struct alignas(16) Slot {
  std::atomic<uint64_t> words[kEntryWords];  // of the entry
  // The low half of the serial number above a count: 1 while the entry is registered, plus 2 for
  // each retain.
  std::atomic<uint64_t> owners;
  uint32_t next;  // in the list of free or of finished slots
  uint32_t padding;
};

// Slots come from calloc, whose alignment is that of new. max_align_t is smaller on macOS for
// arm64, where no type needs the alignment that the allocator provides.
static_assert(sizeof(Slot) == 112 && __STDCPP_DEFAULT_NEW_ALIGNMENT__ >= alignof(Slot),
              "calloc must align a slot");

// Slots are numbered from 1. They are in segments, each twice as long as the one before.
constexpr uint32_t kFirstSegmentLog = 4;
constexpr uint32_t kSegmentCount = kNumberBits - kFirstSegmentLog;
extern std::atomic<Slot*> g_slot_segments[kSegmentCount];

// The number of slots in the first `segments` segments.
constexpr uint32_t SlotsIn(uint32_t segments) {
  return (uint32_t{1} << (segments + kFirstSegmentLog)) - (uint32_t{1} << kFirstSegmentLog);
}

struct SlotPlace {
  uint32_t segment;
  uint32_t offset;
};
constexpr SlotPlace SlotPlaceOf(uint32_t number) {
  const uint32_t position = number - 1 + (1U << kFirstSegmentLog);
  const auto log = static_cast<uint32_t>(31 - __builtin_clz(position));
  return {log - kFirstSegmentLog, position - (1U << log)};
}

// The slot of a number that TakeSlot returned.
DLBRIDGE_INLINE Slot* SlotAt(uint32_t number) {
  const SlotPlace place = SlotPlaceOf(number);
  return g_slot_segments[place.segment].load(std::memory_order_relaxed) + place.offset;
}

// The slot of an id from any source, or NULL.
inline Slot* SlotOfId(uint64_t id) {
  const uint32_t number = SlotNumberOf(id);
  const SlotPlace place = SlotPlaceOf(number);
  if (number == 0 || place.segment >= kSegmentCount) {
    return nullptr;
  }
  Slot* slots = g_slot_segments[place.segment].load(std::memory_order_acquire);
  return slots != nullptr ? slots + place.offset : nullptr;
}

// ------------------------------------------------------------------------------------ the words

DLBRIDGE_INLINE uint64_t WordAt(const Slot& slot, size_t offset) {
  return slot.words[offset / sizeof(uint64_t)].load(std::memory_order_relaxed);
}
DLBRIDGE_INLINE uint64_t IdOf(const Slot& slot) {
  return WordAt(slot, offsetof(DLBridgeContextEntry, id));
}
DLBRIDGE_INLINE uint64_t ContextOf(const Slot& slot) {
  return WordAt(slot, offsetof(DLBridgeContextEntry, context));
}
// The device, as the word that holds it.
DLBRIDGE_INLINE uint64_t KeyOf(const Slot& slot) {
  return WordAt(slot, offsetof(DLBridgeContextEntry, device));
}
DLBRIDGE_INLINE uint64_t KeyOf(const DLDevice& device) {
  uint64_t key = 0;
  std::memcpy(&key, &device, sizeof key);
  return key;
}

// Loads two words at once if the processor can: then a whole entry fits the registers and is not
// spilled to the stack (9.5 to 6.7 ns). The load need not be atomic, since readers check the
// version of the index afterwards.
struct WordPair {
#ifdef DLBRIDGE_LOADS_PAIRS
  typedef uint64_t Vector __attribute__((vector_size(16), may_alias));
  DLBRIDGE_INLINE void Load(const std::atomic<uint64_t>* from) {
    __asm__ volatile("movdqa %1, %0" : "=x"(words) : "m"(*reinterpret_cast<const Vector*>(from)));
  }
  Vector words;
#else
  DLBRIDGE_INLINE void Load(const std::atomic<uint64_t>* from) {
    words[0] = from[0].load(std::memory_order_relaxed);
    words[1] = from[1].load(std::memory_order_relaxed);
  }
  uint64_t words[2];
#endif
};

// A copy of the words of an entry, unrolled so that it stays in registers.
class EntryCopy {
 public:
  DLBRIDGE_INLINE void Take(const Slot& slot) {
#pragma GCC unroll 6
    for (size_t i = 0; i < kEntryWords / 2; ++i) {
      pairs_[i].Load(slot.words + 2 * i);
    }
  }
  DLBRIDGE_INLINE void Give(DLBridgeContextEntry* out) const {
    auto* bytes = reinterpret_cast<unsigned char*>(out);
#pragma GCC unroll 6
    for (size_t i = 0; i < kEntryWords / 2; ++i) {
      std::memcpy(bytes + i * sizeof pairs_[i], &pairs_[i].words, sizeof pairs_[i]);
    }
    std::memset(bytes + kEntrySize, 0, sizeof *out - kEntrySize);
  }
  DLBRIDGE_INLINE uint64_t id() const { return pairs_[1].words[0]; }

 private:
  WordPair pairs_[kEntryWords / 2];
};
static_assert(kEntryWords % 2 == 0 && offsetof(DLBridgeContextEntry, id) == 16, "pairs of words");

inline DLBridgeContextEntry ReadEntry(const Slot& slot) {
  EntryCopy copy;
  copy.Take(slot);
  DLBridgeContextEntry entry;
  copy.Give(&entry);
  return entry;
}

// ------------------------------------------------------------------------------------- owners

constexpr uint64_t CountOf(uint64_t owners) { return owners & UINT32_MAX; }
constexpr uint64_t kMostOwners = UINT32_MAX - 2;

// Ids up to this one were issued before the process was forked; 0 if it was not forked.
extern std::atomic<uint64_t> g_last_stale_id;
inline uint64_t LastStaleId() { return g_last_stale_id.load(std::memory_order_relaxed); }
// 0 is not the id of an entry and is never stale.
DLBRIDGE_INLINE bool IsStale(uint64_t id) { return id - 1 < LastStaleId(); }

// ------------------------------------------------------------------------- taking and giving back
// These functions require the lock of the table.

// Called before stores to memory that readers may still access. A reader that sees one of these
// stores also sees every version of the index that was published before it.
inline void SeparateFromReaders() { std::atomic_thread_fence(std::memory_order_release); }

// The number of a free slot, or 0: then AddSegment must add more.
uint32_t TakeSlot();
void ReturnSlot(uint32_t number);
uint32_t CountSegments();
// Takes over zeroed memory for the slots of one more segment.
void AddSegment(Slot* slots);

// The id of the next entry, which is put into this slot; 0 if the serial numbers are used up.
uint64_t NextId(uint32_t number);
// Puts an entry into a free slot. It is registered and has no retains.
void Fill(const DLBridgeContextEntry& entry, Slot* slot);

// Called in a forked child: marks all ids issued so far as the parent's.
void MarkIdsStale();
// Called in a forked child before its first change: rebuilds the list of free slots, since the
// parent may have been changing it. No slot above `highest` is in use.
void ReclaimSlots(uint32_t highest, bool (*is_used)(uint32_t number));

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_TABLE_SLOTS_H_
