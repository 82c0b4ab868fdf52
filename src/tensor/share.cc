// SPDX-License-Identifier: Apache-2.0
// Makes one more owner of the same data, with the same layout.
#include <cstring>

#include "describe/boundary.h"
#include "tensor/owned.h"

namespace dlbridge {
namespace {

// Read again after the allocation, during which fewer values are kept then. It never changes.
DLBRIDGE_INLINE size_t NdimOf(const Node& node) {
  size_t ndim = static_cast<uint32_t>(Load(&node.ndim));
  DLBRIDGE_FORGET(ndim);
  return ndim;
}

// Shape and strides are one block in every node, so one loop over pairs of numbers copies both.
DLBRIDGE_INLINE void CopyArrays(const int64_t* from, size_t ndim, int64_t* to) {
  constexpr size_t kPair = 2 * sizeof(int64_t);
  for (size_t end = ndim * kPair; end != 0; end -= kPair) {
    DLBRIDGE_FORGET(end);
    std::memcpy(EntryBefore(to, end) - 1, EntryBefore(from, end) - 1, kPair);
  }
}

// True if the struct, here its copy in a new node, is as `sibling` recorded it; the flags aside.
DLBRIDGE_INLINE bool IsUnchanged(const DLManagedTensorVersioned& copy, Node* sibling, size_t ndim) {
  const DLTensor& tensor = copy.dl_tensor;
  return tensor.ndim == static_cast<int32_t>(ndim) && tensor.shape == sibling->shape() &&
         tensor.strides == sibling->shape() + ndim && copy.version.major == kMajor &&
         copy.version.minor == sibling->minor;
}

// Completes a node whose struct is a copy of the sibling's.
DLBRIDGE_INLINE DLManagedTensorVersioned* JoinSibling(Node* node, Node* sibling, size_t ndim,
                                                      uint64_t flags) {
  InitShare(node, *sibling, static_cast<int32_t>(ndim), flags);
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
  const size_t ndim = NdimOf(*sibling);
  if (!IsUnchanged(copy, sibling, ndim) || !HasOwnFlags(sibling, copy.flags, copy.version.minor)) {
    DiscardNode(node);
    return RejectChanged(sibling, copy.dl_tensor, copy.flags, copy.version, error);
  }
  // If the owner has set READ_ONLY, the share is READ_ONLY, too.
  *out = JoinSibling(node, sibling, ndim, copy.flags);
  return DLBRIDGE_OK;
}

// A function of its own, to which dlbridge_share jumps: no value of its checks is kept during the
// allocation.
DLBRIDGE_NOINLINE DLBridgeStatus ShareNode(Node* sibling, DLManagedTensorVersioned** out,
                                           DLBridgeError* error) {
  Node* node = AllocateNode(sibling->ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  // The copy is what is checked and used: the owner may write to the struct meanwhile.
  std::memcpy(&node->versioned, &sibling->versioned, sizeof node->versioned);
  const size_t ndim = NdimOf(*sibling);
  const uint64_t flags = Load(&sibling->flags);
  if (DLBRIDGE_UNLIKELY(!IsUnchanged(node->versioned, sibling, ndim) ||
                        node->versioned.flags != flags)) {
    return ShareChanged(node, sibling, out, error);
  }
  *out = JoinSibling(node, sibling, ndim, flags);
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned* tensor,
                              DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  dlbridge::Node* sibling = nullptr;
  DLBRIDGE_TRY(dlbridge::FindSharableNode(tensor, &sibling, error));
  return dlbridge::ShareNode(sibling, out, error);
}

}  // extern "C"
