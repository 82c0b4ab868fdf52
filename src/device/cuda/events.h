// SPDX-License-Identifier: Apache-2.0
// Events of CUDA for hand-offs and marks, kept for reuse.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_

#include <cstdint>

#include "device/cuda/driver.h"
#include "dlbridge/dlbridge.h"
#include "native/backend.h"

namespace dlbridge::cuda {

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
