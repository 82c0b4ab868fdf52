// SPDX-License-Identifier: Apache-2.0
// Makes one more owner of the same data, with another layout.
#include <cstring>

#include "describe/boundary.h"
#include "describe/required.h"
#include "tensor/owned.h"
#include "validate/rules.h"

namespace dlbridge {
namespace {

// Finds the node of a tensor that can have a second owner, and copies the struct. The struct must
// be unchanged, so that its ndim and arrays are those of the node.
DLBridgeStatus FindSharable(const DLManagedTensorVersioned* tensor, Node** out, Subject* subject,
                            DLBridgeError* error) {
  DLBRIDGE_TRY(FindSharableNode(tensor, out, error));
  return LoadVersioned(*tensor, subject, error);
}

DLBridgeStatus CheckSpec(const DLBridgeViewSpec* spec, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(spec, "spec", error));
  DLBRIDGE_TRY(CheckOptionBits(spec->options, 0, "spec.options", error));
  FirstBroken sink(error);
  if (IsAbove(spec->ndim, DLBRIDGE_MAX_NDIM)) {
    RejectNdim(spec->ndim, 0, DLBRIDGE_MAX_NDIM, &sink);
  } else if (spec->ndim > 0 && spec->shape == nullptr) {
    sink.Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(spec->ndim), 0});
  }
  return sink.status();
}

// Checks the dtype of a view. It must have as many bits as the parent's, and the parent's version
// must know it.
DLBridgeStatus CheckViewDtype(DLDataType dtype, const Subject& parent, DLBridgeError* error) {
  FirstBroken sink(error);
  if (!IsPlainDtype(dtype) && !CheckOddDtype(dtype, kDefaultPolicy, &sink)) {
    return sink.failure();
  }
  if (ItemBits(dtype, parent.flags) != ItemBits(parent.tensor.dtype, parent.flags)) {
    char problem[120];
    TextWriter text(problem, sizeof problem);
    text.String("must have as many bits as the parent's ");
    WriteDtype(parent.tensor.dtype, &text);
    text.String(", found ");
    WriteDtype(dtype, &text);
    return RejectArgument(error, "spec.dtype", problem);
  }
  DLTensor tensor = parent.tensor;
  tensor.dtype = dtype;
  return CheckCodes(tensor, parent.flags, parent.version, error);
}

DLBridgeStatus FindDtype(const DLBridgeViewSpec& spec, Subject* parent, DLBridgeError* error) {
  if (Packed(spec.dtype) == 0) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(CheckViewDtype(spec.dtype, *parent, error));
  parent->tensor.dtype = spec.dtype;
  return DLBRIDGE_OK;
}

// Computes the range of elements of the parent. The owner can write to its arrays, so they are
// copied and checked again.
DLBridgeStatus ParentExtent(const Subject& parent, Extent* out, DLBridgeError* error) {
  const DLTensor& tensor = parent.tensor;
  int64_t shape[DLBRIDGE_MAX_NDIM];
  int64_t strides[DLBRIDGE_MAX_NDIM];
  *out = ScanTensor<true>(tensor.ndim, tensor.shape, tensor.strides, shape, strides);
  ByteExtent bytes;
  FirstBroken sink(error);
  CheckExtent(tensor.ndim, shape, strides, ItemBits(tensor.dtype, parent.flags), out, &bytes,
              &sink);
  return sink.status();
}

// Checks that [offset + first, offset + limit) of the view is inside the parent's range.
DLBridgeStatus CheckInside(const Extent& parent, const Extent& view, int64_t offset,
                           DLBridgeError* error) {
  const Wide first = static_cast<Wide>(offset) + view.first;
  const Wide limit = static_cast<Wide>(offset) + view.limit;
  if (first < parent.first) {
    return Reject(error, {DLBRIDGE_RULE_VIEW_BOUNDS, kNoAxis, Bits(parent.first),
                          static_cast<uint64_t>(first)});
  }
  if (limit > parent.limit) {
    return Reject(error, {DLBRIDGE_RULE_VIEW_BOUNDS, kNoAxis, Bits(parent.limit - 1),
                          static_cast<uint64_t>(limit - 1)});
  }
  return DLBRIDGE_OK;
}

// Moves element (0,...,0) by `bytes`. Changes byte_offset if the result is not negative, else data,
// which must be an address then.
DLBridgeStatus MoveOrigin(int64_t bytes, DLTensor* tensor, DLBridgeError* error) {
  const Wide offset = static_cast<Wide>(tensor->byte_offset) + bytes;
  if (offset >= 0) {
    tensor->byte_offset = static_cast<uint64_t>(offset);
    return DLBRIDGE_OK;
  }
  if (DeviceTypeOf(TypeOf(tensor->device)).data != DataIs::kAddress) {
    return Reject(error, {DLBRIDGE_RULE_HANDLE_RANGE, kNoAxis, 0, static_cast<uint64_t>(offset)});
  }
  tensor->data = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor->data) +
                                         static_cast<uint64_t>(offset));
  tensor->byte_offset = 0;
  return DLBRIDGE_OK;
}

DLBridgeStatus FillView(const Subject& parent, const DLBridgeViewSpec& spec, Node* node,
                        DLBridgeError* error) {
  Extent outer;
  DLBRIDGE_TRY(ParentExtent(parent, &outer, error));
  Extent inner =
      ScanTensor<true>(spec.ndim, spec.shape, spec.strides, node->shape(), node->strides());
  const uint32_t item_bits = ItemBits(parent.tensor.dtype, parent.flags);
  ByteExtent bytes;
  FirstBroken sink(error);
  if (!CheckExtent(spec.ndim, node->shape(), node->strides(), item_bits, &inner, &bytes, &sink)) {
    return sink.failure();
  }
  FillVersioned(node, parent.tensor, parent.label);
  if (inner.count == 0) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(CheckInside(outer, inner, spec.offset, error));
  const Wide bits = static_cast<Wide>(spec.offset) * item_bits;
  if (bits % 8 != 0) {
    return Reject(error, {DLBRIDGE_RULE_VIEW_OFFSET, kNoAxis, 0, static_cast<uint64_t>(bits)});
  }
  return MoveOrigin(static_cast<int64_t>(bits / 8), &node->versioned.dl_tensor, error);
}

DLBridgeStatus View(const DLManagedTensorVersioned* tensor, const DLBridgeViewSpec* spec,
                    DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckSpec(spec, error));
  Node* sibling = nullptr;
  Subject parent;
  DLBRIDGE_TRY(FindSharable(tensor, &sibling, &parent, error));
  DLBRIDGE_TRY(FindDtype(*spec, &parent, error));
  Node* node = AllocateNode(spec->ndim, 0);
  if (node == nullptr) {
    return RejectMemory(error);
  }
  InitNode(node, spec->ndim, parent.flags);
  const DLBridgeStatus status = FillView(parent, *spec, node, error);
  if (status != DLBRIDGE_OK) {
    DiscardNode(node);
    return status;
  }
  JoinRoot(node, sibling);
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_view(const DLManagedTensorVersioned* tensor, const DLBridgeViewSpec* spec,
                             DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  return dlbridge::View(tensor, spec, out, error);
}

}  // extern "C"
