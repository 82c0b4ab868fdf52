// SPDX-License-Identifier: Apache-2.0
// Level Zero's events, kept for use again: they are one-shot until they are reset.
#ifndef DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_

#include <atomic>
#include <cstdint>

#include "device/level_zero/internal.h"

namespace dlbridge::level_zero {

// A closed list of one barrier, for queues that take only lists. It is executed again as it is.
struct BarrierList {
  List list;
  Device device;
  uint32_t ordinal;
};

// Two events of one pool: what the producer signals, and what the consumer signals once it has
// waited for that. Index 0 is the producer's everywhere.
struct EventPair {
  std::atomic<uint32_t> state;
  uint32_t signalled;  // how many of the events are signalled once the last of them is
  Event events[2];
  BarrierList lists[2];
};

// A pair of `context` that nobody uses, both events reset. `entry` tells contexts apart that came
// to one handle one after the other: the id of the context's entry in the table, or 0.
DLBridgeStatus TakePair(uint64_t context, uint64_t entry, EventPair** out, DLBridgeError* error);

// Gives one back of which the first `signalled` events have been enqueued to be signalled.
void ReturnPair(EventPair* pair, uint32_t signalled);

// The same, of which the first event was waited for: resets it.
DLBridgeStatus ReturnSignalled(EventPair* pair, DLBridgeError* error);

// The id of the entry of a context, or 0.
uint64_t EntryOf(DLDevice device, uint64_t context);

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_
