// SPDX-License-Identifier: Apache-2.0
// The layout of a tensor, whatever its data, device and version are.
#include <cstring>

#include "describe/boundary.h"
#include "validate/rules.h"

namespace dlbridge {
namespace {

// The policy of dlbridge_layout, which checks only that the tensor has a layout.
constexpr Policy LayoutPolicy() {
  Policy policy = kDefaultPolicy;
  policy.options = DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES;
  return policy;
}
constexpr Policy kLayoutPolicy = LayoutPolicy();

DLBridgeStatus CheckDescribable(const DLTensor& tensor, DLBridgeError* error) {
  FirstBroken sink(error);
  if (IsAbove(tensor.ndim, DLBRIDGE_MAX_NDIM)) {
    RejectNdim(tensor.ndim, 0, DLBRIDGE_MAX_NDIM, &sink);
  } else if (!IsPlainDtype(tensor.dtype) && !CheckOddDtype(tensor.dtype, kLayoutPolicy, &sink)) {
    return sink.status();
  } else if (tensor.ndim > 0 && tensor.shape == nullptr) {
    sink.Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(tensor.ndim), 0});
  }
  return sink.status();
}

void DescribeAxes(const LayoutView& view, DLBridgeLayout* out) {
  for (int32_t i = 0; view.strides != nullptr && i < view.tensor.ndim; ++i) {
    const int64_t stride = view.strides[i];
    if (view.shape[i] == 1 || stride > 0) {
      continue;
    }
    const uint64_t bit = uint64_t{1} << i;
    if (stride == 0) {
      out->properties |= DLBRIDGE_LAYOUT_BROADCAST;
      out->broadcast_axes |= bit;
    } else {
      out->properties |= DLBRIDGE_LAYOUT_NEGATIVE_STRIDES;
      out->negative_axes |= bit;
    }
  }
}

void Describe(const LayoutView& view, uint64_t flags, DLBridgeLayout* out) {
  out->ndim = view.tensor.ndim;
  out->item_bits = ItemBits(view.tensor.dtype, flags);
  out->element_count = view.extent.count;
  out->packed_bytes = view.bytes.packed;
  out->begin = view.bytes.begin;
  out->end = view.bytes.end;
  out->alignment = AlignmentOf(view.tensor);
  out->self_overlap = OverlapOf(view);
  if (view.extent.count == 0) {
    out->properties |= DLBRIDGE_LAYOUT_EMPTY;
  } else {
    DescribeAxes(view, out);
  }
  if (view.extent.compact) {
    out->properties |= DLBRIDGE_LAYOUT_C_CONTIGUOUS;
  }
  if (IsFortranContiguous(view)) {
    out->properties |= DLBRIDGE_LAYOUT_F_CONTIGUOUS;
  }
  if (out->item_bits != ItemBits(view.tensor.dtype, 0)) {
    out->properties |= DLBRIDGE_LAYOUT_PADDED;
  }
  if (DeviceTypeOf(TypeOf(view.tensor.device)).data == DataIs::kHandle) {
    out->properties |= DLBRIDGE_LAYOUT_OPAQUE;
  }
}

DLBridgeStatus Layout(const DLTensor& tensor, uint64_t flags, DLBridgeLayout* out,
                      DLBridgeError* error) {
  DLBRIDGE_TRY(CheckDescribable(tensor, error));
  FirstBroken sink(error);
  int64_t shape[DLBRIDGE_MAX_NDIM];
  int64_t strides[DLBRIDGE_MAX_NDIM];
  Extent extent = ScanTensor<true>(tensor.ndim, tensor.shape, tensor.strides, shape, strides);
  ByteExtent bytes;
  if (CheckExtent(tensor.ndim, shape, strides, ItemBits(tensor.dtype, flags), &extent, &bytes,
                  &sink)) {
    Describe({tensor, shape, tensor.strides != nullptr ? strides : nullptr, extent, bytes, false},
             flags, out);
  }
  return sink.status();
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_layout(const DLTensor* tensor, uint64_t tensor_flags, DLBridgeLayout* out,
                               DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckOut(out, "out", error));
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBRIDGE_TRY(dlbridge::Layout(dlbridge::LoadTensor(*tensor), tensor_flags, &layout, error));
  dlbridge::WriteOut(layout, out);
  return DLBRIDGE_OK;
}

}  // extern "C"
