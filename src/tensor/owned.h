// SPDX-License-Identifier: Apache-2.0
// Checks that a dlbridge-owned struct is unchanged: its owner may set READ_ONLY and nothing else.
#ifndef DLBRIDGE_SRC_TENSOR_OWNED_H_
#define DLBRIDGE_SRC_TENSOR_OWNED_H_

#include "describe/boundary.h"
#include "tensor/node.h"
#include "validate/rules.h"

namespace dlbridge {

// True if ndim and the arrays of a struct are still those of its node.
DLBRIDGE_INLINE bool HasOwnArrays(Node* node, const DLTensor& tensor) {
  return tensor.ndim == node->ndim && tensor.shape == node->shape() &&
         tensor.strides == node->strides();
}

// For flags that differ from the recorded ones. If only READ_ONLY was added, records it, so that it
// binds, and returns true; false for any other difference.
DLBRIDGE_COLD bool AddsReadOnly(Node* node, uint64_t flags);

// True if the version and the flags are the recorded ones, except for an added READ_ONLY.
DLBRIDGE_INLINE bool HasOwnFlags(Node* node, uint64_t flags, uint32_t minor) {
  return minor == node->minor &&
         (DLBRIDGE_LIKELY(flags == Load(&node->flags)) || AddsReadOnly(node, flags));
}

DLBRIDGE_COLD DLBridgeStatus RejectChanged(Node* node, const DLTensor& tensor, uint64_t flags,
                                           DLPackVersion label, DLBridgeError* error);

DLBRIDGE_INLINE DLBridgeStatus CheckOwned(Node* node, const Subject& subject,
                                          DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(HasOwnArrays(node, subject.tensor) &&
                      HasOwnFlags(node, subject.flags, subject.label.minor))) {
    return DLBRIDGE_OK;
  }
  return RejectChanged(node, subject.tensor, subject.flags, subject.label, error);
}

// A legacy struct has neither flags nor version, so only ndim and the arrays can be checked.
DLBRIDGE_INLINE DLBridgeStatus CheckOwnedLegacy(Node* node, const DLTensor& tensor,
                                                DLBridgeError* error) {
  return DLBRIDGE_LIKELY(HasOwnArrays(node, tensor))
             ? DLBRIDGE_OK
             : RejectChanged(node, tensor, node->flags, {kMajor, node->minor}, error);
}

// Loads a versioned tensor, foreign or dlbridge-owned.
DLBRIDGE_INLINE DLBridgeStatus LoadVersioned(const DLManagedTensorVersioned& tensor, Subject* out,
                                             DLBridgeError* error) {
  const DLPackVersion label = LoadVersion(tensor.version);
  DLBRIDGE_TRY(CheckMajor(label, error));
  *out = VersionedSubject(tensor, label);
  Node* node = OwnNode(&tensor);
  return node != nullptr ? CheckOwned(node, *out, error) : DLBRIDGE_OK;
}

// The node of a dlbridge-owned tensor that a conversion may replace; NULL for others. A tensor in
// storage is treated as a foreign one, so that the storage stays in use until the result is
// released.
template <class Managed>
DLBRIDGE_INLINE Node* HeapNode(const Managed* tensor) {
  Node* node = OwnNode(tensor);
  return node != nullptr && !node->in_storage ? node : nullptr;
}

// For a tensor that is not dlbridge-owned (NULL), or is in storage.
DLBRIDGE_COLD DLBridgeStatus RejectSharing(const Node* node, DLBridgeError* error);

// Finds the node of a tensor that can have a second owner.
DLBRIDGE_INLINE DLBridgeStatus FindSharableNode(const DLManagedTensorVersioned* tensor, Node** out,
                                                DLBridgeError* error) {
  Node* node = OwnNode(tensor);
  if (DLBRIDGE_UNLIKELY(node == nullptr || node->in_storage)) {
    const DLBridgeStatus status = RejectSharing(node, error);
    if (status == DLBRIDGE_OK) {
      __builtin_unreachable();  // it rejects
    }
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_OWNED_H_
