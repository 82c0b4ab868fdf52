// SPDX-License-Identifier: Apache-2.0
// OpenCL's platforms, devices and contexts, and how they are entered into the table.
#include <cstdlib>
#include <cstring>

#include "describe/device.h"
#include "device/opencl/internal.h"
#include "native/table.h"

namespace dlbridge::opencl {
namespace {

Device Parent(Device device) {
  Device parent = nullptr;
  const int32_t code =
      g_opencl.call.clGetDeviceInfo(device, kDeviceParent, sizeof(Device), &parent, nullptr);
  return code == kSuccess ? parent : nullptr;
}

int32_t ListedIndex(Device device) {
  for (uint32_t i = 0; i < g_opencl.device_count; ++i) {
    if (g_opencl.devices[i] == device) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

DLBridgeStatus MakeContext(const PlatformRecord& platform, Context* out, DLBridgeError* error) {
  const Property properties[] = {kContextPlatform, reinterpret_cast<Property>(platform.platform),
                                 0};
  int32_t code = kSuccess;
  *out = g_opencl.call.clCreateContext(properties, platform.device_count,
                                       g_opencl.devices + platform.first_device, nullptr, nullptr,
                                       &code);
  return Check(code, "clCreateContext", error);
}

// The context of a platform's devices: created once and kept until the process ends, since entries
// of the table may refer to it at any time.
DLBridgeStatus PlatformContext(PlatformRecord* platform, Context* out, DLBridgeError* error) {
  *out = platform->context.load(std::memory_order_acquire);
  if (*out != nullptr) {
    return DLBRIDGE_OK;
  }
  Context made = nullptr;
  DLBRIDGE_TRY(MakeContext(*platform, &made, error));
  if (!platform->context.compare_exchange_strong(*out, made, std::memory_order_acq_rel)) {
    g_opencl.call.clReleaseContext(made);  // another thread was faster
    return DLBRIDGE_OK;
  }
  *out = made;
  return DLBRIDGE_OK;
}

DLBridgeStatus EnterOne(const PlatformRecord& platform, uint32_t index, Context context,
                        DLBridgeError* error) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = MakeDevice(kDLOpenCL, static_cast<int32_t>(index));
  entry.platform = ToInteger(platform.platform);
  entry.native_device = ToInteger(g_opencl.devices[index]);
  entry.context = ToInteger(context);
  entry.properties = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;
  uint8_t uuid[sizeof entry.uuid];
  const int32_t code = g_opencl.call.clGetDeviceInfo(g_opencl.devices[index], kDeviceUuid,
                                                     sizeof uuid, uuid, nullptr);
  if (code == kSuccess) {
    std::memcpy(entry.uuid, uuid, sizeof uuid);
  }
  bool mine = false;
  return EnterDevice(entry, &mine, error);
}

DLBridgeStatus EnterPlatform(PlatformRecord* platform, DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(PlatformContext(platform, &context, error));
  for (uint32_t i = 0; i < platform->device_count; ++i) {
    DLBRIDGE_TRY(EnterOne(*platform, platform->first_device + i, context, error));
  }
  return DLBRIDGE_OK;
}

}  // namespace

Device RootDevice(Device device) {
  for (Device parent = Parent(device); parent != nullptr; parent = Parent(device)) {
    device = parent;
  }
  return device;
}

int32_t DeviceIndex(Device device) {
  const int32_t index = ListedIndex(device);
  return index >= 0 || device == nullptr ? index : ListedIndex(RootDevice(device));
}

const PlatformRecord* FindPlatform(Platform platform) {
  for (uint32_t i = 0; i < g_opencl.platform_count; ++i) {
    if (g_opencl.platforms[i].platform == platform) {
      return &g_opencl.platforms[i];
    }
  }
  return nullptr;
}

DLBridgeStatus ContextDevices(Context context, DeviceList* out, DLBridgeError* error) {
  *out = {nullptr, 0};
  size_t size = 0;
  DLBRIDGE_TRY(Check(g_opencl.call.clGetContextInfo(context, kContextDevices, 0, nullptr, &size),
                     "clGetContextInfo", error));
  auto* devices = static_cast<Device*>(std::malloc(size + sizeof(Device)));
  if (devices == nullptr) {
    return RejectMemory(error);
  }
  const int32_t code =
      g_opencl.call.clGetContextInfo(context, kContextDevices, size, devices, nullptr);
  if (code != kSuccess) {
    std::free(devices);
    return RejectCall(error, "clGetContextInfo", code);
  }
  *out = {devices, static_cast<uint32_t>(size / sizeof(Device))};
  return DLBRIDGE_OK;
}

void FreeDevices(DeviceList* list) {
  std::free(list->devices);
  *list = {nullptr, 0};
}

bool IsSameDevice(Device a, Device b) {
  return a == b || (a != nullptr && b != nullptr && (RootDevice(a) == b || a == RootDevice(b)));
}

bool HasDevice(const DeviceList& list, Device device) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (IsSameDevice(list.devices[i], device)) {
      return true;
    }
  }
  return false;
}

DLBridgeStatus ContextPlatform(Context context, const PlatformRecord** out, DLBridgeError* error) {
  *out = &g_opencl.platforms[0];
  if (g_opencl.platform_count == 1) {
    return DLBRIDGE_OK;
  }
  DeviceList list;
  DLBRIDGE_TRY(ContextDevices(context, &list, error));
  Platform platform = nullptr;
  const int32_t code = list.count == 0
                           ? kDeviceNotFound
                           : g_opencl.call.clGetDeviceInfo(list.devices[0], kDevicePlatform,
                                                           sizeof(Platform), &platform, nullptr);
  FreeDevices(&list);
  *out = FindPlatform(platform);
  return Check(code, "clGetDeviceInfo", error);
}

// A platform that fails does not hide the others.
DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error) {
  if (device_type != kDLOpenCL) {
    return DLBRIDGE_OK;  // SYCL numbers its own devices, which OpenCL cannot enumerate
  }
  DLBridgeStatus status = DLBRIDGE_OK;
  uint32_t entered = 0;
  for (uint32_t i = 0; i < g_opencl.platform_count; ++i) {
    const DLBridgeStatus one =
        EnterPlatform(&g_opencl.platforms[i], status == DLBRIDGE_OK ? error : nullptr);
    status = status == DLBRIDGE_OK ? one : status;
    entered += one == DLBRIDGE_OK ? 1 : 0;
  }
  return entered != 0 ? DLBRIDGE_OK : status;
}

// ------------------------------------------------------------------------- the context table

namespace {

bool IsRegistered(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) == 0;
}

bool IsNative(const DLBridgeContextEntry& entry, int32_t type, Device device) {
  return entry.backend == DLBRIDGE_BACKEND_OPENCL && TypeOf(entry.device) == type &&
         entry.native_device == ToInteger(device);
}

// The id of a device in the table, a registered entry's if there is one; -1 if there is none.
int32_t TableId(int32_t type, Device device) {
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

bool IsLabelled(DLDevice label, Device device) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return SharedTable().find(label, 0, &entry) == DLBRIDGE_OK &&
         IsNative(entry, TypeOf(label), device);
}

NamedDevice::NamedDevice(DLDevice label) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  if (SharedTable().find(label, 0, &entry) == DLBRIDGE_OK && IsRegistered(entry) &&
      SharedTable().retain(entry.id) == DLBRIDGE_OK) {
    entry_ = entry.id;
    device_ =
        entry.backend == DLBRIDGE_BACKEND_OPENCL ? ToHandle<Device>(entry.native_device) : nullptr;
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

int32_t IdOfDevice(int32_t type, Device device, DLDevice label) {
  int32_t id = TableId(type, device);
  id = id < 0 ? TableId(type, RootDevice(device)) : id;
  if (id < 0) {
    id = DeviceIndex(device);
  }
  // The label names another device: never return its id.
  return TypeOf(label) == type && id == label.device_id ? -1 : id;
}

}  // namespace dlbridge::opencl
