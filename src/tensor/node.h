// SPDX-License-Identifier: Apache-2.0
// The object of each dlbridge-owned tensor: the DLPack struct, what the library recorded of it, and
// the arrays of shape and strides, in one allocation.
//
// A node is a handle: one owner. The data belongs to a root, which counts its handles and holds the
// source that is released with the last of them. The first handle is the root itself; the memory of
// a root stays as long as any of its handles.
#ifndef DLBRIDGE_SRC_TENSOR_NODE_H_
#define DLBRIDGE_SRC_TENSOR_NODE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "describe/device.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "support/load.h"

namespace dlbridge {

// Calls the deleter of any tensor, where it has one.
template <class Managed>
DLBRIDGE_INLINE void ReleaseTensor(Managed* tensor) {
  const auto deleter = Load(&tensor->deleter);
  if (DLBRIDGE_LIKELY(deleter != nullptr)) {
    deleter(tensor);
  }
}

// What a root releases in the end.
enum class SourceKind : uint8_t { kLegacy, kVersioned, kAllocation, kWrapped };

struct Node {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
  };
  Node* root;
  void* source;                  // of a root: the tensor that it keeps alive
  uint64_t flags;                // all that is known, also where a legacy struct cannot record it
  std::atomic<uint32_t> owners;  // of a root: how many handles
  int32_t ndim;
  SourceKind source_kind;  // of a root
  bool in_storage;         // the caller's memory, not the heap's
  bool wraps_source;       // of a legacy one: describes the root's versioned source as it is
  uint32_t minor;  // of the version that the tensor carries, or that a legacy one was made of

  DLBRIDGE_INLINE int64_t* shape() { return reinterpret_cast<int64_t*>(this + 1); }
  DLBRIDGE_INLINE int64_t* strides() { return shape() + ndim; }
  DLBRIDGE_INLINE void* tail() { return shape() + 2 * static_cast<size_t>(ndim); }
};

// After the arrays of a node in storage.
struct StorageTail {
  void (*release)(void* context, void* memory);
  void* context;
};

// After the arrays of a root that owns memory.
struct AllocationTail {
  void* memory;  // NULL: an empty tensor
  bool inside;   // after this, in the memory of the node
  uint64_t bytes;
  uint64_t alignment;
  DLDevice device;
  void* context;
  void (*deallocate)(void* context, DLDevice device, void* memory, uint64_t bytes,
                     uint64_t alignment, const DLBridgeStream* stream);  // NULL: the system's
};

// After the arrays of a root that was made of native memory.
struct WrapTail {
  void (*release)(void* context, const DLBridgeBuffer* buffer,
                  const DLBridgeStream* stream);  // NULL: nothing to call
  void* context;
  DLBridgeBuffer buffer;
  uint64_t entry;  // of the context table, which this root keeps; 0: none
  bool retained;   // the handle, by a reference of its own
};
// Ends what a tail keeps besides its memory.
DLBRIDGE_COLD void EndKeeping(const WrapTail& tail);

constexpr size_t NodeSize(int32_t ndim) {
  return sizeof(Node) + 2 * sizeof(int64_t) * static_cast<size_t>(ndim);
}

// NULL where there is no memory. `tail` bytes follow the arrays.
DLBRIDGE_INLINE Node* AllocateNode(int32_t ndim, size_t tail) {
  return static_cast<Node*>(std::malloc(NodeSize(ndim) + tail));
}

void DeleteVersioned(DLManagedTensorVersioned* self);
void DeleteLegacy(DLManagedTensor* self);

// The node of a dlbridge-owned tensor, else NULL. Both the deleter and the pointer to itself must
// match, since structs get copied.
DLBRIDGE_INLINE Node* OwnNode(const DLManagedTensorVersioned* tensor) {
  void* context = Load(&tensor->manager_ctx);
  const bool owned = Load(&tensor->deleter) == DeleteVersioned && context == tensor;
  return owned ? static_cast<Node*>(context) : nullptr;
}
DLBRIDGE_INLINE Node* OwnNode(const DLManagedTensor* tensor) {
  void* context = Load(&tensor->manager_ctx);
  const bool owned = Load(&tensor->deleter) == DeleteLegacy && context == tensor;
  return owned ? static_cast<Node*>(context) : nullptr;
}

// Fills the handle's own fields; the node becomes its own root with `source` in a later step.
DLBRIDGE_INLINE void InitNode(Node* node, int32_t ndim, uint64_t flags) {
  node->flags = flags;
  node->ndim = ndim;
  node->in_storage = false;
  node->wraps_source = false;
}

// The same for a handle on the data of `sibling`, which is on the heap. ndim and all fields after
// it are copied at once; the kind of the source counts in a root only.
DLBRIDGE_INLINE void InitShare(Node* node, const Node& sibling, uint64_t flags) {
  constexpr size_t kBytes = sizeof(Node) - offsetof(Node, ndim);
  static_assert(kBytes == 12, "ndim, source_kind, in_storage, wraps_source, minor");
  node->flags = flags;
  std::memcpy(&node->ndim, &sibling.ndim, kBytes);
}

// Fills the DLPack struct from `tensor`, with the node's own arrays and flags.
DLBRIDGE_INLINE void FillTensor(Node* node, const DLTensor& tensor, DLTensor* out) {
  // Field by field: copied as a whole, compilers take to a slow string instruction.
  out->data = tensor.data;
  out->device = tensor.device;
  out->ndim = node->ndim;
  out->dtype = tensor.dtype;
  out->shape = node->shape();
  out->strides = node->strides();
  out->byte_offset = tensor.byte_offset;
}
DLBRIDGE_INLINE void FillVersioned(Node* node, const DLTensor& tensor, DLPackVersion version) {
  // The function that made the node returned an error where there is none.
  node->minor = version.minor;  // NOLINT(clang-analyzer-core.NullDereference)
  node->versioned.version = version;
  node->versioned.manager_ctx = node;
  node->versioned.deleter = DeleteVersioned;
  node->versioned.flags = node->flags;
  FillTensor(node, tensor, &node->versioned.dl_tensor);
}
DLBRIDGE_INLINE void FillLegacy(Node* node, const DLTensor& tensor, uint32_t minor) {
  node->minor = minor;
  FillTensor(node, tensor, &node->legacy.dl_tensor);
  node->legacy.manager_ctx = node;
  node->legacy.deleter = DeleteLegacy;
}

// The node owns `source` now.
DLBRIDGE_INLINE void BecomeRoot(Node* node, SourceKind kind, void* source) {
  // The function that made the node returned an error where there is none.
  node->root = node;  // NOLINT(clang-analyzer-core.NullDereference)
  node->source = source;
  node->source_kind = kind;
  node->owners.store(1, std::memory_order_relaxed);
}

// One more handle on the data of `sibling`, whose owner keeps it alive meanwhile.
DLBRIDGE_INLINE void JoinRoot(Node* node, const Node* sibling) {
  node->root = sibling->root;
  sibling->root->owners.fetch_add(1, std::memory_order_relaxed);
}

// `node` takes the place of the handle `old`, which is on the heap and ends without releasing the
// data.
void Replace(Node* node, Node* old);

// May the root's source, a versioned tensor, be handed back instead of this legacy handle? Only for
// the last handle.
bool HoldsVersioned(const Node& node);
// Ends such a handle and returns the source.
void* TakeSource(Node* node);

// One owner less; the data goes with the last.
void ReleaseNode(Node* node);

// Memory of a node that never became an owner.
void DiscardNode(Node* node);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_NODE_H_
