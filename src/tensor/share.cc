// SPDX-License-Identifier: Apache-2.0
// Makes one more owner of the same data, with the same layout.
#include <cstring>

#include "describe/boundary.h"
#include "tensor/owned.h"

namespace dlbridge {
namespace {

// Shape and strides are one block in every node, so one loop over pairs of numbers copies both.
DLBRIDGE_INLINE void CopyArrays(const int64_t* from, int32_t ndim, int64_t* to) {
  const int64_t* end = from + 2 * static_cast<ptrdiff_t>(ndim);
  for (; from != end; from += 2, to += 2) {
    std::memcpy(to, from, 2 * sizeof(int64_t));
  }
}

// True if the struct, here its copy in a new node, is still as `sibling` recorded it.
DLBRIDGE_INLINE bool IsUnchanged(Node* sibling, const DLManagedTensorVersioned& copy) {
  return HasOwnArrays(sibling, copy.dl_tensor) && copy.version.major == kMajor &&
         HasOwnFlags(sibling, copy.flags, copy.version.minor);
}

DLBRIDGE_NOINLINE DLBridgeStatus DiscardShare(Node* sibling, Node* node, DLBridgeError* error) {
  const DLManagedTensorVersioned copy = node->versioned;
  DiscardNode(node);
  return RejectChanged(sibling, copy.dl_tensor, copy.flags, copy.version, error);
}

DLBRIDGE_INLINE DLBridgeStatus Share(const DLManagedTensorVersioned* tensor,
                                     DLManagedTensorVersioned** out, DLBridgeError* error) {
  Node* sibling = nullptr;
  DLBRIDGE_TRY(FindSharableNode(tensor, &sibling, error));
  const int32_t ndim = sibling->ndim;
  Node* node = AllocateNode(ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  // The copy is what is checked and used: the owner may write to the struct meanwhile.
  std::memcpy(&node->versioned, tensor, sizeof *tensor);
  if (DLBRIDGE_UNLIKELY(!IsUnchanged(sibling, node->versioned))) {
    return DiscardShare(sibling, node, error);
  }
  // If the owner has set READ_ONLY, the share is READ_ONLY, too.
  InitShare(node, *sibling, node->versioned.flags);
  CopyArrays(sibling->shape(), ndim, node->shape());
  node->versioned.manager_ctx = node;
  node->versioned.deleter = DeleteVersioned;
  node->versioned.dl_tensor.shape = node->shape();
  node->versioned.dl_tensor.strides = node->strides();
  JoinRoot(node, sibling);
  *out = &node->versioned;
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
