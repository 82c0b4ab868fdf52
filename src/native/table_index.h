// SPDX-License-Identifier: Apache-2.0
// Finds the slots of the context table by device, by device and context, and by id.
//
// There are two views with the same contents, and a version whose lowest bit selects the current
// one. A writer changes the other view, makes it current by incrementing the version, and then
// repeats the change in the first. If the version is unchanged after a reader has read, it has read
// one state of the table; otherwise it reads again. So readers never wait for writers: they only
// repeat a read if a change completed meanwhile. The current view is consistent at any time, also
// in a child that was forked during a change.
//
// Views have room for all slots. When slots are added, a larger pair of views replaces the old
// pair, which stays allocated for readers that may still use it. All old pairs together are as
// large as the current one.
#ifndef DLBRIDGE_SRC_NATIVE_TABLE_INDEX_H_
#define DLBRIDGE_SRC_NATIVE_TABLE_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "native/table_slots.h"
#include "support/checked.h"

namespace dlbridge {

// Slot numbers; 0: none. The entries of a device form a list whose first entry is its default.
struct Links {
  std::atomic<uint32_t> next;      // entry of the same device
  std::atomic<uint32_t> previous;  // of the first: the last. 0: the slot is not in the view
  std::atomic<uint32_t> later;     // by id
  std::atomic<uint32_t> earlier;
};

// The address of a slot, plus kIsFirst if its entry is the first of its device; 0: none.
using Bucket = std::atomic<uintptr_t>;
constexpr uintptr_t kIsFirst = 1;

// After the struct follows a hash table with linear probing that is at most half full. It has each
// entry once: the first entry of a device by the device, the others by device and context. After
// the table follow the links, by slot number.
struct View {
  View* twin;   // the other view of the pair
  View* older;  // the previous pair, which stays allocated
  uint32_t mask;
  uint32_t capacity;  // the highest slot number
  std::atomic<uint32_t> first;
  std::atomic<uint32_t> last;

  const Bucket* buckets() const { return reinterpret_cast<const Bucket*>(this + 1); }
  const Links& links(uint32_t number) const {
    return reinterpret_cast<const Links*>(buckets() + mask + 1)[number];
  }
  Bucket* buckets() { return reinterpret_cast<Bucket*>(this + 1); }
  Links& links(uint32_t number) { return reinterpret_cast<Links*>(buckets() + mask + 1)[number]; }
};

// Both views are NULL before the first entry.
struct Index {
  std::atomic<uint64_t> version;
  std::atomic<View*> views[2];
};
extern Index g_index;

// A read, to be repeated until IsWhole returns true.
class Reading {
 public:
  // The current view, or NULL if the table is empty.
  DLBRIDGE_INLINE const View* Begin() {
    version_ = g_index.version.load(std::memory_order_acquire);
    return g_index.views[version_ & 1].load(std::memory_order_acquire);
  }
  DLBRIDGE_INLINE bool IsWhole() const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return DLBRIDGE_LIKELY(g_index.version.load(std::memory_order_relaxed) == version_);
  }

 private:
  uint64_t version_ = 0;
};

// ------------------------------------------------------------------------------------- reading
// The results of these functions are valid only if the view did not change meanwhile. Their loops
// end in any case.

constexpr uint64_t kKeyFactor = 0x9e3779b97f4a7c15U;
constexpr uint64_t kContextFactor = 0xd6e8feb86659fd93U;
DLBRIDGE_INLINE uint32_t HashOf(uint64_t key) {
  return static_cast<uint32_t>((key * kKeyFactor) >> 32);
}
DLBRIDGE_INLINE uint32_t HashOf(uint64_t key, uint64_t context) {
  return static_cast<uint32_t>((key * kKeyFactor + context * kContextFactor) >> 32);
}

DLBRIDGE_INLINE const Slot* SlotIn(uintptr_t bucket) {
  return reinterpret_cast<const Slot*>(bucket & ~kIsFirst);
}

// The slot of the first bucket from `hash` on that `matches`, or NULL.
template <class Matches>
DLBRIDGE_INLINE const Slot* Probe(const View& view, uint32_t hash, Matches matches) {
  for (uint32_t i = 0; i <= view.mask; ++i) {
    // Acquire: a reader that sees the slot's address also sees its contents.
    const uintptr_t bucket = view.buckets()[(hash + i) & view.mask].load(std::memory_order_acquire);
    if (bucket == 0 || DLBRIDGE_LIKELY(matches(bucket))) {
      return SlotIn(bucket);
    }
  }
  return nullptr;
}

// The first entry of a device, or NULL.
DLBRIDGE_INLINE const Slot* FindFirst(const View& view, uint64_t key) {
  return Probe(view, HashOf(key), [key](uintptr_t bucket) {
    return (bucket & kIsFirst) != 0 && KeyOf(*SlotIn(bucket)) == key;
  });
}

// The entry of a device with that context if it is not the first; or NULL.
inline const Slot* FindOther(const View& view, uint64_t key, uint64_t context) {
  return Probe(view, HashOf(key, context), [key, context](uintptr_t bucket) {
    return (bucket & kIsFirst) == 0 && KeyOf(*SlotIn(bucket)) == key &&
           ContextOf(*SlotIn(bucket)) == context;
  });
}

// The entry with the smallest id above `id`, or NULL.
const Slot* FindFollowing(const View& view, uint64_t id);

// ------------------------------------------------------------------------------------- writing
// These functions require the lock of the table.

// The view as a writer sees it before its change; NULL before the first entry.
const View* CurrentView();

// The entries that one change removes and adds. Readers see all of it at once.
struct Change {
  const Slot* leaving;  // or NULL
  bool all_leave;       // all entries of the device of `leaving`
  const Slot* added;    // or NULL
  bool goes_first;      // before the others of its kind, ENUMERATED or not
};
void Commit(const Change& change);

// Adds slots and makes larger views. Returns false if there is no memory; then nothing has changed.
bool Grow();

// Called in a forked child before its first change: makes both views equal again, and frees the
// slots that the current view does not have.
void RepairAfterFork();

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_TABLE_INDEX_H_
