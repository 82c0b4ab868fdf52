// SPDX-License-Identifier: Apache-2.0
#include "native/pending.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "describe/boundary.h"
#include "native/fork.h"
#include "support/lock.h"

namespace dlbridge {
namespace {

// A call that releases tensors, on its thread's stack.
struct Collector {
  const void* thread;
  Collector* next;
  bool again;  // a nested call has left tensors to this one
};

struct EntryList {
  Pending* first = nullptr;
  Pending* last = nullptr;
};

// All entries. A thread takes an entry, looks at it without the lock, and then removes it or moves
// it to the end of a list. A nested call that waits leaves entries without marks to the outer call:
// they have a list of their own, so that the next such call need not look at them again.
struct Queue {
  Lock lock;
  EntryList marked;
  EntryList ready;
  size_t count = 0;
  size_t releasing = 0;  // entries that left the list and whose deleters still run
  uint64_t newest = 0;   // number of the newest entry
  Collector* collectors = nullptr;
  Lock waiting;  // held while a thread waits for marks
};
Queue g_queue;

// Identifies the thread: its errno has an address of its own.
const void* ThisThread() { return &errno; }

// Registers a call that releases tensors.
class Collecting {
 public:
  Collecting() : self_{ThisThread(), nullptr, false} {
    const Locked locked(&g_queue.lock);
    for (Collector* one = g_queue.collectors; one != nullptr; one = one->next) {
      outer_ = one->thread == self_.thread ? one : outer_;
    }
    self_.next = g_queue.collectors;
    g_queue.collectors = &self_;
  }
  ~Collecting() {
    const Locked locked(&g_queue.lock);
    Collector** link = &g_queue.collectors;
    while (*link != &self_ && *link != nullptr) {
      link = &(*link)->next;
    }
    if (*link != nullptr) {  // the list is empty in a child that a deleter has forked
      *link = self_.next;
    }
  }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

  bool nested() const { return outer_ != nullptr; }
  // Only the thread itself reads and writes `again`.
  void LeaveToOuter() const { outer_->again = true; }
  bool TakeAgain() {
    const bool again = self_.again;
    self_.again = false;
    return again;
  }

 private:
  Collector self_;
  Collector* outer_ = nullptr;  // the outermost call of this thread
};

// The following three are called with the lock held.
EntryList* ListOf(const Pending& pending) {
  return pending.ready != 0 ? &g_queue.ready : &g_queue.marked;
}
void Link(Pending* pending) {
  pending->ready = pending->mark_count == 0 ? 1 : 0;
  EntryList* list = ListOf(*pending);
  pending->next = nullptr;
  pending->previous = list->last;
  (list->last == nullptr ? list->first : list->last->next) = pending;
  list->last = pending;
  ++g_queue.count;
}
void Unlink(Pending* pending) {
  EntryList* list = ListOf(*pending);
  (pending->previous == nullptr ? list->first : pending->previous->next) = pending->next;
  (pending->next == nullptr ? list->last : pending->next->previous) = pending->previous;
  --g_queue.count;
}

uint64_t Newest() {
  const Locked locked(&g_queue.lock);
  return g_queue.newest;
}

size_t Count() {
  const Locked locked(&g_queue.lock);
  return g_queue.count;
}

// Takes the first entry of a list up to `limit` that no thread has taken. Sets `*others` if a
// thread has taken one before it. The lock is held.
Pending* TakeFrom(const EntryList& list, uint64_t limit, bool* others) {
  for (Pending* one = list.first; one != nullptr; one = one->next) {
    if (one->number <= limit && one->taken == 0) {
      one->taken = 1;
      return one;
    }
    *others = *others || one->number <= limit;
  }
  return nullptr;
}

// Takes an entry up to `limit`, only one with marks if `marked`. NULL if there is none; `*others`
// is then true if a thread has taken one of them.
Pending* Take(uint64_t limit, bool marked, bool* others) {
  const Locked locked(&g_queue.lock);
  *others = false;
  Pending* ready = marked ? nullptr : TakeFrom(g_queue.ready, limit, others);
  return ready != nullptr ? ready : TakeFrom(g_queue.marked, limit, others);
}

// Gives an entry back. One that failed counts as new, so that a call does not take it again.
void PutBack(Pending* pending, bool failed) {
  const Locked locked(&g_queue.lock);
  Unlink(pending);
  Link(pending);
  pending->number = failed ? ++g_queue.newest : pending->number;
  pending->taken = 0;
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

// A deleter may call these functions again: the entry is in no list then.
void Finish(Pending* pending) {
  const uint32_t generation = ForkGeneration();
  {
    const Locked locked(&g_queue.lock);
    Unlink(pending);
    ++g_queue.releasing;
  }
  ReleasePending(pending);
  const Locked locked(&g_queue.lock);
  if (generation == ForkGeneration()) {  // a child starts anew
    --g_queue.releasing;
  }
}

size_t Held() {
  const Locked locked(&g_queue.lock);
  return g_queue.count + g_queue.releasing;
}

// Looks at each entry once.
DLBridgeStatus CollectOver(DLBridgeError* error) {
  DLBridgeStatus first = DLBRIDGE_OK;
  for (size_t count = Count(); count != 0; --count) {
    bool others = false;
    Pending* pending = Take(UINT64_MAX, false, &others);
    if (pending == nullptr) {
      break;
    }
    bool over = false;
    const DLBridgeStatus status =
        Examine(pending, false, &over, first == DLBRIDGE_OK ? error : nullptr);
    first = first == DLBRIDGE_OK ? status : first;
    if (over) {
      Finish(pending);
    } else {
      PutBack(pending, false);
    }
  }
  return first;
}

// Waits for one entry up to `limit`. One thread waits at a time; the others then find the entry
// done. Returns false if no entry is left, counting those that other threads are checking.
bool WaitForOne(uint64_t limit, bool release, DLBridgeStatus* first, DLBridgeError* error) {
  bool others = false;
  bool over = false;
  Pending* pending = nullptr;
  {
    const Locked waiting(&g_queue.waiting);
    pending = Take(limit, !release, &others);
    if (pending == nullptr) {
      return others;
    }
    const DLBridgeStatus status =
        Examine(pending, true, &over, *first == DLBRIDGE_OK ? error : nullptr);
    *first = *first == DLBRIDGE_OK ? status : *first;
  }
  if (over && release) {
    Finish(pending);
  } else {
    PutBack(pending, !over);
  }
  return true;
}

}  // namespace

void ResetPendingInChild() {
#ifndef _WIN32
  g_queue.lock.ResetInChild();
  g_queue.waiting.ResetInChild();
  g_queue.marked = EntryList();
  g_queue.ready = EntryList();
  g_queue.count = 0;
  g_queue.collectors = nullptr;
  g_queue.releasing = 0;
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
  const Locked locked(&g_queue.lock);
  pending->number = ++g_queue.newest;
  Link(pending);
}

// Each call that adds an entry polls, so that the list stays short. A poll releases several entries
// that are over, and stops at the first that is not. This entry moves to the end of the list, so
// that a slow stream does not hide the others.
void PollPending() {
  const Collecting collecting;
  constexpr int kMost = 8;
  for (int i = 0; i < kMost && !collecting.nested(); ++i) {
    bool others = false;
    Pending* pending = Take(UINT64_MAX, false, &others);
    if (pending == nullptr) {
      return;
    }
    bool over = false;
    Examine(pending, false, &over, nullptr);
    if (!over) {
      return PutBack(pending, false);
    }
    Finish(pending);
  }
}

DLBridgeStatus CollectPending(bool wait, size_t* left, DLBridgeError* error) {
  Collecting collecting;
  DLBridgeStatus first = DLBRIDGE_OK;
  if (wait) {
    uint64_t limit = Newest();
    while (WaitForOne(limit, !collecting.nested(), &first, error)) {
      limit = collecting.TakeAgain() ? Newest() : limit;
    }
  } else if (!collecting.nested()) {
    first = CollectOver(error);
  }
  if (collecting.nested()) {
    collecting.LeaveToOuter();
  }
  *left = Held();
  return first;
}

}  // namespace dlbridge
