// SPDX-License-Identifier: Apache-2.0
#include "node.h"

#include <cstdlib>

#include "support/memory.h"

namespace dlbridge {
namespace {

DLBRIDGE_INLINE void ReturnStorage(Node* node) {
  const StorageTail tail = *static_cast<StorageTail*>(node->tail());
  if (tail.released != nullptr) {
    tail.released(tail.context, node);
  }
}

// Frees the memory of a node, or gives it back to the caller whose storage it is.
DLBRIDGE_INLINE void FreeNode(Node* node) {
  if (!node->in_storage) {
    std::free(node);
  } else {
    ReturnStorage(node);
  }
}

void FreeAllocation(const AllocationTail& tail) {
  if (tail.memory == nullptr || tail.inside) {
    return;
  }
  if (tail.deallocate == nullptr) {
    FreeAligned(tail.memory);
  } else {
    tail.deallocate(tail.context, tail.device, tail.memory, tail.bytes, tail.alignment);
  }
}

// A function of its own, so that the common way needs no stack. The memory goes before its context.
DLBRIDGE_NOINLINE void DestroyWrapped(Node* root) {
  const WrapTail& tail = *static_cast<WrapTail*>(root->tail());
  if (tail.release != nullptr) {
    tail.release(tail.context, tail.buffer);
  }
  if (DLBRIDGE_UNLIKELY(tail.retained || tail.entry != 0)) {
    LetGo(tail);
  }
  FreeNode(root);
}

// The last handle is gone. A source goes before the memory of its node, since that may be storage,
// whose owner learns by its release that everything is over.
DLBRIDGE_INLINE void DestroyRoot(Node* root) {
  if (DLBRIDGE_LIKELY(root->source_kind == SourceKind::kLegacy)) {
    ReleaseTensor(static_cast<DLManagedTensor*>(root->source));
  } else if (root->source_kind == SourceKind::kVersioned) {
    ReleaseTensor(static_cast<DLManagedTensorVersioned*>(root->source));
  } else if (root->source_kind == SourceKind::kWrapped) {
    DestroyWrapped(root);
    return;
  } else {
    FreeAllocation(*static_cast<AllocationTail*>(root->tail()));
  }
  FreeNode(root);
}

// A handle that is not alone, or not the root.
DLBRIDGE_NOINLINE void LeaveRoot(Node* node) {
  Node* root = node->root;
  if (root->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    DestroyRoot(root);
  }
  if (root != node) {
    FreeNode(node);
  }
}

}  // namespace

void Replace(Node* node, Node* old) {
  Node* root = old->root;
  const bool has_tail =
      root->source_kind != SourceKind::kLegacy && root->source_kind != SourceKind::kVersioned;
  const bool moves = root == old && !has_tail && root->owners.load(std::memory_order_acquire) == 1;
  if (moves) {
    BecomeRoot(node, root->source_kind, root->source);
    FreeNode(old);
    return;
  }
  node->root = root;
  if (old != root) {
    FreeNode(old);
  }
}

bool HoldsOriginal(const Node& node, SourceKind kind) {
  const Node& root = *node.root;
  return root.source_kind == kind && !node.is_view &&
         root.owners.load(std::memory_order_acquire) == 1;
}

void* TakeOriginal(Node* node) {
  Node* root = node->root;
  void* source = root->source;
  if (root != node) {
    FreeNode(root);
  }
  FreeNode(node);
  return source;
}

void ReleaseNode(Node* node) {
  // A sole owner cannot be joined meanwhile, so it needs no read-modify-write.
  if (DLBRIDGE_LIKELY(node->root == node && node->owners.load(std::memory_order_acquire) == 1)) {
    DestroyRoot(node);
  } else {
    LeaveRoot(node);
  }
}

void DiscardNode(Node* node) { std::free(node); }

// `self` is at the start of the node, which cannot be taken from manager_ctx: consumers may clear
// it.
void DeleteVersioned(DLManagedTensorVersioned* self) { ReleaseNode(reinterpret_cast<Node*>(self)); }
void DeleteLegacy(DLManagedTensor* self) { ReleaseNode(reinterpret_cast<Node*>(self)); }

}  // namespace dlbridge

extern "C" {

void dlbridge_release_legacy(DLManagedTensor* tensor) {
  if (tensor != nullptr) {
    dlbridge::ReleaseTensor(tensor);
  }
}

void dlbridge_release_versioned(DLManagedTensorVersioned* tensor) {
  if (tensor != nullptr) {
    dlbridge::ReleaseTensor(tensor);
  }
}

}  // extern "C"
