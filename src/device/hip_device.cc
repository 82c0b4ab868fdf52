// SPDX-License-Identifier: Apache-2.0
// HIP's devices: which there are, what tells them apart, and which is the thread's.
#include <cstring>

#include "describe/device.h"
#include "device/hip.h"
#include "native/table.h"
#include "support/text.h"

namespace dlbridge {
namespace {

bool IsZero(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  return true;
}

// Older runtimes have no UUIDs, and some devices have one of zeros.
DLBridgeStatus AskUuid(int32_t device, uint8_t (&out)[16], DLBridgeError* error) {
  std::memset(out, 0, sizeof out);
  if (g_hip.driver.hipDeviceGetUuid == nullptr) {
    return DLBRIDGE_OK;
  }
  HipUuid uuid;
  DLBRIDGE_TRY_HIP(hipDeviceGetUuid, &uuid, device);
  std::memcpy(out, uuid.bytes, sizeof out);
  return DLBRIDGE_OK;
}

DLBridgeStatus EnterHipDevice(int32_t device, DLBridgeError* error) {
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

DLBridgeStatus HipEnumerate(int32_t /*device_type*/, DLBridgeError* error) {
  for (int32_t device = 0; device < g_hip.device_count; ++device) {
    DLBRIDGE_TRY(EnterHipDevice(device, error));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus HipIdentify(int32_t device, HipIdentity* out, DLBridgeError* error) {
  std::memset(out, 0, sizeof *out);
  uint8_t uuid[16];
  DLBRIDGE_TRY(AskUuid(device, uuid, error));
  if (!IsZero(uuid, sizeof uuid)) {
    out->kind = kHipUuid;
    std::memcpy(out->bytes, uuid, sizeof uuid);
    return DLBRIDGE_OK;
  }
  if (g_hip.driver.hipDeviceGetPCIBusId == nullptr) {
    return RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "this HIP runtime",
                        "tells neither the UUID nor the PCI bus of a device, so that another "
                        "process cannot find it");
  }
  char bus[sizeof out->bytes] = {};
  DLBRIDGE_TRY_HIP(hipDeviceGetPCIBusId, bus, static_cast<int32_t>(sizeof bus), device);
  out->kind = kHipPciBusId;
  TextWriter(reinterpret_cast<char*>(out->bytes), sizeof out->bytes).String(bus);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckHipDevice(int32_t device, const char* argument, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(device >= 0 && device < g_hip.device_count)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("is of device ")
      .Signed(device)
      .String(", but HIP has ")
      .Signed(g_hip.device_count)
      .String(" here, counted from 0");
  return RefuseArgument(error, argument, problem);
}

DLBridgeStatus HipDeviceScope::Enter(int32_t device, DLBridgeError* error) {
  if (saved_ < 0) {
    int32_t current = -1;
    DLBRIDGE_TRY_HIP(hipGetDevice, &current);
    saved_ = current;
    current_ = current;
  }
  if (current_ != device) {
    DLBRIDGE_TRY_HIP(hipSetDevice, device);
    current_ = device;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus HipDeviceScope::Leave(DLBridgeError* error) {
  if (current_ != saved_) {
    current_ = saved_;
    DLBRIDGE_TRY_HIP(hipSetDevice, saved_);
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
