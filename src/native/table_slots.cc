// SPDX-License-Identifier: Apache-2.0
#include "native/table_slots.h"

namespace dlbridge {

std::atomic<Slot*> g_slot_segments[kSegmentCount];
std::atomic<uint64_t> g_last_stale_id;

namespace {

uint32_t g_free_slot;     // the first of the list, or 0
uint32_t g_highest_slot;  // the largest number that was ever in use
uint64_t g_last_serial;

}  // namespace

uint32_t TakeSlot() {
  if (g_free_slot != 0) {
    const uint32_t number = g_free_slot;
    g_free_slot = SlotAt(number)->next;
    return number;
  }
  // A slot that was never used is not touched before it is needed.
  return g_highest_slot < SlotsIn(CountSegments()) ? ++g_highest_slot : 0;
}

void ReturnSlot(uint32_t number) {
  SlotAt(number)->next = g_free_slot;
  g_free_slot = number;
}

uint32_t CountSegments() {
  uint32_t count = 0;
  while (count < kSegmentCount &&
         g_slot_segments[count].load(std::memory_order_relaxed) != nullptr) {
    ++count;
  }
  return count;
}

void AddSegment(Slot* slots) {
  g_slot_segments[CountSegments()].store(slots, std::memory_order_release);
}

uint64_t NextId(uint32_t number) {
  return g_last_serial < kLastSerial ? ++g_last_serial << kNumberBits | number : 0;
}

void Fill(const DLBridgeContextEntry& entry, Slot* slot) {
  uint64_t words[kEntryWords];
  std::memcpy(words, &entry, sizeof words);
  SeparateFromReaders();
  for (size_t i = 0; i < kEntryWords; ++i) {
    slot->words[i].store(words[i], std::memory_order_relaxed);
  }
  // A thread that sees these owners sees the id as well.
  slot->owners.store(uint64_t{SerialOf(entry.id)} << 32 | 1, std::memory_order_release);
}

void MarkIdsStale() {
  g_last_stale_id.store(g_last_serial << kNumberBits | kNumberMask, std::memory_order_relaxed);
}

void ReclaimSlots(uint32_t highest, bool (*is_used)(uint32_t number)) {
  g_highest_slot = highest;
  g_free_slot = 0;
  for (uint32_t number = highest; number != 0; --number) {
    if (!is_used(number)) {
      ReturnSlot(number);
    }
  }
}

}  // namespace dlbridge
