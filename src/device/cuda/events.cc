// SPDX-License-Identifier: Apache-2.0
// The pool is an array of slots. The thread that sets a slot's state to kBusy owns the slot and
// alone writes to it. The pool is lock-free.
#include "device/cuda/events.h"

#include <atomic>

#include "device/cuda/internal.h"

namespace dlbridge::cuda {

enum : uint32_t { kEmpty = 0, kBusy = 1, kIdle = 2 };

// Each slot has its own cache line, so that threads do not share lines.
struct alignas(64) EventSlot {
  std::atomic<uint32_t> state;
  std::atomic<uint64_t> context_id;  // written while the slot is busy
  Context context;
  Event event;
};

namespace {

// The number of concurrent hand-offs that share events. Further ones create an event for one use.
constexpr uint64_t kSlots = 64;
EventSlot g_slots[kSlots];

bool Claim(EventSlot* slot, uint32_t from) {
  return slot->state.load(std::memory_order_relaxed) == from &&
         slot->state.compare_exchange_strong(from, kBusy, std::memory_order_acquire,
                                             std::memory_order_relaxed);
}

void Return(EventSlot* slot, uint32_t state) {
  slot->state.store(state, std::memory_order_release);
}

bool IsOf(const EventSlot& slot, uint64_t context_id) {
  return slot.context_id.load(std::memory_order_relaxed) == context_id;
}

// Returns an idle event of the context, or NULL. Ids are dense, so the search for each context
// starts at a different slot.
DLBRIDGE_INLINE EventSlot* FindIdle(uint64_t context_id) {
  for (uint64_t i = 0; i < kSlots; ++i) {
    EventSlot* slot = &g_slots[(context_id + i) % kSlots];
    if (IsOf(*slot, context_id) && Claim(slot, kIdle)) {
      if (DLBRIDGE_LIKELY(IsOf(*slot, context_id))) {
        return slot;
      }
      Return(slot, kIdle);
    }
  }
  return nullptr;
}

EventSlot* FindEmpty(uint64_t context_id) {
  for (uint64_t i = 0; i < kSlots; ++i) {
    EventSlot* slot = &g_slots[(context_id + i) % kSlots];
    if (Claim(slot, kEmpty)) {
      return slot;
    }
  }
  return nullptr;
}

// A context that was destroyed took its events along. Its handle may belong to another context now.
bool IsStale(const EventSlot& slot) {
  uint64_t id = 0;
  return IdOf(slot.context, &id, nullptr) != DLBRIDGE_OK || !IsOf(slot, id);
}

EventSlot* FindStale() {
  for (EventSlot& slot : g_slots) {
    if (Claim(&slot, kIdle)) {
      if (IsStale(slot)) {
        return &slot;
      }
      Return(&slot, kIdle);
    }
  }
  return nullptr;
}

DLBridgeStatus MakeEvent(Event* out, DLBridgeError* error) {
  return WhileCapturing(error, [&] {
    return Check(g_cuda.driver.event_create(out, kEventDisableTiming), "cuEventCreate", error);
  });
}

DLBRIDGE_COLD DLBridgeStatus MakeLoan(Context context, uint64_t context_id, EventLoan* out,
                                      DLBridgeError* error) {
  const bool pooled = g_cuda.driver.ctx_get_id != nullptr;
  EventSlot* slot = pooled ? FindEmpty(context_id) : nullptr;
  slot = pooled && slot == nullptr ? FindStale() : slot;
  Event event = nullptr;
  const DLBridgeStatus status = MakeEvent(&event, error);
  if (status != DLBRIDGE_OK) {
    if (event != nullptr) {
      g_cuda.driver.event_destroy(event);
    }
    if (slot != nullptr) {
      Return(slot, kEmpty);
    }
    return status;
  }
  if (slot != nullptr) {
    slot->context_id.store(context_id, std::memory_order_relaxed);
    slot->context = context;
    slot->event = event;
  }
  *out = {event, slot};
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus TakeEvent(Context context, EventLoan* out, DLBridgeError* error) {
  uint64_t id = 0;
  DLBRIDGE_TRY(IdOf(context, &id, error));
  EventSlot* slot = DLBRIDGE_LIKELY(g_cuda.driver.ctx_get_id != nullptr) ? FindIdle(id) : nullptr;
  if (DLBRIDGE_UNLIKELY(slot == nullptr)) {
    return MakeLoan(context, id, out, error);
  }
  *out = {slot->event, slot};
  return DLBRIDGE_OK;
}

DLBridgeStatus GiveEvent(const EventLoan& loan, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(loan.slot != nullptr)) {
    Return(loan.slot, kIdle);
    return DLBRIDGE_OK;
  }
  return Check(g_cuda.driver.event_destroy(loan.event), "cuEventDestroy", error);
}

}  // namespace dlbridge::cuda
