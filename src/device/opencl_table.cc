// SPDX-License-Identifier: Apache-2.0
// What the context table says of OpenCL's devices.
#include "describe/device.h"
#include "device/opencl_driver.h"
#include "native/table.h"

namespace dlbridge {
namespace {

bool IsRegistered(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) == 0;
}

bool IsNative(const DLBridgeContextEntry& entry, int32_t type, ClDevice device) {
  return entry.backend == DLBRIDGE_BACKEND_OPENCL && TypeOf(entry.device) == type &&
         entry.native_device == ClNumber(device);
}

// The id of a device in the table, that of an application's entry if there is one; -1.
int32_t TableId(int32_t type, ClDevice device) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  int32_t id = -1;
  uint64_t cursor = 0;
  while (SharedTable().next(&cursor, &entry) == DLBRIDGE_OK) {
    if (!IsNative(entry, type, device)) {
      continue;
    }
    if (IsRegistered(entry)) {
      return entry.device.device_id;
    }
    id = id < 0 ? entry.device.device_id : id;
  }
  return id;
}

}  // namespace

bool IsLabelled(DLDevice label, ClDevice device) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return SharedTable().find(label, 0, &entry) == DLBRIDGE_OK &&
         IsNative(entry, TypeOf(label), device);
}

NamedDevice::NamedDevice(DLDevice label) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  if (SharedTable().find(label, 0, &entry) == DLBRIDGE_OK && IsRegistered(entry) &&
      SharedTable().retain(entry.id) == DLBRIDGE_OK) {
    entry_ = entry.id;
    device_ = entry.backend == DLBRIDGE_BACKEND_OPENCL ? ClHandle<ClDevice>(entry.native_device)
                                                       : nullptr;
    return;
  }
  const auto id = static_cast<uint32_t>(label.device_id);
  const bool listed = TypeOf(label) == kDLOpenCL && id < g_opencl.device_count;
  device_ = listed ? g_opencl.devices[id] : nullptr;
}

NamedDevice::~NamedDevice() {
  if (entry_ != 0) {
    SharedTable().release(entry_);
  }
}

int32_t IdOfDevice(int32_t type, ClDevice device, DLDevice label) {
  int32_t id = TableId(type, device);
  id = id < 0 ? TableId(type, RootDevice(device)) : id;
  if (id < 0) {
    id = DeviceIndex(device);
  }
  // A label that names another device must not be met by chance.
  return TypeOf(label) == type && id == label.device_id ? -1 : id;
}

}  // namespace dlbridge
