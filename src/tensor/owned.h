// SPDX-License-Identifier: Apache-2.0
// What a dlbridge-owned struct still has to be: its owner may set READ_ONLY and nothing else.
#ifndef DLBRIDGE_SRC_TENSOR_OWNED_H_
#define DLBRIDGE_SRC_TENSOR_OWNED_H_

#include "describe/boundary.h"
#include "tensor/node.h"
#include "validate/rules.h"

namespace dlbridge {

// Do ndim and the arrays of a struct still belong to its node?
DLBRIDGE_INLINE bool HasOwnArrays(Node* node, const DLTensor& tensor) {
  return tensor.ndim == node->ndim && tensor.shape == node->shape() &&
         tensor.strides == node->strides();
}

// Flags that differ from those that were recorded: READ_ONLY may have been added, and is recorded
// now, so that it binds. False for any other difference.
DLBRIDGE_COLD bool AddsReadOnly(Node* node, uint64_t flags);

// Are version and flags those that were recorded, READ_ONLY aside?
DLBRIDGE_INLINE bool HasOwnFlags(Node* node, uint64_t flags, uint32_t minor) {
  return minor == node->minor &&
         (DLBRIDGE_LIKELY(flags == Load(&node->flags)) || AddsReadOnly(node, flags));
}

DLBRIDGE_COLD DLBridgeStatus RefuseChanged(Node* node, const DLTensor& tensor, uint64_t flags,
                                           DLPackVersion label, DLBridgeError* error);

DLBRIDGE_INLINE DLBridgeStatus CheckOwned(Node* node, const Subject& subject,
                                          DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(HasOwnArrays(node, subject.tensor) &&
                      HasOwnFlags(node, subject.flags, subject.label.minor))) {
    return DLBRIDGE_OK;
  }
  return RefuseChanged(node, subject.tensor, subject.flags, subject.label, error);
}

// Of a legacy tensor only the arrays can be checked: flags and version are the node's.
DLBRIDGE_INLINE DLBridgeStatus CheckOwnedLegacy(Node* node, const DLTensor& tensor,
                                                DLBridgeError* error) {
  return DLBRIDGE_LIKELY(HasOwnArrays(node, tensor))
             ? DLBRIDGE_OK
             : RefuseChanged(node, tensor, node->flags, {kMajor, node->minor}, error);
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

// The node of a tensor that conversions may take apart; one in storage they treat as a foreign one,
// so that the storage stays in use until the result is released.
template <class Managed>
DLBRIDGE_INLINE Node* HeapNode(const Managed* tensor) {
  Node* node = OwnNode(tensor);
  return node != nullptr && !node->in_storage ? node : nullptr;
}

// The node of a tensor that can have a second owner.
DLBRIDGE_INLINE DLBridgeStatus FindSharableNode(const DLManagedTensorVersioned* tensor, Node** out,
                                                DLBridgeError* error) {
  Node* node = OwnNode(tensor);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseStatus(error, DLBRIDGE_ERROR_FOREIGN_TENSOR, "tensor",
                        "is not dlbridge-owned: call dlbridge_import first");
  }
  if (DLBRIDGE_UNLIKELY(node->in_storage)) {
    return Refuse(error, {DLBRIDGE_RULE_IN_STORAGE, kNoAxis, 0, 0});
  }
  *out = node;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_OWNED_H_
