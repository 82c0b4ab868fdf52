// SPDX-License-Identifier: Apache-2.0
#include "native/table_index.h"

#include <cstdlib>
#include <cstring>

namespace dlbridge {

Index g_index;

namespace {

uint32_t Get(const std::atomic<uint32_t>& number) { return number.load(std::memory_order_relaxed); }
void Set(std::atomic<uint32_t>* number, uint32_t value) {
  number->store(value, std::memory_order_release);
}

uint32_t NumberOf(const Slot& slot) { return SlotNumberOf(IdOf(slot)); }

bool IsEnumerated(const Slot& slot) {
  return (ReadEntry(slot).properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
}

// ------------------------------------------------------------------------------- the hash table

uintptr_t AsFirst(const Slot& slot) { return reinterpret_cast<uintptr_t>(&slot) | kIsFirst; }
uintptr_t AsOther(const Slot& slot) { return reinterpret_cast<uintptr_t>(&slot); }

uint32_t HashOfBucket(uintptr_t bucket) {
  const Slot& slot = *SlotIn(bucket);
  return (bucket & kIsFirst) != 0 ? HashOf(KeyOf(slot)) : HashOf(KeyOf(slot), ContextOf(slot));
}

uintptr_t At(const View& view, uint32_t place) {
  return view.buckets()[place & view.mask].load(std::memory_order_relaxed);
}
void SetAt(View* view, uint32_t place, uintptr_t bucket) {
  view->buckets()[place & view->mask].store(bucket, std::memory_order_release);
}

// The place of a bucket, or the place where it would be inserted.
uint32_t PlaceOf(const View& view, uintptr_t bucket) {
  uint32_t place = HashOfBucket(bucket);
  while (At(view, place) != 0 && At(view, place) != bucket) {
    ++place;
  }
  return place;
}

void Put(View* view, uintptr_t bucket) { SetAt(view, PlaceOf(*view, bucket), bucket); }

// May the bucket at `place` move to `hole`, which is before it, and still be found?
bool MayMove(const View& view, uint32_t place, uint32_t hole) {
  const uint32_t home = HashOfBucket(At(view, place));
  return ((place - home) & view.mask) >= ((place - hole) & view.mask);
}

// Leaves no tombstone: the buckets after it move up.
void Erase(View* view, uintptr_t bucket) {
  uint32_t hole = PlaceOf(*view, bucket);
  for (uint32_t place = hole + 1; At(*view, place) != 0; ++place) {
    if (MayMove(*view, place, hole)) {
      SetAt(view, hole, At(*view, place));
      hole = place;
    }
  }
  SetAt(view, hole, 0);
}

// ------------------------------------------------------------------------------ lists of a view

uint32_t FirstLike(const View& view, const Slot& slot) {
  const Slot* first = FindFirst(view, KeyOf(slot));
  return first != nullptr ? NumberOf(*first) : 0;
}

// The last entry of a device that is not ENUMERATED, or 0.
uint32_t LastOwn(const View& view, uint32_t first) {
  uint32_t number = Get(view.links(first).previous);
  while (number != 0 && IsEnumerated(*SlotAt(number))) {
    number = number != first ? Get(view.links(number).previous) : 0;
  }
  return number;
}

// The entry of the device after which a new one is inserted; 0: the new one becomes the first.
uint32_t PredecessorOf(const View& view, uint32_t first, const Change& change) {
  const bool enumerated = IsEnumerated(*change.added);
  if (enumerated == change.goes_first) {
    return LastOwn(view, first);
  }
  return enumerated ? Get(view.links(first).previous) : 0;
}

// Both entries have the same place in the hash table: that of the device.
void ReplaceFirst(View* view, uint32_t first, uint32_t number) {
  SetAt(view, PlaceOf(*view, AsFirst(*SlotAt(first))), AsFirst(*SlotAt(number)));
}

void InsertFirst(View* view, uint32_t number, uint32_t first) {
  Set(&view->links(number).next, first);
  Set(&view->links(number).previous, Get(view->links(first).previous));
  Set(&view->links(first).previous, number);
  ReplaceFirst(view, first, number);
  Put(view, AsOther(*SlotAt(first)));
}

void InsertAfter(View* view, uint32_t number, uint32_t first, uint32_t predecessor) {
  const uint32_t next = Get(view->links(predecessor).next);
  Set(&view->links(number).next, next);
  Set(&view->links(number).previous, predecessor);
  Set(&view->links(predecessor).next, number);
  Set(&view->links(next != 0 ? next : first).previous, number);
  Put(view, AsOther(*SlotAt(number)));
}

void LinkToDevice(View* view, const Change& change) {
  const uint32_t number = NumberOf(*change.added);
  const uint32_t first = FirstLike(*view, *change.added);
  if (first == 0) {
    Set(&view->links(number).next, 0);
    Set(&view->links(number).previous, number);
    Put(view, AsFirst(*change.added));
    return;
  }
  const uint32_t predecessor = PredecessorOf(*view, first, change);
  if (predecessor == 0) {
    InsertFirst(view, number, first);
  } else {
    InsertAfter(view, number, first, predecessor);
  }
}

void UnlinkFirst(View* view, uint32_t number) {
  const Links& links = view->links(number);
  const uint32_t next = Get(links.next);
  if (next == 0) {
    Erase(view, AsFirst(*SlotAt(number)));
    return;
  }
  Set(&view->links(next).previous, Get(links.previous));
  Erase(view, AsOther(*SlotAt(next)));
  ReplaceFirst(view, number, next);
}

void UnlinkFromDevice(View* view, uint32_t number) {
  Links& links = view->links(number);
  const uint32_t first = FirstLike(*view, *SlotAt(number));
  if (number == first) {
    UnlinkFirst(view, number);
  } else {
    const uint32_t next = Get(links.next);
    Set(&view->links(Get(links.previous)).next, next);
    Set(&view->links(next != 0 ? next : first).previous, Get(links.previous));
    Erase(view, AsOther(*SlotAt(number)));
  }
  Set(&links.previous, 0);
}

// Ids grow, so a new entry is the last.
void LinkToIds(View* view, uint32_t number) {
  const uint32_t last = Get(view->last);
  Set(&view->links(number).later, 0);
  Set(&view->links(number).earlier, last);
  Set(last != 0 ? &view->links(last).later : &view->first, number);
  Set(&view->last, number);
}

void UnlinkFromIds(View* view, uint32_t number) {
  const uint32_t later = Get(view->links(number).later);
  const uint32_t earlier = Get(view->links(number).earlier);
  Set(earlier != 0 ? &view->links(earlier).later : &view->first, later);
  Set(later != 0 ? &view->links(later).earlier : &view->last, earlier);
}

// ----------------------------------------------------------------------------- changes of a view

void TakeOut(View* view, uint32_t number) {
  UnlinkFromDevice(view, number);
  UnlinkFromIds(view, number);
}

void TakeOutDevice(View* view, uint64_t key) {
  for (const Slot* slot = FindFirst(*view, key); slot != nullptr; slot = FindFirst(*view, key)) {
    TakeOut(view, NumberOf(*slot));
  }
}

void Apply(View* view, const Change& change) {
  if (change.leaving != nullptr && change.all_leave) {
    TakeOutDevice(view, KeyOf(*change.leaving));
  } else if (change.leaving != nullptr) {
    TakeOut(view, NumberOf(*change.leaving));
  }
  if (change.added != nullptr) {
    LinkToDevice(view, change);
    LinkToIds(view, NumberOf(*change.added));
  }
}

// ------------------------------------------------------------------------------------- copying

size_t SizeOf(const View& view) {
  return sizeof view + (size_t{view.mask} + 1) * sizeof(Bucket) +
         (size_t{view.capacity} + 1) * sizeof(Links);
}

View* InitView(void* memory, uint32_t capacity, uint32_t mask) {
  auto* view = static_cast<View*>(memory);
  view->capacity = capacity;
  view->mask = mask;
  return view;
}

// Two empty views in one allocation, or NULL.
View* MakePair(uint32_t capacity) {
  uint32_t buckets = 2;
  while (buckets < 2 * capacity) {
    buckets *= 2;
  }
  View measure = {};
  InitView(&measure, capacity, buckets - 1);
  auto* memory = static_cast<char*>(std::calloc(2, SizeOf(measure)));
  if (memory == nullptr) {
    return nullptr;
  }
  View* pair = InitView(memory, capacity, buckets - 1);
  pair->twin = InitView(memory + SizeOf(measure), capacity, buckets - 1);
  pair->twin->twin = pair;
  return pair;
}

void CopyLinks(const Links& from, Links* to) {
  Set(&to->next, Get(from.next));
  Set(&to->previous, Get(from.previous));
  Set(&to->later, Get(from.later));
  Set(&to->earlier, Get(from.earlier));
}

// Copies into an empty view.
void Copy(const View& from, View* to) {
  Set(&to->first, Get(from.first));
  Set(&to->last, Get(from.last));
  for (uint32_t number = Get(from.first); number != 0; number = Get(from.links(number).later)) {
    CopyLinks(from.links(number), &to->links(number));
    const Slot& slot = *SlotAt(number);
    Put(to, FindFirst(from, KeyOf(slot)) == &slot ? AsFirst(slot) : AsOther(slot));
  }
}

void Clear(View* view) {
  for (uint32_t i = 0; i <= view->mask; ++i) {
    SetAt(view, i, 0);
  }
  for (uint32_t number = 0; number <= view->capacity; ++number) {
    Set(&view->links(number).previous, 0);
  }
}

// ---------------------------------------------------------------------------- the current view

std::atomic<View*>* CurrentPlace() {
  return &g_index.views[g_index.version.load(std::memory_order_relaxed) & 1];
}
std::atomic<View*>* OtherPlace() {
  return &g_index.views[~g_index.version.load(std::memory_order_relaxed) & 1];
}
View* OtherView() { return OtherPlace()->load(std::memory_order_relaxed); }

// Makes the other view current.
void Flip() {
  const uint64_t version = g_index.version.load(std::memory_order_relaxed);
  g_index.version.store(version + 1, std::memory_order_release);
  SeparateFromReaders();
}

// The start of the allocation of a view and its twin. Leak checkers need a pointer to it.
View* PairOf(View* view) { return view < view->twin ? view : view->twin; }

void UsePair(View* pair) {
  View* current = CurrentPlace()->load(std::memory_order_relaxed);
  if (current != nullptr) {
    Copy(*current, pair);
    Copy(*current, pair->twin);
    pair->older = PairOf(current);
  }
  OtherPlace()->store(pair, std::memory_order_release);
  Flip();
  OtherPlace()->store(pair->twin, std::memory_order_release);
}

// -------------------------------------------------------------------------------- after a fork

bool IsInUse(uint32_t number) {
  const View* view = CurrentView();
  return number <= view->capacity && Get(view->links(number).previous) != 0;
}

uint32_t HighestIn(const View& view) {
  uint32_t highest = 0;
  for (uint32_t number = Get(view.first); number != 0; number = Get(view.links(number).later)) {
    highest = number > highest ? number : highest;
  }
  return highest;
}

}  // namespace

const Slot* FindFollowing(const View& view, uint64_t id) {
  const Slot* slot = SlotOfId(id);
  const uint32_t own = SlotNumberOf(id);
  const bool is_in = slot != nullptr && IdOf(*slot) == id && own <= view.capacity &&
                     Get(view.links(own).previous) != 0;
  const std::atomic<uint32_t>* place = is_in ? &view.links(own).later : &view.first;
  for (uint32_t i = 0; i <= view.capacity; ++i) {
    const uint32_t number = place->load(std::memory_order_acquire);
    if (number == 0 || IdOf(*SlotAt(number)) > id) {
      return number != 0 ? SlotAt(number) : nullptr;
    }
    place = &view.links(number).later;
  }
  return nullptr;
}

const View* CurrentView() { return CurrentPlace()->load(std::memory_order_relaxed); }

void Commit(const Change& change) {
  SeparateFromReaders();
  Apply(OtherView(), change);
  Flip();
  Apply(OtherView(), change);
}

bool Grow() {
  const uint32_t segments = CountSegments();
  if (segments == kSegmentCount) {
    return false;
  }
  const uint32_t count = SlotsIn(segments + 1) - SlotsIn(segments);
  auto* slots = static_cast<Slot*>(std::calloc(count, sizeof(Slot)));
  View* pair = slots != nullptr ? MakePair(SlotsIn(segments + 1)) : nullptr;
  if (pair == nullptr) {
    std::free(slots);
    return false;
  }
  // The views first: they must have room for every slot, also in a child that is forked right now.
  UsePair(pair);
  AddSegment(slots);
  return true;
}

void RepairAfterFork() {
  const View* current = CurrentView();
  View* twin = current != nullptr ? current->twin : nullptr;
  OtherPlace()->store(twin, std::memory_order_release);
  if (twin != nullptr) {
    SeparateFromReaders();
    Clear(twin);
    Copy(*current, twin);
  }
  ReclaimSlots(current != nullptr ? HighestIn(*current) : 0, IsInUse);
}

}  // namespace dlbridge
