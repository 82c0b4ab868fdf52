// SPDX-License-Identifier: Apache-2.0
// Events of CUDA for hand-offs and marks, kept for reuse.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_

#include <atomic>
#include <cstdint>

#include "device/cuda/driver.h"
#include "dlbridge/dlbridge.h"
#include "native/backend.h"

namespace dlbridge::cuda {

// States of a slot in a table of events. The thread that makes a slot busy owns it until it returns
// the slot.
enum : uint32_t { kEmpty = 0, kBusy = 1, kIdle = 2 };

template <class Slot>
bool Claim(Slot* slot, uint32_t from) {
  return slot->state.load(std::memory_order_relaxed) == from &&
         slot->state.compare_exchange_strong(from, kBusy, std::memory_order_acquire,
                                             std::memory_order_relaxed);
}

template <class Slot>
void Return(Slot* slot, uint32_t state) {
  slot->state.store(state, std::memory_order_release);
}

struct EventSlot;

// An event that no other thread uses until it is returned.
struct EventLoan {
  Event event;
  EventSlot* slot;  // NULL: the pool has no room for the event
};

// Takes an event of `context`, which is current.
DLBridgeStatus TakeEvent(Context context, EventLoan* out, DLBridgeError* error);

// Returns the event as soon as the wait for it is queued. A wait refers to the latest record before
// it; later records do not change that.
DLBridgeStatus GiveEvent(const EventLoan& loan, DLBridgeError* error);

// Marks the work of a stream of `context`, which is current, in the relaxed capture mode.
DLBridgeStatus MarkStream(Context context, Stream stream, StreamMark* out, DLBridgeError* error);

}  // namespace dlbridge::cuda

#endif  // DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_
