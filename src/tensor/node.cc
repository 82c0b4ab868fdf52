// SPDX-License-Identifier: Apache-2.0
#include "tensor/node.h"

#include <cstdlib>

#include "support/memory.h"

namespace dlbridge {
namespace {

// Returns storage to the caller.
DLBRIDGE_COLD void ReturnStorage(Node* node) {
  const StorageTail tail = *static_cast<StorageTail*>(node->tail());
  if (tail.release != nullptr) {
    tail.release(tail.context, node);
  }
}

void FreeAllocation(const AllocationTail& tail) {
  if (tail.memory == nullptr || tail.inside) {
    return;
  }
  if (tail.deallocate == nullptr) {
    FreeAligned(tail.memory);
  } else {
    tail.deallocate(tail.context, tail.device, tail.memory, tail.bytes, tail.alignment, nullptr);
  }
}

// `release` gets the buffer in the root, which is therefore freed last.
DLBRIDGE_INLINE void ReleaseMemory(const WrapTail& tail, const DLBridgeStream* stream) {
  if (tail.release != nullptr) {
    tail.release(tail.context, &tail.buffer, stream);
  }
}

// The memory is released before its context.
DLBRIDGE_NOINLINE void DestroyKeeping(Node* root, const DLBridgeStream* stream) {
  const auto& tail = *static_cast<const WrapTail*>(root->tail());
  ReleaseMemory(tail, stream);
  EndKeeping(tail);
  std::free(root);
}

DLBRIDGE_NOINLINE void DestroyWrapped(Node* root, const DLBridgeStream* stream) {
  const auto& tail = *static_cast<const WrapTail*>(root->tail());
  if (DLBRIDGE_UNLIKELY(tail.retained || tail.entry != 0)) {
    return DestroyKeeping(root, stream);
  }
  ReleaseMemory(tail, stream);
  std::free(root);
}

DLBRIDGE_NOINLINE void DestroyAllocation(Node* root) {
  FreeAllocation(*static_cast<AllocationTail*>(root->tail()));
  std::free(root);
}

template <class Managed>
DLBRIDGE_INLINE void ReleaseSource(void* source) {
  ReleaseTensor(static_cast<Managed*>(source));
}

// The storage is returned after the deleter of the source.
DLBRIDGE_NOINLINE void DestroyInStorage(Node* root) {
  if (root->source_kind == SourceKind::kLegacy) {
    ReleaseSource<DLManagedTensor>(root->source);
  } else {
    ReleaseSource<DLManagedTensorVersioned>(root->source);
  }
  ReturnStorage(root);
}

// Frees the node first, so that the source's deleter is a tail call: a chain of sources does not
// use up the stack.
template <class Managed>
DLBRIDGE_INLINE void DestroyForeign(Node* root) {
  void* source = root->source;
  std::free(root);
  return ReleaseSource<Managed>(source);
}

// Called when the last handle has been released.
DLBRIDGE_NOINLINE void DestroyRoot(Node* root) {
  if (DLBRIDGE_UNLIKELY(root->in_storage)) {
    return DestroyInStorage(root);
  }
  const SourceKind kind = root->source_kind;
  if (kind == SourceKind::kWrapped) {
    return DestroyWrapped(root, nullptr);
  }
  if (kind == SourceKind::kAllocation) {
    return DestroyAllocation(root);
  }
  return kind == SourceKind::kLegacy ? DestroyForeign<DLManagedTensor>(root)
                                     : DestroyForeign<DLManagedTensorVersioned>(root);
}

bool LeaveOwners(Node* root) { return root->owners.fetch_sub(1, std::memory_order_acq_rel) == 1; }

// Releases a handle in storage that is not the root; its storage is returned last.
DLBRIDGE_NOINLINE void LeaveStorage(Node* node) {
  if (LeaveOwners(node->root)) {
    DestroyRoot(node->root);
  }
  ReturnStorage(node);
}

// Frees the last handle, which is not the root, and destroys the root.
DLBRIDGE_NOINLINE void DestroyApart(Node* node, Node* root) {
  std::free(node);
  return DestroyRoot(root);
}

// Releases a handle that is not the root. Ends in a tail call on every path, so that no register is
// saved.
DLBRIDGE_INLINE void LeaveApart(Node* node) {
  if (DLBRIDGE_UNLIKELY(node->in_storage)) {
    return LeaveStorage(node);
  }
  Node* root = Load(&node->root);  // read anew, so that the common path keeps it in no register
  return DLBRIDGE_UNLIKELY(LeaveOwners(root)) ? DestroyApart(node, root) : std::free(node);
}

// Releases the root as a handle.
DLBRIDGE_NOINLINE void LeaveRoot(Node* root) {
  if (LeaveOwners(root)) {
    DestroyRoot(root);
  }
}

}  // namespace

void Replace(Node* node, Node* old) {
  Node* root = old->root;
  const bool moves =
      root == old && HoldsTensor(*root) && root->owners.load(std::memory_order_acquire) == 1;
  if (moves) {
    BecomeRoot(node, root->source_kind, root->source);
    std::free(old);
    return;
  }
  node->root = root;
  if (old != root) {
    std::free(old);
  }
}

bool HoldsVersioned(const Node& node) {
  const Node& root = *node.root;
  return root.source_kind == SourceKind::kVersioned && node.wraps_source && !node.in_storage &&
         !root.in_storage && root.owners.load(std::memory_order_acquire) == 1;
}

void* TakeSource(Node* node) {
  Node* root = node->root;
  void* source = root->source;
  if (root != node) {
    std::free(root);
  }
  std::free(node);
  return source;
}

// Is it the root of a foreign legacy tensor, on the heap? Both fields are read at once.
DLBRIDGE_INLINE bool HoldsLegacyOnHeap(const Node& node) {
  static_assert(offsetof(Node, in_storage) == offsetof(Node, source_kind) + 1, "one word");
  static_assert(static_cast<int>(SourceKind::kLegacy) == 0, "the word is 0");
  uint16_t word = 0;
  std::memcpy(&word, &node.source_kind, sizeof word);
  return word == 0;
}

DLBRIDGE_INLINE void Release(Node* node) {
  // Only an owner can add another one, so the sole owner needs no atomic read-modify-write.
  if (DLBRIDGE_LIKELY(node->root == node && node->owners.load(std::memory_order_acquire) == 1)) {
    return DLBRIDGE_LIKELY(HoldsLegacyOnHeap(*node)) ? DestroyForeign<DLManagedTensor>(node)
                                                     : DestroyRoot(node);
  }
  return node->root == node ? LeaveRoot(node) : LeaveApart(node);
}

void ReleaseNode(Node* node) { Release(node); }

// What the tail keeps besides the memory, such as the context, must outlive the stream's work.
bool IsStreamOrdered(const Node& node) {
  Node* root = node.root;
  if (root->source_kind != SourceKind::kWrapped || node.in_storage ||
      root->owners.load(std::memory_order_acquire) != 1) {
    return false;
  }
  const auto* tail = static_cast<const WrapTail*>(root->tail());
  return tail->on_stream && tail->entry == 0 && !tail->retained;
}

void ReleaseNodeOn(Node* node, const DLBridgeStream& stream) {
  Node* root = node->root;
  if (root != node) {
    std::free(node);
  }
  DestroyWrapped(root, &stream);
}

void DiscardNode(Node* node) { std::free(node); }

// Finds the node by `self`, which is its first member. manager_ctx is not used: consumers may clear
// it.
void DeleteVersioned(DLManagedTensorVersioned* self) { Release(reinterpret_cast<Node*>(self)); }
void DeleteLegacy(DLManagedTensor* self) { Release(reinterpret_cast<Node*>(self)); }

}  // namespace dlbridge
