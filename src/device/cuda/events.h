// SPDX-License-Identifier: Apache-2.0
// Events of CUDA for hand-offs, kept for the next one.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_

#include <cstdint>

#include "device/cuda/driver.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::cuda {

struct EventSlot;

// An event that nobody else uses meanwhile.
struct EventLoan {
  Event event;
  EventSlot* slot;  // NULL: the pool has no room for it
};

// An event of `context`, which is current.
DLBridgeStatus TakeEvent(Context context, EventLoan* out, DLBridgeError* error);

// Gives it back as soon as the wait for it is queued: a wait holds what was recorded last, and a
// later record does not change that.
DLBridgeStatus GiveEvent(const EventLoan& loan, DLBridgeError* error);

}  // namespace dlbridge::cuda

#endif  // DLBRIDGE_SRC_DEVICE_CUDA_EVENTS_H_
