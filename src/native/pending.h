// SPDX-License-Identifier: Apache-2.0
// Tensors that the library holds until streams have done the work that uses them.
//
// The deleters run on a thread that calls one of the functions for such tensors, outside all locks:
// on a driver's own thread a deleter could not call the driver.
#ifndef DLBRIDGE_SRC_NATIVE_PENDING_H_
#define DLBRIDGE_SRC_NATIVE_PENDING_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "native/backend.h"

namespace dlbridge {

// A held tensor of either kind.
struct HeldTensor {
  void* tensor;
  DLBridgeKind kind;
};

// Up to two tensors and the marks of the work that uses them. The marks follow the struct.
struct Pending {
  Pending* next;
  Pending* previous;
  uint64_t ready;   // 1: it is in the list of entries without marks
  uint64_t number;  // in the order in which AddPending was called
  uint64_t taken;   // 1: a thread looks at it without the lock
  HeldTensor tensors[2];
  uint32_t tensor_count;
  uint32_t mark_count;

  StreamMark* marks() { return reinterpret_cast<StreamMark*>(this + 1); }
};
static_assert(sizeof(Pending) % alignof(StreamMark) == 0, "the marks are aligned");

// An empty struct with room for `marks` marks; NULL if there is no memory.
Pending* MakePending(size_t marks);

inline void Hold(void* tensor, DLBridgeKind kind, Pending* pending) {
  pending->tensors[pending->tensor_count++] = {tensor, kind};
}

// Frees the marks and the struct; the tensors stay the caller's.
void DiscardPending(Pending* pending);

// As DiscardPending, and releases the tensors.
void ReleasePending(Pending* pending);

// Holds the tensors until all marks are reached. Cannot fail.
void AddPending(Pending* pending);

// Deleters that run in one of the following functions may call these functions again. Such a nested
// call releases nothing, so that the stack does not grow with the number of tensors: the outer call
// releases them.

// Releases some of the tensors whose marks are reached. Queries at most one mark that is not
// reached.
void PollPending();

// Releases tensors whose marks are reached. With `wait`, first waits for all marks held now,
// including those that another thread is checking. If a driver fails, the tensor stays held; the
// function continues with the others and returns the first failure. `*left` receives the number of
// tensors that are held or are being released.
DLBridgeStatus CollectPending(bool wait, size_t* left, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_PENDING_H_
