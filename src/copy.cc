// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include "strided_copy.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

const void* FirstElement(const DLTensor& tensor) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(tensor.data) +
                                       tensor.byte_offset);
}

DLBridgeStatus CopySnapshot(const Subject& subject, const Options& options, uint64_t flags,
                            Node* snapshot, Node** out, DLBridgeError* error) {
  const DLTensor& from = *subject.tensor;
  const NewTensor tensor = {from.ndim, snapshot->shape(), MakeDevice(kDLCPU, 0), from.dtype,
                            flags,     options.version,   kDefaultAlignment,     options.allocator};
  DLBRIDGE_TRY(AllocateTensor(tensor, out, error));
  void* to = (*out)->versioned.dl_tensor.data;
  if (to != nullptr) {
    CopyElements(FirstElement(from), snapshot, WidthsOf(from.dtype, subject.flags, flags), to);
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus SnapshotLayout(const Subject& subject, const Policy& policy, Node** out,
                              DLBridgeError* error) {
  Node* snapshot = AllocateNode(subject.tensor->ndim, 0);
  if (snapshot == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(snapshot, subject.tensor->ndim, subject.flags);
  FirstBroken sink(error);
  CheckLayout<true>(subject, policy, snapshot->shape(), snapshot->strides(), &sink);
  if (sink.status() != DLBRIDGE_OK) {
    DiscardNode(snapshot);
    return sink.failure();
  }
  *out = snapshot;
  return DLBRIDGE_OK;
}

ItemWidths WidthsOf(DLDataType dtype, uint64_t from_flags, uint64_t to_flags) {
  return {ItemBits(dtype, 0), ItemBits(dtype, from_flags), ItemBits(dtype, to_flags)};
}

void CopyElements(const void* from, Node* snapshot, const ItemWidths& widths, void* to) {
  CopyStrided({snapshot->ndim, snapshot->shape(), snapshot->strides(), widths.element, widths.from,
               widths.to, from, to});
}

DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error) {
  const int32_t type = TypeOf(subject.tensor->device);
  if (DeviceTypeOf(type).readable != DLBRIDGE_YES) {
    return Refuse(error, {DLBRIDGE_RULE_COPY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  Node* snapshot = nullptr;
  DLBRIDGE_TRY(SnapshotLayout(subject, *options.policy, &snapshot, error));
  const DLBridgeStatus status = CopySnapshot(subject, options, flags, snapshot, out, error);
  DiscardNode(snapshot);
  return status;
}

}  // namespace dlbridge
