// SPDX-License-Identifier: Apache-2.0
// More owners of the same data: as it is, or under another shape.
#include <cstring>

#include "node.h"
#include "support/boundary.h"
#include "validate.h"

namespace dlbridge {
namespace {

// The node behind a tensor of ours that can have a second owner, and whose struct is still as it
// was made: its ndim and arrays are what the node's memory holds.
DLBRIDGE_INLINE DLBridgeStatus FindSharable(const DLManagedTensorVersioned* tensor,
                                            const Node** out, DLBridgeError* error) {
  Node* node = OwnNode(tensor);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseStatus(error, DLBRIDGE_ERROR_NOT_OURS, "tensor",
                        "was not made by this library: upgrade or adopt it first");
  }
  if (DLBRIDGE_UNLIKELY(node->in_storage)) {
    return Refuse(error, {DLBRIDGE_RULE_IN_STORAGE, kNoAxis, 0, 0});
  }
  const DLTensor& fields = tensor->dl_tensor;
  if (DLBRIDGE_UNLIKELY(fields.ndim != node->ndim || fields.shape != node->shape() ||
                        fields.strides != node->strides())) {
    return RefuseArgument(error, "tensor", "must not have had its ndim, shape or strides replaced");
  }
  *out = node;
  return DLBRIDGE_OK;
}

// Shape and strides are one block in every node: one short loop over pairs of numbers.
DLBRIDGE_INLINE void CopyArrays(const int64_t* from, int32_t ndim, int64_t* to) {
  const int64_t* end = from + 2 * static_cast<ptrdiff_t>(ndim);
  for (; from != end; from += 2, to += 2) {
    std::memcpy(to, from, 2 * sizeof(int64_t));
  }
}

DLBRIDGE_INLINE DLBridgeStatus Share(const DLManagedTensorVersioned* tensor,
                                     DLManagedTensorVersioned** out, DLBridgeError* error) {
  const Node* sibling = nullptr;
  DLBRIDGE_TRY(FindSharable(tensor, &sibling, error));
  const int32_t ndim = sibling->ndim;
  Node* node = AllocateNode(ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
  }
  // An owner may have tightened the flags of its struct; it cannot loosen those of the data.
  InitNode(node, ndim, tensor->flags | sibling->flags);
  node->is_view = sibling->is_view;
  CopyArrays(tensor->dl_tensor.shape, ndim, node->shape());
  // The deleter is the same already.
  std::memcpy(&node->versioned, tensor, sizeof *tensor);
  node->versioned.manager_ctx = node;
  node->versioned.flags = node->flags;
  node->versioned.dl_tensor.shape = node->shape();
  node->versioned.dl_tensor.strides = node->strides();
  JoinRoot(node, sibling);
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckSpec(const DLBridgeViewSpec& spec, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(&spec, "spec", error));
  if (spec.reserved[0] != 0 || spec.reserved[1] != 0) {
    return RefuseArgument(error, "spec.reserved", "must be zero");
  }
  if (spec.ndim < 0) {
    return Refuse(error, {DLBRIDGE_RULE_NDIM_NEGATIVE, kNoAxis, 0, Bits(spec.ndim)});
  }
  if (spec.ndim > 0 && spec.shape == nullptr) {
    return Refuse(error, {DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(spec.ndim), 0});
  }
  return DLBRIDGE_OK;
}

// The elements that the parent touches. They were checked when it was made, but its arrays lie
// open.
DLBridgeStatus ParentExtent(const DLManagedTensorVersioned& parent, Extent* out,
                            DLBridgeError* error) {
  const DLTensor& tensor = parent.dl_tensor;
  *out = ScanTensor<false>(tensor.ndim, tensor.shape, tensor.strides, nullptr, nullptr);
  ByteExtent bytes;
  FirstBroken sink(error);
  CheckExtent(tensor.ndim, tensor.shape, tensor.strides, ItemBits(tensor.dtype, parent.flags), out,
              &bytes, &sink);
  return sink.status();
}

// Is [offset + first, offset + limit) of the view inside the parent's?
DLBridgeStatus CheckInside(const Extent& parent, const Extent& view, int64_t offset,
                           DLBridgeError* error) {
  const Wide first = static_cast<Wide>(offset) + view.first;
  const Wide limit = static_cast<Wide>(offset) + view.limit;
  if (first < parent.first) {
    return Refuse(error, {DLBRIDGE_RULE_VIEW_BOUNDS, kNoAxis, Bits(parent.first),
                          static_cast<uint64_t>(first)});
  }
  if (limit > parent.limit) {
    return Refuse(error, {DLBRIDGE_RULE_VIEW_BOUNDS, kNoAxis, Bits(parent.limit - 1),
                          static_cast<uint64_t>(limit - 1)});
  }
  return DLBRIDGE_OK;
}

// Moves element (0,...,0) by `bytes`, in byte_offset where that stays positive, else in data, which
// then must be an address.
DLBridgeStatus MoveOrigin(int64_t bytes, DLTensor* tensor, DLBridgeError* error) {
  const Wide offset = static_cast<Wide>(tensor->byte_offset) + bytes;
  if (offset >= 0) {
    tensor->byte_offset = static_cast<uint64_t>(offset);
    return DLBRIDGE_OK;
  }
  if (DeviceTypeOf(TypeOf(tensor->device)).data != DataIs::kAddress) {
    return Refuse(error, {DLBRIDGE_RULE_HANDLE_RANGE, kNoAxis, 0, static_cast<uint64_t>(offset)});
  }
  tensor->data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor->data) +
                                         static_cast<uint64_t>(offset));
  tensor->byte_offset = 0;
  return DLBRIDGE_OK;
}

DLBridgeStatus FillView(const DLManagedTensorVersioned& parent, const DLBridgeViewSpec& spec,
                        Node* node, DLBridgeError* error) {
  Extent outer;
  DLBRIDGE_TRY(ParentExtent(parent, &outer, error));
  Extent inner =
      ScanTensor<true>(spec.ndim, spec.shape, spec.strides, node->shape(), node->strides());
  const uint32_t item_bits = ItemBits(parent.dl_tensor.dtype, parent.flags);
  ByteExtent bytes;
  FirstBroken sink(error);
  if (!CheckExtent(spec.ndim, node->shape(), node->strides(), item_bits, &inner, &bytes, &sink)) {
    return sink.failure();
  }
  FillVersioned(node, parent.dl_tensor, parent.version);
  if (inner.count == 0) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(CheckInside(outer, inner, spec.offset, error));
  const Wide bits = static_cast<Wide>(spec.offset) * item_bits;
  if (bits % 8 != 0) {
    return Refuse(error, {DLBRIDGE_RULE_VIEW_OFFSET, kNoAxis, 0, static_cast<uint64_t>(bits)});
  }
  return MoveOrigin(static_cast<int64_t>(bits / 8), &node->versioned.dl_tensor, error);
}

DLBridgeStatus View(const DLManagedTensorVersioned* tensor, const DLBridgeViewSpec& spec,
                    DLManagedTensorVersioned** out, DLBridgeError* error) {
  const Node* sibling = nullptr;
  DLBRIDGE_TRY(FindSharable(tensor, &sibling, error));
  DLBRIDGE_TRY(CheckSpec(spec, error));
  Node* node = AllocateNode(spec.ndim, 0);
  if (node == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(node, spec.ndim, tensor->flags | sibling->flags);
  const DLBridgeStatus status = FillView(*tensor, spec, node, error);
  if (status != DLBRIDGE_OK) {
    DiscardNode(node);
    return status;
  }
  node->is_view = true;
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

DLBridgeStatus dlbridge_view(const DLManagedTensorVersioned* tensor, const DLBridgeViewSpec* spec,
                             DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  return dlbridge::View(tensor, *spec, out, error);
}

}  // extern "C"
