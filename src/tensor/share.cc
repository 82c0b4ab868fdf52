// SPDX-License-Identifier: Apache-2.0
// Makes one more owner of the same data, with the same layout.
#include <cstring>

#include "describe/boundary.h"
#include "tensor/owned.h"

namespace dlbridge {
namespace {

// Shape and strides are one block in every node, so one loop over pairs of numbers copies both.
DLBRIDGE_INLINE void CopyArrays(const int64_t* from, int32_t ndim, int64_t* to) {
  constexpr size_t kPair = 2 * sizeof(int64_t);
  for (size_t end = 2 * BytesOfArray(ndim); end != 0; end -= kPair) {
    DLBRIDGE_FORGET(end);
    std::memcpy(EntryBefore(to, end) - 1, EntryBefore(from, end) - 1, kPair);
  }
}

// True if the struct, here its copy in a new node, is as `sibling` recorded it; the flags aside.
DLBRIDGE_INLINE bool IsUnchanged(const DLManagedTensorVersioned& copy, Node* sibling) {
  return HasOwnArrays(sibling, copy.dl_tensor) && copy.version.major == kMajor &&
         copy.version.minor == sibling->minor;
}

// Completes a node whose struct is a copy of the sibling's.
DLBRIDGE_INLINE DLManagedTensorVersioned* JoinSibling(Node* node, Node* sibling) {
  const int32_t ndim = sibling->ndim;
  // If the owner has set READ_ONLY, the share is READ_ONLY, too.
  InitShare(node, *sibling, ndim, node->versioned.flags);
  int64_t* shape = node->shape();
  CopyArrays(sibling->shape(), ndim, shape);
  node->versioned.manager_ctx = node;
  node->versioned.deleter = DeleteVersioned;
  node->versioned.dl_tensor.shape = shape;
  node->versioned.dl_tensor.strides = shape + ndim;
  JoinRoot(node, sibling);
  return &node->versioned;
}

// For a struct that differs from what `sibling` recorded: only READ_ONLY may have been added. It is
// a function of its own: compilers move the code after a call of a cold function out of the hot
// path.
DLBRIDGE_NOINLINE DLBridgeStatus ShareChanged(Node* node, Node* sibling,
                                              DLManagedTensorVersioned** out,
                                              DLBridgeError* error) {
  const DLManagedTensorVersioned copy = node->versioned;
  if (!IsUnchanged(copy, sibling) || !HasOwnFlags(sibling, copy.flags, copy.version.minor)) {
    DiscardNode(node);
    return RejectChanged(sibling, copy.dl_tensor, copy.flags, copy.version, error);
  }
  *out = JoinSibling(node, sibling);
  return DLBRIDGE_OK;
}

DLBRIDGE_INLINE DLBridgeStatus Share(const DLManagedTensorVersioned* tensor,
                                     DLManagedTensorVersioned** out, DLBridgeError* error) {
  Node* sibling = nullptr;
  DLBRIDGE_TRY(FindSharableNode(tensor, &sibling, error));
  Node* node = AllocateNode(sibling->ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  // The copy is what is checked and used: the owner may write to the struct meanwhile.
  std::memcpy(&node->versioned, tensor, sizeof *tensor);
  if (DLBRIDGE_UNLIKELY(!IsUnchanged(node->versioned, sibling) ||
                        node->versioned.flags != Load(&sibling->flags))) {
    return ShareChanged(node, sibling, out, error);
  }
  *out = JoinSibling(node, sibling);
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned* tensor,
                              DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  return dlbridge::Share(tensor, out, error);
}

}  // extern "C"
