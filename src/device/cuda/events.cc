// SPDX-License-Identifier: Apache-2.0
// The pool is an array of slots. The thread that sets a slot's state to kBusy owns the slot and
// alone writes to it. The pool is lock-free.
#include "device/cuda/events.h"

#include <atomic>

#include "device/cuda/internal.h"

namespace dlbridge::cuda {

// Each slot has its own cache line, so that threads do not share lines.
struct alignas(64) EventSlot {
  std::atomic<uint32_t> state;
  std::atomic<uint64_t> context_id;  // written while the slot is busy, as is the context
  std::atomic<Context> context;
  Event event;
};

namespace {

// The number of events that are kept. Further hand-offs create an event for one use.
constexpr uint64_t kSlots = 64;
EventSlot g_slots[kSlots];

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

// A context's events are destroyed with it, and a destroyed context must not be queried. If another
// context now has the handle, the slot's context no longer exists.
bool IsStale(const EventSlot& slot, Context context, uint64_t context_id) {
  return slot.context.load(std::memory_order_relaxed) == context && !IsOf(slot, context_id);
}

EventSlot* FindStale(Context context, uint64_t context_id) {
  for (EventSlot& slot : g_slots) {
    if (IsStale(slot, context, context_id) && Claim(&slot, kIdle)) {
      if (DLBRIDGE_LIKELY(IsStale(slot, context, context_id))) {
        return &slot;
      }
      Return(&slot, kIdle);
    }
  }
  return nullptr;
}

// A slot for an event of the context, or NULL.
EventSlot* FindRoom(Context context, uint64_t context_id) {
  if (g_cuda.driver.ctx_get_id == nullptr) {
    return nullptr;
  }
  EventSlot* slot = FindStale(context, context_id);
  return slot != nullptr ? slot : FindEmpty(context_id);
}

void Fill(EventSlot* slot, Context context, uint64_t context_id, Event event) {
  slot->context_id.store(context_id, std::memory_order_relaxed);
  slot->context.store(context, std::memory_order_relaxed);
  slot->event = event;
}

DLBRIDGE_COLD DLBridgeStatus MakeLoan(Context context, uint64_t context_id, EventLoan* out,
                                      DLBridgeError* error) {
  EventSlot* slot = FindRoom(context, context_id);
  Event event = nullptr;
  const DLBridgeStatus status =
      Check(g_cuda.driver.event_create(&event, kEventDisableTiming), "cuEventCreate", error);
  if (slot != nullptr && status != DLBRIDGE_OK) {
    Return(slot, kEmpty);
  } else if (slot != nullptr) {
    Fill(slot, context, context_id, event);
  }
  *out = {event, status == DLBRIDGE_OK ? slot : nullptr};
  return status;
}

DLBridgeStatus TakeWhileRelaxed(Context context, EventLoan* out, DLBridgeError* error) {
  uint64_t id = 0;
  DLBRIDGE_TRY(IdOf(context, &id, error));
  EventSlot* slot = DLBRIDGE_LIKELY(g_cuda.driver.ctx_get_id != nullptr) ? FindIdle(id) : nullptr;
  if (DLBRIDGE_UNLIKELY(slot == nullptr)) {
    return MakeLoan(context, id, out, error);
  }
  *out = {slot->event, slot};
  return DLBRIDGE_OK;
}

DLBridgeStatus DestroyEvent(Event event, DLBridgeError* error) {
  return Check(g_cuda.driver.event_destroy(event), "cuEventDestroy", error);
}

// Puts an event that no slot has into the pool; false if there is no room.
bool Keep(Context context, Event event) {
  uint64_t id = 0;
  if (IdOf(context, &id, nullptr) != DLBRIDGE_OK) {
    return false;
  }
  EventSlot* slot = FindRoom(context, id);
  if (slot != nullptr) {
    Fill(slot, context, id, event);
    Return(slot, kIdle);
  }
  return slot != nullptr;
}

// StreamMark::state, by index. A mark owns its event; no slot has it.
enum : uint32_t { kMarkEvent, kMarkContext, kMarkWitness, kMarkBuffer };

Event EventOf(const StreamMark& mark) {
  return reinterpret_cast<Event>(static_cast<uintptr_t>(mark.state[kMarkEvent]));
}
Context ContextOf(const StreamMark& mark) {
  return reinterpret_cast<Context>(static_cast<uintptr_t>(mark.state[kMarkContext]));
}
Witness WitnessOf(const StreamMark& mark) {
  return {mark.state[kMarkWitness], mark.state[kMarkBuffer]};
}

using EventCall = Result(DLBRIDGE_CUDA_CALL*)(Event);

// Calls `ask` with the event of a mark whose context is alive. NOT_READY is not a failure.
DLBridgeStatus AskEvent(const StreamMark& mark, EventCall ask, const char* call, Result* result,
                        DLBridgeError* error) {
  return InContext(ContextOf(mark), error, [&] {
    return WhileCapturing(error, [&] {
      *result = ask(EventOf(mark));
      return *result == kNotReady ? DLBRIDGE_OK : Check(*result, call, error);
    });
  });
}

DLBridgeStatus AskMark(const StreamMark& mark, EventCall ask, const char* call, bool* over,
                       DLBridgeError* error) {
  bool alive = false;
  Result result = kSuccess;
  DLBRIDGE_TRY(AskAlive(WitnessOf(mark), &alive, error));
  if (alive) {
    DLBRIDGE_TRY(AskEvent(mark, ask, call, &result, error));
  }
  *over = result != kNotReady;
  return DLBRIDGE_OK;
}

// Work that a fault has ended is over.
DLBridgeStatus Settle(const StreamMark& mark, EventCall ask, const char* call, bool* over,
                      DLBridgeError* error) {
  DLBridgeError failure;
  const DLBridgeStatus status = AskMark(mark, ask, call, over, &failure);
  if (status == DLBRIDGE_ERROR_DRIVER && IsFault(failure.native_code)) {
    *over = true;
    return DLBRIDGE_OK;
  }
  if (status != DLBRIDGE_OK && error != nullptr) {
    *error = failure;
  }
  return status;
}

}  // namespace

DLBridgeStatus TakeEvent(Context context, EventLoan* out, DLBridgeError* error) {
  return WhileCapturing(error, [&] { return TakeWhileRelaxed(context, out, error); });
}

DLBridgeStatus GiveEvent(const EventLoan& loan, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(loan.slot != nullptr)) {
    Return(loan.slot, kIdle);
    return DLBRIDGE_OK;
  }
  return WhileCapturing(error, [&] { return DestroyEvent(loan.event, error); });
}

DLBridgeStatus MarkStream(Context context, Stream stream, StreamMark* out, DLBridgeError* error) {
  const Witness witness = WitnessOf(context);
  EventLoan loan = {nullptr, nullptr};
  DLBRIDGE_TRY(TakeWhileRelaxed(context, &loan, error));
  const DLBridgeStatus status =
      Check(g_cuda.driver.event_record(loan.event, stream), "cuEventRecord", error);
  if (status != DLBRIDGE_OK) {
    GiveEvent(loan, nullptr);
    return status;
  }
  if (loan.slot != nullptr) {
    Return(loan.slot, kEmpty);
  }
  *out = {DLBRIDGE_BACKEND_CUDA,
          {reinterpret_cast<uintptr_t>(loan.event), reinterpret_cast<uintptr_t>(context),
           witness.address, witness.buffer}};
  return DLBRIDGE_OK;
}

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(ContextOfStream(stream, argument, &context, error));
  *out = {};
  const DLBridgeStatus status = InContext(context, error, [&] {
    DLBRIDGE_TRY(CheckStream(stream, argument, error));
    return WhileCapturing(error, [&] { return MarkStream(context, HandleOf(stream), out, error); });
  });
  if (status != DLBRIDGE_OK) {
    MarkFree(*out);
    *out = {};
  }
  return status;
}

DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error) {
  return Settle(mark, g_cuda.driver.event_query, "cuEventQuery", over, error);
}

DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error) {
  bool over = false;
  return Settle(mark, g_cuda.driver.event_synchronize, "cuEventSynchronize", &over, error);
}

// There is no caller to report a failure to. An event may be recorded again before its work is
// over.
void MarkFree(const StreamMark& mark) {
  bool alive = false;
  if (EventOf(mark) == nullptr || !IsStarted(kCudaBackend) ||
      AskAlive(WitnessOf(mark), &alive, nullptr) != DLBRIDGE_OK || !alive) {
    return;
  }
  InContext(ContextOf(mark), nullptr, [&] {
    return WhileCapturing(nullptr, [&] {
      return Keep(ContextOf(mark), EventOf(mark)) ? DLBRIDGE_OK
                                                  : DestroyEvent(EventOf(mark), nullptr);
    });
  });
}

}  // namespace dlbridge::cuda
