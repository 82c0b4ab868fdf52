// SPDX-License-Identifier: Apache-2.0
#include "validate/rules.h"

namespace dlbridge {

bool ListsDevice(const Policy& policy, const DLDevice& device) {
  for (size_t i = 0; i < policy.devices.count; ++i) {
    const DLDevice& listed = policy.devices.items[i];
    if (TypeOf(listed) == TypeOf(device) &&
        (listed.device_id == -1 || listed.device_id == device.device_id)) {
      return true;
    }
  }
  return false;
}

bool ListsDtype(const Policy& policy, DLDataType dtype) {
  for (size_t i = 0; i < policy.dtypes.count; ++i) {
    if (Packed(policy.dtypes.items[i]) == Packed(dtype)) {
      return true;
    }
  }
  return false;
}

bool IsFortranContiguous(const LayoutView& view) {
  if (view.extent.count == 0) {
    return true;
  }
  uint64_t product = 1;
  // NULL strides mean C order, which is also F order if at most one axis is longer than 1.
  const bool c_order = view.strides == nullptr;
  int longer = 0;
  for (int32_t i = 0; i < view.tensor.ndim; ++i) {
    if (view.shape[i] == 1) {
      continue;
    }
    ++longer;
    if (!c_order && static_cast<uint64_t>(view.strides[i]) != product) {
      return false;
    }
    product *= static_cast<uint64_t>(view.shape[i]);
  }
  return !c_order || longer <= 1;
}

uint64_t AlignmentOf(const DLTensor& tensor) {
  uint64_t address = tensor.byte_offset;
  if (DeviceTypeOf(TypeOf(tensor.device)).data != DataIs::kHandle) {
    address += reinterpret_cast<uintptr_t>(tensor.data);
  }
  return address & (0 - address);
}

DLBridgeStatus Validate(const Subject& subject, const Policy& policy, DLBridgeError* error) {
  FirstBroken sink(error);
  CheckTensor(subject, policy, &sink);
  return sink.status();
}

// NOLINTNEXTLINE(readability-function-size): see the declaration
DLBridgeStatus ValidateFields(void* data, DLDevice device, int32_t ndim, DLDataType dtype,
                              int64_t* shape, int64_t* strides, uint64_t byte_offset,
                              uint64_t flags, Version version, DLBridgeError* error) {
  const DLTensor tensor = {data, device, ndim, dtype, shape, strides, byte_offset};
  // The default policy does not ask whether the tensor may be written to.
  return Validate({tensor, flags, {0, 0}, version, false}, kDefaultPolicy, error);
}

}  // namespace dlbridge
