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
  List copy;     // the list of a copy, executed before the first event is signalled; or NULL
  uint64_t pin;  // an entry that stays retained until that event is signalled; or 0
};

// The entry of a context in the table. Destroying a context destroys its events and lists, so they
// must not be used once the entry is gone.
struct Owner {
  uint64_t entry;  // its id, which distinguishes contexts that had one handle at different times;
                   // or 0: the context has no entry
  bool lasts;      // enumerated: the context is never destroyed
  bool waits;      // has a release callback, which runs when nothing retains the entry
};
Owner OwnerOf(DLDevice device, uint64_t context);

// Takes an unused pair of `context`, with both events reset. `entry` is that of its owner.
DLBridgeStatus TakePair(uint64_t context, uint64_t entry, EventPair** out, DLBridgeError* error);

// Enqueues a signal of the pair's first event after all work that is on the stream now.
DLBridgeStatus SignalEnd(const DLBridgeStream& stream, const char* argument, EventPair* pair,
                         DLBridgeError* error);

// Makes a mark of a pair whose first event has been enqueued to be signalled. The pair belongs to
// the mark, with its `copy`.
void MakeMark(EventPair* pair, const Owner& owner, StreamMark* out);

// Returns a pair of which the first `signalled` events have been enqueued to be signalled.
void ReturnPair(EventPair* pair, uint32_t signalled);

// Returns a pair whose first event was signalled and waited for, and resets the event.
DLBridgeStatus ReturnSignalled(EventPair* pair, DLBridgeError* error);

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_EVENTS_H_
