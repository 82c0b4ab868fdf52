// SPDX-License-Identifier: Apache-2.0
// HIP's devices: enumeration, identification, and the thread's current device.
#include <cstring>

#include "describe/device.h"
#include "device/hip/internal.h"
#include "native/table.h"
#include "support/text.h"

namespace dlbridge::hip {
namespace {

bool IsZero(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  return true;
}

// Older runtimes have no UUIDs, and some devices have a UUID of zeros.
DLBridgeStatus AskUuid(int32_t device, uint8_t (&out)[16], DLBridgeError* error) {
  std::memset(out, 0, sizeof out);
  if (g_hip.driver.hipDeviceGetUuid == nullptr) {
    return DLBRIDGE_OK;
  }
  Uuid uuid;
  DLBRIDGE_HIP_TRY(hipDeviceGetUuid, &uuid, device);
  std::memcpy(out, uuid.bytes, sizeof out);
  return DLBRIDGE_OK;
}

DLBridgeStatus Enter(int32_t device, DLBridgeError* error) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_HIP;
  entry.device = MakeDevice(kDLROCM, device);
  entry.native_device = static_cast<uint64_t>(device);
  entry.properties = DLBRIDGE_CONTEXT_ENUMERATED;
  DLBRIDGE_TRY(AskUuid(device, entry.uuid, error));
  bool mine = false;
  return EnterDevice(entry, &mine, error);
}

}  // namespace

DLBridgeStatus Enumerate(int32_t /*device_type*/, DLBridgeError* error) {
  for (int32_t device = 0; device < g_hip.device_count; ++device) {
    DLBRIDGE_TRY(Enter(device, error));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Identify(int32_t device, Identity* out, DLBridgeError* error) {
  std::memset(out, 0, sizeof *out);
  uint8_t uuid[16];
  DLBRIDGE_TRY(AskUuid(device, uuid, error));
  if (!IsZero(uuid, sizeof uuid)) {
    out->kind = kUuid;
    std::memcpy(out->bytes, uuid, sizeof uuid);
    return DLBRIDGE_OK;
  }
  if (g_hip.driver.hipDeviceGetPCIBusId == nullptr) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "this HIP runtime",
                        "reports neither the UUID nor the PCI bus of a device, so that another "
                        "process cannot find the device");
  }
  char bus[sizeof out->bytes] = {};
  DLBRIDGE_HIP_TRY(hipDeviceGetPCIBusId, bus, static_cast<int32_t>(sizeof bus), device);
  out->kind = kPciBusId;
  TextWriter(reinterpret_cast<char*>(out->bytes), sizeof out->bytes).String(bus);
  return DLBRIDGE_OK;
}

namespace {

// For a device and itself, the runtime reports that peer access is impossible.
DLBridgeStatus AskAccess(int32_t device, int32_t peer, int32_t* can, DLBridgeError* error) {
  *can = device == peer ? 1 : 0;
  if (device != peer && g_hip.driver.hipDeviceCanAccessPeer != nullptr) {
    DLBRIDGE_HIP_TRY(hipDeviceCanAccessPeer, can, device, peer);
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error) {
  *capable = 0;
  DLBRIDGE_TRY(CheckDevice(native_device, "native_device", error));
  for (int32_t device = 0; device < g_hip.device_count && device < 64; ++device) {
    int32_t can = 0;
    DLBRIDGE_TRY(AskAccess(device, native_device, &can, error));
    *capable |= static_cast<uint64_t>(can != 0) << device;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckDevice(int32_t device, const char* argument, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(device >= 0 && device < g_hip.device_count)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("names device ")
      .Signed(device)
      .String(": expected 0 to ")
      .Signed(g_hip.device_count - 1)
      .String(", the devices that HIP has in this process");
  return RejectArgument(error, argument, problem);
}

DLBridgeStatus DeviceScope::Enter(int32_t device, DLBridgeError* error) {
  if (saved_ < 0) {
    int32_t current = -1;
    DLBRIDGE_HIP_TRY(hipGetDevice, &current);
    saved_ = current;
    current_ = current;
  }
  if (current_ != device) {
    DLBRIDGE_HIP_TRY(hipSetDevice, device);
    current_ = device;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus DeviceScope::Leave(DLBridgeError* error) {
  if (current_ != saved_) {
    current_ = saved_;
    DLBRIDGE_HIP_TRY(hipSetDevice, saved_);
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::hip
