// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include "strided_copy.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

void CopyElements(const DLTensor& from, uint64_t from_flags, const int64_t* strides, Node* to) {
  const auto* source =
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from.data) + from.byte_offset);
  CopyStrided({to->ndim, to->shape(), strides, ItemBits(from.dtype, 0),
               ItemBits(from.dtype, from_flags), ItemBits(from.dtype, to->flags), source,
               to->versioned.dl_tensor.data});
}

}  // namespace

DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error) {
  const DLTensor& from = *subject.tensor;
  const int32_t type = TypeOf(from.device);
  if (DeviceTypeOf(type).readable != DLBRIDGE_YES) {
    return Refuse(error, {DLBRIDGE_RULE_COPY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  // Shape and strides as they are checked are what is copied by: a private snapshot of both.
  Node* snapshot = AllocateNode(from.ndim, 0);
  if (snapshot == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(snapshot, from.ndim, subject.flags);
  FirstBroken sink(error);
  CheckLayout<true>(subject, *options.policy, snapshot->shape(), snapshot->strides(), &sink);
  DLBridgeStatus status = sink.status();
  Node* node = nullptr;
  if (status == DLBRIDGE_OK) {
    const NewTensor tensor = {
        from.ndim, snapshot->shape(), MakeDevice(kDLCPU, 0), from.dtype,
        flags,     options.version,   kDefaultAlignment,     options.allocator};
    status = AllocateTensor(tensor, &node, error);
  }
  if (status == DLBRIDGE_OK) {
    if (node->versioned.dl_tensor.data != nullptr) {
      CopyElements(from, subject.flags, snapshot->strides(), node);
    }
    *out = node;
  }
  DiscardNode(snapshot);
  return status;
}

}  // namespace dlbridge
