// SPDX-License-Identifier: Apache-2.0
// The node of a dlbridge-owned tensor: the DLPack struct, the recorded properties and the arrays of
// shape and strides, in one allocation.
//
// A node is a handle, that is, one owner. The data belongs to a root, which counts its handles and
// releases its source with the last of them. The first handle is the root itself. The memory of a
// root is freed after its last handle.
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

// Calls the deleter of a tensor, if it has one.
template <class Managed>
DLBRIDGE_INLINE void ReleaseTensor(Managed* tensor) {
  const auto deleter = Load(&tensor->deleter);
  if (DLBRIDGE_LIKELY(deleter != nullptr)) {
    deleter(tensor);
  }
}

// The kind of source that a root releases.
enum class SourceKind : uint8_t { kLegacy, kVersioned, kAllocation, kWrapped };

struct Node {
  union {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
  };
  Node* root;
  void* source;                  // of a root: the tensor that it keeps alive
  uint64_t flags;                // all known flags, also those that a legacy struct cannot record
  std::atomic<uint32_t> owners;  // of a root: number of handles
  int32_t ndim;
  SourceKind source_kind;  // of a root
  bool in_storage;         // the node is in the caller's memory, not on the heap
  bool wraps_source;       // of a legacy node: it still describes the root's versioned source
  uint8_t unused;          // 0: one instruction stores the four fields of one byte
  uint32_t minor;          // of its version; of a legacy node: of the version of its source

  DLBRIDGE_INLINE int64_t* shape() { return reinterpret_cast<int64_t*>(this + 1); }
  DLBRIDGE_INLINE int64_t* strides() { return shape() + ndim; }
  DLBRIDGE_INLINE void* tail() { return shape() + 2 * static_cast<size_t>(ndim); }
};

// Follows the arrays of a node in storage.
struct StorageTail {
  void (*release)(void* context, void* memory);
  void* context;
};

// Follows the arrays of a root that owns memory.
struct AllocationTail {
  void* memory;  // NULL: an empty tensor
  bool inside;   // the memory follows this tail, inside the node
  uint64_t bytes;
  uint64_t alignment;
  DLDevice device;
  void* context;
  void (*deallocate)(void* context, DLDevice device, void* memory, uint64_t bytes,
                     uint64_t alignment, const DLBridgeStream* stream);  // NULL: the system's
};

// Follows the arrays of a root that was made of native memory.
struct WrapTail {
  void (*release)(void* context, const DLBridgeBuffer* buffer,
                  const DLBridgeStream* stream);  // NULL: nothing to call
  void* context;
  DLBridgeBuffer buffer;
  uint64_t entry;          // of the context table, retained by this root; 0: none
  DLBridgeBackend driver;  // whose context buffer.context is; NONE: not known
  bool retained;           // the root holds a reference to the handle
  bool on_stream;          // `release` accepts a stream whose work still uses the memory
};
// Releases the references of a tail: the context entry and the handle.
DLBRIDGE_COLD void EndKeeping(const WrapTail& tail);

// True if the source of a root is a tensor.
DLBRIDGE_INLINE bool HoldsTensor(const Node& root) {
  return root.source_kind == SourceKind::kLegacy || root.source_kind == SourceKind::kVersioned;
}

constexpr size_t NodeSize(size_t ndim) { return sizeof(Node) + 2 * sizeof(int64_t) * ndim; }

// NULL if there is no memory. `tail` bytes follow the arrays.
DLBRIDGE_INLINE Node* AllocateNode(int32_t ndim, size_t tail) {
  return static_cast<Node*>(std::malloc(NodeSize(static_cast<size_t>(ndim)) + tail));
}

void DeleteVersioned(DLManagedTensorVersioned* self);
void DeleteLegacy(DLManagedTensor* self);

// The node of a dlbridge-owned tensor; NULL for any other. Both the deleter and the pointer to
// itself must match: a copy of the struct is not dlbridge-owned.
DLBRIDGE_INLINE Node* OwnNode(const DLManagedTensorVersioned* tensor) {
  if (Load(&tensor->deleter) != DeleteVersioned) {
    return nullptr;
  }
  void* context = Load(&tensor->manager_ctx);
  return context == tensor ? static_cast<Node*>(context) : nullptr;
}
DLBRIDGE_INLINE Node* OwnNode(const DLManagedTensor* tensor) {
  if (Load(&tensor->deleter) != DeleteLegacy) {
    return nullptr;
  }
  void* context = Load(&tensor->manager_ctx);
  return context == tensor ? static_cast<Node*>(context) : nullptr;
}

// Fills the fields of a handle. BecomeRoot, JoinRoot or Replace sets its root later.
DLBRIDGE_INLINE void InitNode(Node* node, int32_t ndim, uint64_t flags) {
  node->flags = flags;
  node->ndim = ndim;
  node->in_storage = false;
  node->wraps_source = false;
}

// As InitNode, for another handle of the data of `sibling`, which is on the heap. All fields after
// ndim are copied at once; source_kind has no meaning outside a root.
DLBRIDGE_INLINE void InitShare(Node* node, const Node& sibling, int32_t ndim, uint64_t flags) {
  constexpr size_t kBytes = sizeof(Node) - offsetof(Node, source_kind);
  static_assert(kBytes == 8, "source_kind, in_storage, wraps_source, minor");
  node->flags = flags;
  node->ndim = ndim;
  std::memcpy(&node->source_kind, &sibling.source_kind, kBytes);
}

// Fills all fields of a new root at once. For plain conversions; InitNode, FillVersioned or
// FillLegacy and BecomeRoot do the same in steps.
struct RootFields {
  uint64_t flags;
  uint32_t minor;
  SourceKind kind;
  bool in_storage;
  bool wraps_source;
};
DLBRIDGE_INLINE void InitRoot(Node* node, uint64_t ndim, const RootFields& fields, void* source) {
  node->root = node;
  node->source = source;
  node->flags = fields.flags;
  node->owners.store(1, std::memory_order_relaxed);
  node->ndim = static_cast<int32_t>(ndim);
  node->source_kind = fields.kind;
  node->in_storage = fields.in_storage;
  node->wraps_source = fields.wraps_source;
  node->unused = 0;
  node->minor = fields.minor;
}

// Fills the DLPack struct from `tensor`, with the node's own arrays and flags.
DLBRIDGE_INLINE void FillTensor(Node* node, const DLTensor& tensor, DLTensor* out) {
  // Field by field: for a copy of the whole struct, compilers use a slow string instruction.
  out->data = tensor.data;
  out->device = tensor.device;
  out->ndim = node->ndim;
  out->dtype = tensor.dtype;
  out->shape = node->shape();
  out->strides = node->strides();
  out->byte_offset = tensor.byte_offset;
}
DLBRIDGE_INLINE void FillVersioned(Node* node, const DLTensor& tensor, DLPackVersion version) {
  // The analyser does not see that callers check the allocation.
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

// Makes the node a root, which owns `source`.
DLBRIDGE_INLINE void BecomeRoot(Node* node, SourceKind kind, void* source) {
  // The analyser does not see that callers check the allocation.
  node->root = node;  // NOLINT(clang-analyzer-core.NullDereference)
  node->source = source;
  node->source_kind = kind;
  node->owners.store(1, std::memory_order_relaxed);
}

// Makes the node one more handle of the data of `sibling`, which must stay alive during the call.
DLBRIDGE_INLINE void JoinRoot(Node* node, const Node* sibling) {
  node->root = sibling->root;
  sibling->root->owners.fetch_add(1, std::memory_order_relaxed);
}

// Replaces the handle `old`, which is on the heap, by `node`, without releasing the data.
void Replace(Node* node, Node* old);

// True if the root's source, a versioned tensor, may be returned in place of this legacy handle,
// which must be the last one.
bool HoldsVersioned(const Node& node);
// Frees such a handle and returns the source.
void* TakeSource(Node* node);

// Releases one handle; the last one releases the data.
void ReleaseNode(Node* node);

// Is the handle the last one of memory whose release callback accepts a stream?
bool IsStreamOrdered(const Node& node);
// Releases such a handle; the callback receives the stream.
void ReleaseNodeOn(Node* node, const DLBridgeStream& stream);

// Frees a node that never became an owner.
void DiscardNode(Node* node);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_NODE_H_
