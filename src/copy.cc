// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <cstdlib>

#include "strided_copy.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

<<<<<<< HEAD
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
=======
// Room for shape and strides, without an allocation where they are few.
class Axes {
 public:
  explicit Axes(int32_t ndim)
      : shape_(ndim <= kInPlace ? in_place_ : Allocate(ndim)), strides_(shape_ + ndim) {}
  Axes(const Axes&) = delete;
  Axes& operator=(const Axes&) = delete;
  ~Axes() {
    if (shape_ != in_place_) {
      std::free(shape_);
    }
  }
  // NULL where there was no memory.
  int64_t* shape() { return shape_; }
  int64_t* strides() { return strides_; }

 private:
  static constexpr int32_t kInPlace = 16;
  static int64_t* Allocate(int32_t ndim) {
    return static_cast<int64_t*>(std::malloc(2 * sizeof(int64_t) * static_cast<size_t>(ndim)));
  }

  int64_t in_place_[2 * kInPlace];
  int64_t* shape_;
  int64_t* strides_;
};

void CopyElements(const DLTensor& from, uint64_t from_flags, const int64_t* strides, Node* to) {
  const auto* source =
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from.data) + from.byte_offset);
  CopyStrided({to->ndim, to->shape(), strides, ItemBits(from.dtype, 0),
               ItemBits(from.dtype, from_flags), ItemBits(from.dtype, to->flags), source,
               to->versioned.dl_tensor.data});
>>>>>>> copy
}

}  // namespace

<<<<<<< HEAD
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
=======
DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error) {
  const DLTensor& from = *subject.tensor;
  const int32_t type = TypeOf(from.device);
  if (DeviceTypeOf(type).readable != DLBRIDGE_YES) {
    return Refuse(error, {DLBRIDGE_RULE_COPY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  // Shape and strides as they are checked are what is copied by: a private snapshot of both.
  Axes snapshot(from.ndim);
  if (snapshot.shape() == nullptr) {
    return RefuseMemory(error);
  }
  FirstBroken sink(error);
  if (!CheckLayout<true>(subject, *options.policy, snapshot.shape(), snapshot.strides(), &sink)) {
    return sink.failure();
  }
  const NewTensor tensor = {from.ndim, snapshot.shape(), MakeDevice(kDLCPU, 0), from.dtype,
                            flags,     options.version,  kDefaultAlignment,     options.allocator};
  Node* node = nullptr;
  DLBRIDGE_TRY(AllocateTensor(tensor, &node, error));
  if (node->versioned.dl_tensor.data != nullptr) {
    CopyElements(from, subject.flags, snapshot.strides(), node);
  }
  *out = node;
  return DLBRIDGE_OK;
>>>>>>> copy
}

}  // namespace dlbridge
