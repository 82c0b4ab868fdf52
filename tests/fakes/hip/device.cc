// SPDX-License-Identifier: Apache-2.0
// Initialisation, devices and errors of the fake.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_hip {

void Uuid(int device, char* out) {
  const State& state = TheState();
  const int physical = state.reversed ? state.device_count - 1 - device : device;
  std::memset(out, 0, 16);
  if (state.uuids) {
    std::snprintf(out, 16, "fake-device-%d", physical);
  }
}

}  // namespace fake_hip

using fake_hip::Call;
using fake_hip::TheState;
using fake_hip::TheThread;

extern "C" {

FAKE_EXPORT hipError_t hipInit(unsigned int flags) {
  const Call call("hipInit", std::to_string(flags), false);
  if (call.fails()) {
    return call.Fail();
  }
  TheState().initialised = true;
  TheState().process = getpid();
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipRuntimeGetVersion(int* version) {
  const Call call("hipRuntimeGetVersion", "", false);
  if (call.fails()) {
    return call.Fail();
  }
  *version = TheState().version;
  return call.Return(hipSuccess);
}

#if FAKE_HIP_LEVEL > 0
FAKE_EXPORT hipError_t hipDriverGetVersion(int* version) {
  const Call call("hipDriverGetVersion", "", false);
  if (call.fails()) {
    return call.Fail();
  }
  *version = TheState().version + 1;
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  FAKE_CALL(hipDeviceGetUuid, std::to_string(device))
  if (device < 0 || device >= TheState().device_count) {
    return call.Reject(hipErrorInvalidDevice, "no such device");
  }
  fake_hip::Uuid(device, uuid->bytes);
  return call.Return(hipSuccess);
}

// A device is no peer of itself.
FAKE_EXPORT hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  FAKE_CALL(hipDeviceCanAccessPeer, std::to_string(device), std::to_string(peer))
  if (device < 0 || peer < 0 || std::max(device, peer) >= TheState().device_count) {
    return call.Reject(hipErrorInvalidDevice, "no such device");
  }
  *can = device != peer && TheState().no_peers.count({device, peer}) == 0 ? 1 : 0;
  return call.Return(hipSuccess);
}
#endif

FAKE_EXPORT hipError_t hipGetDeviceCount(int* count) {
  FAKE_CALL(hipGetDeviceCount, "")
  *count = TheState().device_count;
  return call.Return(*count == 0 ? hipErrorNoDevice : hipSuccess);
}

FAKE_EXPORT hipError_t hipGetDevice(int* device) {
  FAKE_CALL(hipGetDevice, "")
  *device = TheThread().device;
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipSetDevice(int device) {
  FAKE_CALL(hipSetDevice, std::to_string(device))
  if (device < 0 || device >= TheState().device_count) {
    return call.Reject(hipErrorInvalidDevice, "no such device");
  }
  TheThread().device = device;
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipDeviceGetPCIBusId(char* bus, int length, int device) {
  FAKE_CALL(hipDeviceGetPCIBusId, std::to_string(device))
  if (device < 0 || device >= TheState().device_count) {
    return call.Reject(hipErrorInvalidDevice, "no such device");
  }
  if (length < 13) {
    return call.Reject(hipErrorInvalidValue, "no room for 0000:00:00.0");
  }
  const int physical = TheState().reversed ? TheState().device_count - 1 - device : device;
  std::snprintf(bus, static_cast<size_t>(length), "0000:%02x:00.0", physical + 3);
  return call.Return(hipSuccess);
}

FAKE_EXPORT const char* hipGetErrorName(hipError_t code) {
  switch (static_cast<int>(code)) {
    case hipErrorInvalidValue:
      return "hipErrorInvalidValue";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorInvalidDevice:
      return "hipErrorInvalidDevice";
    case hipErrorStreamCaptureImplicit:
      return "hipErrorStreamCaptureImplicit";
    default:
      return "hipErrorUnknown";
  }
}

FAKE_EXPORT hipError_t hipGetLastError(void) {
  const Call call("hipGetLastError", "", false);
  const int last = TheThread().last_error;
  TheThread().last_error = hipSuccess;
  return static_cast<hipError_t>(last);
}

}  // extern "C"
