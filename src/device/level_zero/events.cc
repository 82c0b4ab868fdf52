// SPDX-License-Identifier: Apache-2.0
// Events are in pools per context, each a block of pairs. Blocks and their pairs are taken in turn,
// so the next pair is the one used longest ago, whose work is probably done. A new pool is created
// only if no pair is free after a few queries.
//
// A mark is a pair. A pair whose mark was freed too early is in use like one of a handoff: it is
// reset when a later call takes it.
#include "device/level_zero/events.h"

#include <cstdlib>
#include <new>

#include "native/table.h"

namespace dlbridge::level_zero {
namespace {

// kPinned: in use, and retains the entry of its context.
enum State : uint32_t { kFree = 0, kTaken = 1, kInUse = 2, kPinned = 3 };

constexpr uint32_t kPairs = 16;       // of a pool
constexpr uint32_t kMostQueries = 8;  // before another pool is created, half of them in one block

struct Block {
  Block* next;
  std::atomic<bool> vacant;  // it has no pool, and all of its pairs count as taken
  EventPool pool;
  std::atomic<uint32_t> turn;
  EventPair pairs[kPairs];
};

// Never freed, because other threads read the list without a lock. Reused with its blocks once its
// entry is gone. The list is as long as the most contexts registered at once, plus one per context
// used without an entry.
struct ContextEvents {
  ContextEvents* next;
  std::atomic<uint64_t> context;
  std::atomic<uint64_t> entry;  // kClaimed: a thread looks whether it can be reused
  std::atomic<Block*> blocks;
  std::atomic<Block*> turn;  // the block to look at first; NULL if there is none
};

std::atomic<ContextEvents*> g_contexts;

constexpr uint64_t kClaimed = UINT64_MAX;  // never the id of an entry

// How many pairs are pinned.
std::atomic<uint32_t> g_pinned;

void Push(std::atomic<Block*>* head, Block* block) {
  block->next = head->load(std::memory_order_relaxed);
  while (!head->compare_exchange_weak(block->next, block, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

// Is the entry gone? Its id is never used again.
bool IsRemoved(uint64_t entry) {
  if (entry == 0 || entry == kClaimed) {
    return false;
  }
  const bool gone = SharedTable().retain(entry) != DLBRIDGE_OK;
  if (!gone) {
    SharedTable().release(entry);
  }
  return gone;
}

// Does a hand-off, a copy or a mark still have a pair?
bool HasUsers(const ContextEvents& events) {
  for (Block* block = events.blocks.load(std::memory_order_acquire); block != nullptr;
       block = block->next) {
    for (const EventPair& pair : block->pairs) {
      const uint32_t state = pair.state.load(std::memory_order_acquire);
      if ((state == kTaken && !block->vacant.load(std::memory_order_acquire)) || state == kPinned) {
        return true;
      }
    }
  }
  return false;
}

// Forgets handles, which the driver destroys with their context.
void Vacate(Block* block) {
  for (EventPair& pair : block->pairs) {
    pair.state.store(kTaken, std::memory_order_relaxed);
    pair.signalled = 0;
    pair.events[0] = nullptr;
    pair.events[1] = nullptr;
    pair.lists[0] = {};
    pair.lists[1] = {};
    pair.copy = nullptr;
    pair.pin = 0;
  }
  block->pool = nullptr;
  block->vacant.store(true, std::memory_order_release);
}

// Takes the events of an entry that is gone for another context.
bool TryReuse(ContextEvents* events, uint64_t context, uint64_t entry) {
  uint64_t gone = events->entry.load(std::memory_order_acquire);
  if (!IsRemoved(gone) ||
      !events->entry.compare_exchange_strong(gone, kClaimed, std::memory_order_acq_rel)) {
    return false;
  }
  if (HasUsers(*events)) {
    events->entry.store(gone, std::memory_order_release);
    return false;
  }
  for (Block* block = events->blocks.load(std::memory_order_acquire); block != nullptr;
       block = block->next) {
    Vacate(block);
  }
  events->turn.store(nullptr, std::memory_order_relaxed);
  events->context.store(context, std::memory_order_relaxed);
  events->entry.store(entry, std::memory_order_release);
  return true;
}

bool Serves(const ContextEvents& events, uint64_t context, uint64_t entry) {
  return events.entry.load(std::memory_order_acquire) == entry &&
         events.context.load(std::memory_order_relaxed) == context;
}

// The events of a context in the part of the list from `from` up to, not including, `to`.
ContextEvents* Find(ContextEvents* from, const ContextEvents* to, uint64_t context,
                    uint64_t entry) {
  while (from != to && !Serves(*from, context, entry)) {
    from = from->next;
  }
  return from != to ? from : nullptr;
}

// Adds events to the list, whose head was `seen` when it had none of the context. Returns those of
// another thread if one was faster.
ContextEvents* AddEvents(ContextEvents* seen, uint64_t context, uint64_t entry) {
  void* memory = std::malloc(sizeof(ContextEvents));
  if (memory == nullptr) {
    return nullptr;
  }
  auto* events = new (memory) ContextEvents{seen, {context}, {entry}, {nullptr}, {nullptr}};
  while (!g_contexts.compare_exchange_strong(events->next, events, std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
    ContextEvents* const faster = Find(events->next, seen, context, entry);
    if (faster != nullptr) {
      std::free(memory);
      return faster;
    }
    seen = events->next;
  }
  return events;
}

// Two threads may reuse events of different removed entries for the same context. All threads then
// use the first of them in the list.
ContextEvents* EventsOf(uint64_t context, uint64_t entry) {
  ContextEvents* const head = g_contexts.load(std::memory_order_acquire);
  ContextEvents* events = Find(head, nullptr, context, entry);
  if (events != nullptr) {
    return events;
  }
  events = head;
  while (events != nullptr && !TryReuse(events, context, entry)) {
    events = events->next;
  }
  return events != nullptr ? events : AddEvents(head, context, entry);
}

// The status of the event that is signalled last.
Result Query(const EventPair& pair) {
  return g_ze.zeEventQueryStatus(pair.events[pair.signalled - 1]);
}

// Resets a pair whose events are signalled. A list that cannot be destroyed is leaked.
DLBridgeStatus Reset(EventPair* pair, DLBridgeError* error) {
  List copy = pair->copy;
  pair->copy = nullptr;
  if (copy != nullptr) {
    DLBRIDGE_ZE_TRY(zeCommandListDestroy, copy);
  }
  for (uint32_t i = 0; i < pair->signalled; ++i) {
    DLBRIDGE_ZE_TRY(zeEventHostReset, pair->events[i]);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Reclaim(EventPair* pair, bool* reclaimed, DLBridgeError* error) {
  const Result result = Query(*pair);
  if (result == kNotReady) {
    return DLBRIDGE_OK;
  }
  if (result != kSuccess) {
    return RejectCall(error, "zeEventQueryStatus", result);
  }
  DLBRIDGE_TRY(Reset(pair, error));
  *reclaimed = true;
  return DLBRIDGE_OK;
}

// A lost device does no more work.
bool IsOver(Result result) { return result == kSuccess || result == kDeviceLost; }

// Returns a pair that may be pinned. If its work is not over, the pair keeps the pin.
void Settle(EventPair* pair, uint64_t pin) {
  const Result result = Query(*pair);
  if (pin != 0 && !IsOver(result)) {
    pair->pin = pin;
    g_pinned.fetch_add(1, std::memory_order_relaxed);
    pair->state.store(kPinned, std::memory_order_release);
    return;
  }
  const bool reset = result == kSuccess && Reset(pair, nullptr) == DLBRIDGE_OK;
  ReturnPair(pair, reset ? 0 : pair->signalled);
  if (pin != 0) {
    // May call the release callback, which may destroy the context.
    SharedTable().release(pin);
  }
}

bool TryTakePinned(EventPair* pair) {
  uint32_t state = kPinned;
  return pair->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire,
                                             std::memory_order_relaxed);
}

void SettlePinned(Block* block, uint32_t* queries) {
  for (EventPair& pair : block->pairs) {
    if (*queries != 0 && TryTakePinned(&pair)) {
      --*queries;
      g_pinned.fetch_sub(1, std::memory_order_relaxed);
      Settle(&pair, pair.pin);
    }
  }
}

// Settles the pinned pairs of all contexts: if a context is unregistered, no later hand-off takes
// its pairs.
void SettleAllPinned() {
  uint32_t queries = kMostQueries;
  for (ContextEvents* events = g_contexts.load(std::memory_order_acquire); events != nullptr;
       events = events->next) {
    for (Block* block = events->blocks.load(std::memory_order_acquire); block != nullptr;
         block = block->next) {
      SettlePinned(block, &queries);
    }
  }
}

DLBridgeStatus TryTake(EventPair* pair, uint32_t* queries, bool* taken, DLBridgeError* error) {
  uint32_t state = pair->state.load(std::memory_order_relaxed);
  if (state == kTaken || state == kPinned || (state == kInUse && *queries == 0) ||
      !pair->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
    return DLBRIDGE_OK;
  }
  if (state == kFree) {
    *taken = true;
    return DLBRIDGE_OK;
  }
  --*queries;
  const DLBridgeStatus status = Reclaim(pair, taken, error);
  if (!*taken) {
    pair->state.store(kInUse, std::memory_order_release);
  }
  return status;
}

// Takes the next available pair of a block, if any. At most `*queries` events are queried.
DLBridgeStatus TakeFromBlock(Block* block, uint32_t* queries, EventPair** out,
                             DLBridgeError* error) {
  for (uint32_t i = 0; i < kPairs && *out == nullptr; ++i) {
    EventPair* pair = &block->pairs[block->turn.fetch_add(1, std::memory_order_relaxed) % kPairs];
    bool taken = false;
    DLBRIDGE_TRY(TryTake(pair, queries, &taken, error));
    *out = taken ? pair : nullptr;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus TakeFrom(ContextEvents* events, EventPair** out, DLBridgeError* error) {
  Block* const first = events->turn.load(std::memory_order_acquire);
  uint32_t left = kMostQueries;
  for (Block* block = first; block != nullptr;) {
    Block* const next =
        block->next != nullptr ? block->next : events->blocks.load(std::memory_order_acquire);
    const uint32_t share = next == block || left < kMostQueries / 2 ? left : kMostQueries / 2;
    uint32_t queries = share;
    DLBRIDGE_TRY(TakeFromBlock(block, &queries, out, error));
    left -= share - queries;
    if (*out != nullptr || next == first) {
      break;
    }
    events->turn.store(next, std::memory_order_release);
    block = next;
  }
  return DLBRIDGE_OK;
}

void DestroyEvents(Block* block) {
  for (EventPair& pair : block->pairs) {
    for (Event event : pair.events) {
      if (event != nullptr) {
        g_ze.zeEventDestroy(event);
      }
    }
  }
}

// A signal and the writes before it are visible to the host and to all devices.
DLBridgeStatus CreateEvents(Block* block, DLBridgeError* error) {
  EventDescT desc = {kEventDesc, nullptr, 0, kScopeHost, kScopeDevice};
  for (; desc.index < 2 * kPairs; ++desc.index) {
    Event* event = &block->pairs[desc.index / 2].events[desc.index % 2];
    DLBRIDGE_ZE_TRY(zeEventCreate, block->pool, &desc, event);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CreatePool(uint64_t context, Block* block, DLBridgeError* error) {
  const EventPoolDescT desc = {kEventPoolDesc, nullptr, kHostVisible, 2 * kPairs};
  DLBRIDGE_ZE_TRY(zeEventPoolCreate, ToHandle<Context>(context), &desc, 0, nullptr, &block->pool);
  const DLBridgeStatus status = CreateEvents(block, error);
  if (status != DLBRIDGE_OK) {
    DestroyEvents(block);
    g_ze.zeEventPoolDestroy(block->pool);
  }
  return status;
}

// A block without a pool, for the calling thread alone. NULL if there is no memory.
Block* TakeVacant(ContextEvents* events) {
  for (Block* block = events->blocks.load(std::memory_order_acquire); block != nullptr;
       block = block->next) {
    if (block->vacant.exchange(false, std::memory_order_acq_rel)) {
      return block;
    }
  }
  void* memory = std::malloc(sizeof(Block));
  if (memory == nullptr) {
    return nullptr;
  }
  Block* block = new (memory) Block{};
  Vacate(block);
  block->vacant.store(false, std::memory_order_relaxed);
  Push(&events->blocks, block);
  return block;
}

// The first pair of the block goes to the caller.
DLBridgeStatus AddBlock(ContextEvents* events, EventPair** out, DLBridgeError* error) {
  Block* block = TakeVacant(events);
  if (block == nullptr) {
    return RejectMemory(error);
  }
  const DLBridgeStatus status =
      CreatePool(events->context.load(std::memory_order_relaxed), block, error);
  if (status != DLBRIDGE_OK) {
    Vacate(block);
    return status;
  }
  for (uint32_t i = 1; i < kPairs; ++i) {
    block->pairs[i].state.store(kFree, std::memory_order_release);
  }
  block->turn.store(1, std::memory_order_relaxed);
  events->turn.store(block, std::memory_order_release);
  *out = &block->pairs[0];
  return DLBRIDGE_OK;
}

}  // namespace

Owner OwnerOf(DLDevice device, uint64_t context) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  bool found = table.find(device, context, &entry) == DLBRIDGE_OK;
  // A context of several devices may be registered for another of them.
  for (uint64_t cursor = 0; !found && table.next(&cursor, &entry) == DLBRIDGE_OK;) {
    found = entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO && entry.context == context;
  }
  if (!found) {
    return {0, false, false};
  }
  return {entry.id, (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0,
          entry.release != nullptr};
}

DLBridgeStatus TakePair(uint64_t context, uint64_t entry, EventPair** out, DLBridgeError* error) {
  if (g_pinned.load(std::memory_order_relaxed) != 0) {
    SettleAllPinned();
  }
  ContextEvents* events = EventsOf(context, entry);
  if (events == nullptr) {
    return RejectMemory(error);
  }
  *out = nullptr;
  DLBRIDGE_TRY(TakeFrom(events, out, error));
  return *out != nullptr ? DLBRIDGE_OK : AddBlock(events, out, error);
}

void ReturnPair(EventPair* pair, uint32_t signalled) {
  pair->signalled = signalled;
  pair->state.store(signalled == 0 ? kFree : kInUse, std::memory_order_release);
}

DLBridgeStatus ReturnSignalled(EventPair* pair, DLBridgeError* error) {
  const Result result = g_ze.zeEventHostReset(pair->events[0]);
  ReturnPair(pair, result == kSuccess ? 0 : 1);
  return result == kSuccess ? DLBRIDGE_OK : RejectCall(error, "zeEventHostReset", result);
}

namespace {

// The parts of StreamMark::state.
enum MarkPart : uint32_t {
  kPair = 0,
  kWatch = 1,  // an entry whose removal makes the handles invalid, or 0
  kPin = 2,    // an entry that the mark retains, or 0
};

EventPair* PairOf(const StreamMark& mark) { return ToHandle<EventPair*>(mark.state[kPair]); }

// Is the context of a mark gone? Its work is over then.
bool IsGone(const StreamMark& mark) { return IsRemoved(mark.state[kWatch]); }

}  // namespace

void MakeMark(EventPair* pair, const Owner& owner, StreamMark* out) {
  pair->signalled = 1;
  const bool pinned = owner.waits && SharedTable().retain(owner.entry) == DLBRIDGE_OK;
  const bool watched = !owner.lasts && !pinned;
  *out = {DLBRIDGE_BACKEND_LEVEL_ZERO,
          {ToInteger(pair), watched ? owner.entry : 0, pinned ? owner.entry : 0, 0}};
}

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error) {
  DLBRIDGE_TRY(RequireContext(stream, argument, error));
  const Owner owner = OwnerOf(stream.device, stream.context);
  EventPair* pair = nullptr;
  DLBRIDGE_TRY(TakePair(stream.context, owner.entry, &pair, error));
  const DLBridgeStatus status = SignalEnd(stream, argument, pair, error);
  if (status != DLBRIDGE_OK) {
    ReturnPair(pair, 0);
    return status;
  }
  MakeMark(pair, owner, out);
  return DLBRIDGE_OK;
}

DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error) {
  const Result result = IsGone(mark) ? kSuccess : Query(*PairOf(mark));
  *over = IsOver(result);
  return *over || result == kNotReady ? DLBRIDGE_OK
                                      : RejectCall(error, "zeEventQueryStatus", result);
}

DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error) {
  if (IsGone(mark)) {
    return DLBRIDGE_OK;
  }
  const Result result = g_ze.zeEventHostSynchronize(PairOf(mark)->events[0], UINT64_MAX);
  return IsOver(result) ? DLBRIDGE_OK : RejectCall(error, "zeEventHostSynchronize", result);
}

void MarkFree(const StreamMark& mark) {
  // A forked child has neither the work nor a reference to the context.
  if (!IsStarted(kLevelZeroBackend)) {
    return;
  }
  if (IsGone(mark)) {
    ReturnPair(PairOf(mark), 1);  // not taken again: no other context gets the entry's id
  } else {
    Settle(PairOf(mark), mark.state[kPin]);
  }
}

}  // namespace dlbridge::level_zero
