// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <cstdlib>

#include "strided_copy.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

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
}

}  // namespace dlbridge
