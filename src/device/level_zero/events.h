// SPDX-License-Identifier: Apache-2.0
// Level Zero's events, kept for reuse: an event can be signalled once, then it must be reset.
#ifndef DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_

#include <atomic>
#include <cstdint>

#include "device/level_zero/internal.h"

namespace dlbridge::level_zero {

// A closed list with one barrier, for queues that accept only lists. It is executed repeatedly.
struct BarrierList {
  List list;
  Device device;
  uint32_t ordinal;
};

// Two events of one pool: the producer signals the first, the consumer the second after it has
// waited for the first. Index 0 is the producer's everywhere.
struct EventPair {
  std::atomic<uint32_t> state;
  uint32_t signalled;  // how many of the events have been enqueued to be signalled
  Event events[2];
  BarrierList lists[2];
};

// Takes an unused pair of `context`, with both events reset. `entry` distinguishes contexts that
// had the same handle at different times: the id of the context's entry in the table, or 0.
DLBridgeStatus TakePair(uint64_t context, uint64_t entry, EventPair** out, DLBridgeError* error);

// Returns a pair of which the first `signalled` events have been enqueued to be signalled.
void ReturnPair(EventPair* pair, uint32_t signalled);

// Returns a pair whose first event was signalled and waited for, and resets the event.
DLBridgeStatus ReturnSignalled(EventPair* pair, DLBridgeError* error);

// The id of the entry of a context, or 0.
uint64_t EntryOf(DLDevice device, uint64_t context);

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_
