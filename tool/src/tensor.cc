// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <cstring>

namespace dlbridge::tool {

namespace {

// Copied as bytes: the type may be any integer.
DLDevice Device(int32_t type, int32_t id) {
  const int32_t fields[2] = {type, id};
  DLDevice device;
  std::memcpy(&device, fields, sizeof device);
  return device;
}

// The library only reads the arrays, but DLPack's pointers are not const.
int64_t* Pointer(const std::optional<std::vector<int64_t>>& numbers) {
  static int64_t none = 0;
  if (!numbers) {
    return nullptr;
  }
  return numbers->empty() ? &none : const_cast<int64_t*>(numbers->data());
}

}  // namespace

DLTensor Tensor::View() const {
  DLTensor view;
  std::memset(&view, 0, sizeof view);
  view.data = reinterpret_cast<void*>(static_cast<uintptr_t>(data));
  view.device = Device(device_type, device_id);
  view.ndim = ndim;
  view.dtype = dtype;
  view.shape = Pointer(shape);
  view.strides = Pointer(strides);
  view.byte_offset = byte_offset;
  return view;
}

bool Tensor::HasShortArrays() const {
  const auto is_short = [&](const auto& numbers) {
    return numbers && numbers->size() < static_cast<size_t>(Axes());
  };
  return is_short(shape) || is_short(strides);
}

std::string DtypeName(DLDataType dtype) {
  char name[64] = "";
  dlbridge_dtype_format(dtype, name, sizeof name, nullptr, nullptr);
  return name;
}

std::string DeviceName(int32_t type, int32_t id) {
  char name[64] = "";
  dlbridge_device_format(Device(type, id), name, sizeof name, nullptr, nullptr);
  return name;
}

std::string KindName(DLBridgeKind kind) {
  return kind == DLBRIDGE_KIND_LEGACY      ? "LEGACY"
         : kind == DLBRIDGE_KIND_VERSIONED ? "VERSIONED"
                                           : "BORROWED";
}

}  // namespace dlbridge::tool
