// SPDX-License-Identifier: Apache-2.0
// Events are in pools per context. Pairs are taken in turn, so the next one is the one used longest
// ago, which is probably done. A new pool is created only if no pair is free after a few queries.
#include "device/level_zero/events.h"

#include <cstdlib>
#include <new>

#include "native/table.h"

namespace dlbridge::level_zero {
namespace {

enum State : uint32_t { kFree = 0, kTaken = 1, kInUse = 2 };

constexpr uint32_t kPairs = 16;       // of a pool
constexpr uint32_t kMostQueries = 8;  // before another pool is created

struct Block {
  Block* next;
  EventPool pool;
  std::atomic<uint32_t> turn;
  EventPair pairs[kPairs];
};

// Never freed: there is one per context that the process ever used.
struct ContextEvents {
  ContextEvents* next;
  uint64_t context;
  uint64_t entry;
  std::atomic<Block*> blocks;
};

std::atomic<ContextEvents*> g_contexts;

template <class Node>
void Push(std::atomic<Node*>* head, Node* node) {
  node->next = head->load(std::memory_order_relaxed);
  while (!head->compare_exchange_weak(node->next, node, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

// Two threads may both add one. All threads use the first in the list; the other stays empty.
ContextEvents* EventsOf(uint64_t context, uint64_t entry) {
  ContextEvents* events = g_contexts.load(std::memory_order_acquire);
  while (events != nullptr && (events->context != context || events->entry != entry)) {
    events = events->next;
  }
  if (events == nullptr) {
    void* memory = std::malloc(sizeof(ContextEvents));
    if (memory != nullptr) {
      events = new (memory) ContextEvents{nullptr, context, entry, {nullptr}};
      Push(&g_contexts, events);
    }
  }
  return events;
}

// Resets the events of a pair if they are signalled. The last one to be signalled is queried.
DLBridgeStatus Reclaim(EventPair* pair, bool* reclaimed, DLBridgeError* error) {
  Event last = pair->events[pair->signalled - 1];
  const Result result = g_ze.zeEventQueryStatus(last);
  if (result == kNotReady) {
    return DLBRIDGE_OK;
  }
  if (result != kSuccess) {
    return RejectCall(error, "zeEventQueryStatus", result);
  }
  for (uint32_t i = 0; i < pair->signalled; ++i) {
    DLBRIDGE_ZE_TRY(zeEventHostReset, pair->events[i]);
  }
  *reclaimed = true;
  return DLBRIDGE_OK;
}

DLBridgeStatus TryTake(EventPair* pair, uint32_t* queries, bool* taken, DLBridgeError* error) {
  uint32_t state = pair->state.load(std::memory_order_relaxed);
  if (state == kTaken || (state == kInUse && *queries == kMostQueries) ||
      !pair->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
    return DLBRIDGE_OK;
  }
  if (state == kFree) {
    *taken = true;
    return DLBRIDGE_OK;
  }
  ++*queries;
  const DLBridgeStatus status = Reclaim(pair, taken, error);
  if (!*taken) {
    pair->state.store(kInUse, std::memory_order_release);
  }
  return status;
}

// Takes the next available pair of a block, if any.
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
  uint32_t queries = 0;
  Block* block = events->blocks.load(std::memory_order_acquire);
  for (; block != nullptr && *out == nullptr; block = block->next) {
    DLBRIDGE_TRY(TakeFromBlock(block, &queries, out, error));
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

// The first pair of the new block goes to the caller.
DLBridgeStatus AddBlock(ContextEvents* events, EventPair** out, DLBridgeError* error) {
  void* memory = std::malloc(sizeof(Block));
  if (memory == nullptr) {
    return RejectMemory(error);
  }
  Block* block = new (memory) Block{};
  const DLBridgeStatus status = CreatePool(events->context, block, error);
  if (status != DLBRIDGE_OK) {
    std::free(block);
    return status;
  }
  block->pairs[0].state.store(kTaken, std::memory_order_relaxed);
  block->turn.store(1, std::memory_order_relaxed);
  Push(&events->blocks, block);
  *out = &block->pairs[0];
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus TakePair(uint64_t context, uint64_t entry, EventPair** out, DLBridgeError* error) {
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

uint64_t EntryOf(DLDevice device, uint64_t context) {
  DLBridgeContextEntry entry;
  return SharedTable().find(device, context, &entry) == DLBRIDGE_OK ? entry.id : 0;
}

}  // namespace dlbridge::level_zero
