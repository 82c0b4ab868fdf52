// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.h"

#include <cstdlib>

#include "copy/strided_copy.h"
#include "describe/boundary.h"

namespace dlbridge {
namespace {

const void* FirstElement(const DLTensor& tensor) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(tensor.data) +
                                       tensor.byte_offset);
}

}  // namespace

LayoutSnapshot::LayoutSnapshot(int32_t ndim) : ndim_(ndim), shape_(in_place_) {
  if (ndim > kInPlace) {
    const size_t count = 2 * static_cast<size_t>(ndim);
    shape_ = static_cast<int64_t*>(std::malloc(count * sizeof(int64_t)));
  }
}

LayoutSnapshot::~LayoutSnapshot() {
  if (shape_ != in_place_) {
    std::free(shape_);
  }
}

DLBridgeStatus LayoutSnapshot::Take(const Subject& subject, const Policy& policy,
                                    DLBridgeError* error) {
  if (shape_ == nullptr) {
    return RejectMemory(error);
  }
  FirstBroken sink(error);
  CheckLayout(subject, policy, shape_, shape_ + ndim_, &sink);
  return sink.status();
}

ItemWidths WidthsOf(DLDataType dtype, uint64_t from_flags, uint64_t to_flags) {
  return {ItemBits(dtype, 0), ItemBits(dtype, from_flags), ItemBits(dtype, to_flags)};
}

void CopyElements(const void* from, const LayoutSnapshot& layout, const ItemWidths& widths,
                  void* to) {
  CopyStrided({layout.ndim(), layout.shape(), layout.strides(), widths.element, widths.from,
               widths.to, from, to});
}

DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error) {
  const DLTensor& from = subject.tensor;
  const int32_t type = TypeOf(from.device);
  if (DeviceTypeOf(type).readable != DLBRIDGE_YES) {
    return Reject(error, {DLBRIDGE_RULE_COPY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  // Unknown flag bits may change the layout of the source.
  if ((subject.flags & ~kAllFlags) != 0) {
    return Reject(error, {DLBRIDGE_RULE_FLAGS_UNKNOWN, kNoAxis, kAllFlags, subject.flags});
  }
  LayoutSnapshot layout(from.ndim);
  DLBRIDGE_TRY(layout.Take(subject, *options.policy, error));
  const NewTensor tensor = {from.ndim, layout.shape(),  MakeDevice(kDLCPU, 0), from.dtype,
                            flags,     options.version, kDefaultAlignment,     options.allocator,
                            false};
  DLBRIDGE_TRY(AllocateTensor(tensor, out, error));
  void* to = (*out)->versioned.dl_tensor.data;
  if (to != nullptr) {
    CopyElements(FirstElement(from), layout, WidthsOf(from.dtype, subject.flags, flags), to);
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
