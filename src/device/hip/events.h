// SPDX-License-Identifier: Apache-2.0
// Events of HIP for hand-offs and marks, kept for the next one.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_HIP_EVENTS_H_

#include "device/hip/internal.h"

namespace dlbridge::hip {

// An event of a device that no other thread uses meanwhile.
//
// A wait keeps the state that the event had when the wait was enqueued, so the event may be
// recorded again at once. The runtimes do not keep this promise for an event that a graph has
// captured: such an event is used once.
DLBridgeStatus TakeEvent(int32_t device, bool capturing, DeviceScope* scope, Event* event,
                         DLBridgeError* error);

// Returns the event to the pool if it is reusable and the pool has room, else destroys it.
void GiveEvent(int32_t device, bool reusable, Event event);

// Waits for an event by querying it, in the RELAXED capture mode.
Result PollEvent(Event event);

}  // namespace dlbridge::hip

#endif  // DLBRIDGE_SRC_DEVICE_HIP_EVENTS_H_
