// SPDX-License-Identifier: Apache-2.0
// OpenCL's platforms, devices and contexts, and how they come into the table.
#include <cstdlib>
#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "device/opencl_driver.h"
#include "native/table.h"

namespace dlbridge {
namespace {

ClDevice Parent(ClDevice device) {
  ClDevice parent = nullptr;
  const int32_t code =
      g_opencl.call.clGetDeviceInfo(device, kClDeviceParent, sizeof(ClDevice), &parent, nullptr);
  return code == kClSuccess ? parent : nullptr;
}

int32_t ListedIndex(ClDevice device) {
  for (uint32_t i = 0; i < g_opencl.device_count; ++i) {
    if (g_opencl.devices[i] == device) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

DLBridgeStatus MakeContext(const ClPlatformRecord& platform, ClContext* out, DLBridgeError* error) {
  const ClProperty properties[] = {kClContextPlatform,
                                   reinterpret_cast<ClProperty>(platform.platform), 0};
  int32_t code = kClSuccess;
  *out = g_opencl.call.clCreateContext(properties, platform.device_count,
                                       g_opencl.devices + platform.first_device, nullptr, nullptr,
                                       &code);
  return CheckCl(code, "clCreateContext", error);
}

// The context of a platform's devices: made once, and kept to the end of the process, since entries
// of the table may hand it out at any time.
DLBridgeStatus PlatformContext(ClPlatformRecord* platform, ClContext* out, DLBridgeError* error) {
  *out = platform->context.load(std::memory_order_acquire);
  if (*out != nullptr) {
    return DLBRIDGE_OK;
  }
  ClContext made = nullptr;
  DLBRIDGE_TRY(MakeContext(*platform, &made, error));
  if (!platform->context.compare_exchange_strong(*out, made, std::memory_order_acq_rel)) {
    g_opencl.call.clReleaseContext(made);  // another thread was faster
    return DLBRIDGE_OK;
  }
  *out = made;
  return DLBRIDGE_OK;
}

DLBridgeStatus EnterOne(const ClPlatformRecord& platform, uint32_t index, ClContext context,
                        DLBridgeError* error) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = MakeDevice(kDLOpenCL, static_cast<int32_t>(index));
  entry.platform = ClNumber(platform.platform);
  entry.native_device = ClNumber(g_opencl.devices[index]);
  entry.context = ClNumber(context);
  entry.properties = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;
  uint8_t uuid[sizeof entry.uuid];
  const int32_t code = g_opencl.call.clGetDeviceInfo(g_opencl.devices[index], kClDeviceUuid,
                                                     sizeof uuid, uuid, nullptr);
  if (code == kClSuccess) {
    std::memcpy(entry.uuid, uuid, sizeof uuid);
  }
  bool mine = false;
  return EnterDevice(entry, &mine, error);
}

DLBridgeStatus EnterPlatform(ClPlatformRecord* platform, DLBridgeError* error) {
  ClContext context = nullptr;
  DLBRIDGE_TRY(PlatformContext(platform, &context, error));
  for (uint32_t i = 0; i < platform->device_count; ++i) {
    DLBRIDGE_TRY(EnterOne(*platform, platform->first_device + i, context, error));
  }
  return DLBRIDGE_OK;
}

}  // namespace

ClDevice RootDevice(ClDevice device) {
  for (ClDevice parent = Parent(device); parent != nullptr; parent = Parent(device)) {
    device = parent;
  }
  return device;
}

int32_t DeviceIndex(ClDevice device) {
  const int32_t index = ListedIndex(device);
  return index >= 0 || device == nullptr ? index : ListedIndex(RootDevice(device));
}

const ClPlatformRecord* FindPlatform(ClPlatform platform) {
  for (uint32_t i = 0; i < g_opencl.platform_count; ++i) {
    if (g_opencl.platforms[i].platform == platform) {
      return &g_opencl.platforms[i];
    }
  }
  return nullptr;
}

DLBridgeStatus ContextDevices(ClContext context, ClDeviceList* out, DLBridgeError* error) {
  *out = {nullptr, 0};
  size_t size = 0;
  DLBRIDGE_TRY(
      CheckCl(g_opencl.call.clGetContextInfo(context, kClContextDevices, 0, nullptr, &size),
              "clGetContextInfo", error));
  auto* devices = static_cast<ClDevice*>(std::malloc(size + sizeof(ClDevice)));
  if (devices == nullptr) {
    return RefuseMemory(error);
  }
  const int32_t code =
      g_opencl.call.clGetContextInfo(context, kClContextDevices, size, devices, nullptr);
  if (code != kClSuccess) {
    std::free(devices);
    return RefuseCl(error, "clGetContextInfo", code);
  }
  *out = {devices, static_cast<uint32_t>(size / sizeof(ClDevice))};
  return DLBRIDGE_OK;
}

void FreeDevices(ClDeviceList* list) {
  std::free(list->devices);
  *list = {nullptr, 0};
}

bool IsSameClDevice(ClDevice a, ClDevice b) {
  return a == b || (a != nullptr && b != nullptr && (RootDevice(a) == b || a == RootDevice(b)));
}

bool HasDevice(const ClDeviceList& list, ClDevice device) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (IsSameClDevice(list.devices[i], device)) {
      return true;
    }
  }
  return false;
}

DLBridgeStatus ContextPlatform(ClContext context, const ClPlatformRecord** out,
                               DLBridgeError* error) {
  *out = &g_opencl.platforms[0];
  if (g_opencl.platform_count == 1) {
    return DLBRIDGE_OK;
  }
  ClDeviceList list;
  DLBRIDGE_TRY(ContextDevices(context, &list, error));
  ClPlatform platform = nullptr;
  const int32_t code = list.count == 0
                           ? kClDeviceNotFound
                           : g_opencl.call.clGetDeviceInfo(list.devices[0], kClDevicePlatform,
                                                           sizeof(ClPlatform), &platform, nullptr);
  FreeDevices(&list);
  *out = FindPlatform(platform);
  return CheckCl(code, "clGetDeviceInfo", error);
}

// One platform that fails does not hide the others.
DLBridgeStatus EnumerateOpenCl(int32_t device_type, DLBridgeError* error) {
  if (device_type != kDLOpenCL) {
    return DLBRIDGE_OK;  // SYCL numbers its devices itself, and must be asked
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

}  // namespace dlbridge
