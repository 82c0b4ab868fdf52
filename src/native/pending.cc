// SPDX-License-Identifier: Apache-2.0
#include "native/pending.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "describe/boundary.h"
#include "native/fork.h"
#include "support/lock.h"

namespace dlbridge {
namespace {

// A ring: a thread takes the first entry, looks at it without the lock, and appends it if its work
// is not over.
struct Queue {
  Lock lock;
  Pending* first = nullptr;
  Pending* last = nullptr;
  size_t queued = 0;            // entries in the list
  std::atomic<size_t> held{0};  // entries in the list, and those that a thread has taken
};
Queue g_queue;

void Append(Pending* pending) {
  pending->next = nullptr;
  const Locked locked(&g_queue.lock);
  (g_queue.first == nullptr ? g_queue.first : g_queue.last->next) = pending;
  g_queue.last = pending;
  ++g_queue.queued;
}

// NULL if the list is empty.
Pending* TakeFirst() {
  const Locked locked(&g_queue.lock);
  Pending* pending = g_queue.first;
  if (pending != nullptr) {
    g_queue.first = pending->next;
    g_queue.last = g_queue.first != nullptr ? g_queue.last : nullptr;
    --g_queue.queued;
  }
  return pending;
}

size_t Queued() {
  const Locked locked(&g_queue.lock);
  return g_queue.queued;
}

// Frees the last mark of an entry.
void DropMark(Pending* pending) {
  const StreamMark& mark = pending->marks()[pending->mark_count - 1];
  FindBackend(mark.backend)->mark_free(mark);
  --pending->mark_count;
}

// Frees the marks that are over, from the last to the first; stops at one that is not.
DLBridgeStatus Examine(Pending* pending, bool wait, bool* over, DLBridgeError* error) {
  *over = false;
  while (pending->mark_count != 0) {
    const StreamMark& mark = pending->marks()[pending->mark_count - 1];
    const Backend& backend = *FindBackend(mark.backend);
    bool done = true;
    DLBRIDGE_TRY(wait ? backend.mark_wait(mark, error) : backend.mark_query(mark, &done, error));
    if (!done) {
      return DLBRIDGE_OK;
    }
    DropMark(pending);
  }
  *over = true;
  return DLBRIDGE_OK;
}

// A deleter may call these functions again: the entry is in no list meanwhile.
void Finish(Pending* pending) {
  ReleasePending(pending);
  g_queue.held.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void ResetPendingInChild() {
#ifndef _WIN32
  g_queue.lock.ResetInChild();
  g_queue.first = nullptr;
  g_queue.last = nullptr;
  g_queue.queued = 0;
  g_queue.held.store(0, std::memory_order_relaxed);
#endif
}

Pending* MakePending(size_t marks) {
  constexpr size_t kMost = (SIZE_MAX - sizeof(Pending)) / sizeof(StreamMark);
  if (marks > kMost) {
    return nullptr;
  }
  auto* pending = static_cast<Pending*>(std::malloc(sizeof(Pending) + marks * sizeof(StreamMark)));
  if (pending != nullptr) {
    std::memset(pending, 0, sizeof *pending);
  }
  return pending;
}

void DiscardPending(Pending* pending) {
  while (pending->mark_count != 0) {
    DropMark(pending);
  }
  std::free(pending);
}

void ReleasePending(Pending* pending) {
  HeldTensor tensors[2];
  std::memcpy(tensors, pending->tensors, sizeof tensors);
  const uint32_t count = pending->tensor_count;
  DiscardPending(pending);
  for (uint32_t i = 0; i < count; ++i) {
    dlbridge_release(tensors[i].tensor, tensors[i].kind);
  }
}

void AddPending(Pending* pending) {
  g_queue.held.fetch_add(1, std::memory_order_relaxed);
  Append(pending);
}

// Each call that adds an entry polls, so that the list stays short: several entries that are over,
// and one that is not, which goes to the end so that a slow stream does not hide the others.
void PollPending() {
  constexpr int kMost = 8;
  for (int i = 0; i < kMost; ++i) {
    Pending* pending = TakeFirst();
    if (pending == nullptr) {
      return;
    }
    bool over = false;
    Examine(pending, false, &over, nullptr);
    if (!over) {
      return Append(pending);
    }
    Finish(pending);
  }
}

DLBridgeStatus CollectPending(bool wait, size_t* left, DLBridgeError* error) {
  DLBridgeStatus first = DLBRIDGE_OK;
  // Entries that are added meanwhile are left for the next call.
  for (size_t count = Queued(); count != 0; --count) {
    Pending* pending = TakeFirst();
    if (pending == nullptr) {
      break;
    }
    bool over = false;
    const DLBridgeStatus status =
        Examine(pending, wait, &over, first == DLBRIDGE_OK ? error : nullptr);
    first = first == DLBRIDGE_OK ? status : first;
    if (over) {
      Finish(pending);
    } else {
      Append(pending);
    }
  }
  *left = g_queue.held.load(std::memory_order_relaxed);
  return first;
}

}  // namespace dlbridge
