// SPDX-License-Identifier: Apache-2.0
// Finds where memory lies, by asking HIP.
#include "describe/device.h"
#include "device/hip/internal.h"

namespace dlbridge::hip {
namespace {

// Returns 0 for memory that the runtime does not know, and -1 for memory that has no address. The
// managed flag is checked first: up to 5.7.0 managed memory has the type of host memory, later its
// own.
int32_t MemoryOf(const PointerAttributes& attributes) {
  if (attributes.is_managed != 0) {
    return DLBRIDGE_MEMORY_MANAGED;
  }
  const bool old = g_hip.major < 6;
  if (attributes.type == (old ? kHip5TypeDevice : kHip6TypeDevice)) {
    return DLBRIDGE_MEMORY_DEVICE;
  }
  if (attributes.type == (old ? kHip5TypeHost : kHip6TypeHost)) {
    return DLBRIDGE_MEMORY_PINNED;
  }
  return !old && attributes.type == kHip6TypeUnregistered ? 0 : -1;
}

// On some runtimes registered host memory has no range, or a different one. That means "unknown
// range" and is not an error.
bool IsUnknownRange(Result code) {
  return code == kInvalidValue || code == kInvalidDevicePointer || code == kNotFound ||
         code == kNotSupported;
}

DLBridgeStatus AskRange(uint64_t address, DLBridgePointerInfo* out, DLBridgeError* error) {
  void* base = nullptr;
  size_t size = 0;
  const Result code =
      g_hip.driver.hipMemGetAddressRange(&base, &size, reinterpret_cast<void*>(address));
  if (DLBRIDGE_UNLIKELY(code != kSuccess)) {
    if (!IsUnknownRange(code)) {
      return RejectCall(error, "hipMemGetAddressRange", code);
    }
    g_hip.driver.hipGetLastError();
    return DLBRIDGE_OK;
  }
  const uint64_t start = reinterpret_cast<uintptr_t>(base);
  if (start != 0 && start <= address && address - start < size) {
    out->base = start;
    out->size = size;
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus RejectType(int32_t type, DLBridgeError* error) {
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("is memory of hipMemoryType ")
      .Signed(type)
      .String(", which has no address: expected device, pinned or managed memory");
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "buffer.handle", problem);
}

// Before 6.0 the runtime reports unknown memory as an invalid value and keeps that as the thread's
// last error.
DLBridgeStatus Unknown(Result code, DLBridgeError* error) {
  if (code != kInvalidValue || g_hip.major >= 6) {
    return RejectCall(error, "hipPointerGetAttributes", code);
  }
  g_hip.driver.hipGetLastError();
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice /*label*/,
                           DLBridgePointerInfo* out, DLBridgeError* error) {
  if (buffer.kind != DLBRIDGE_BUFFER_ADDRESS || buffer.handle == 0) {
    return DLBRIDGE_OK;
  }
  PointerAttributes found = {-1, -1, nullptr, nullptr, 0, 0};
  const Result code = g_hip.driver.hipPointerGetAttributes(
      &found, reinterpret_cast<const void*>(static_cast<uintptr_t>(buffer.handle)));
  if (DLBRIDGE_UNLIKELY(code != kSuccess)) {
    return Unknown(code, error);
  }
  const int32_t memory = MemoryOf(found);
  if (memory <= 0) {
    return memory == 0 ? DLBRIDGE_OK : RejectType(found.type, error);
  }
  DLBRIDGE_TRY(AskRange(buffer.handle, out, error));
  const bool pinned = memory == DLBRIDGE_MEMORY_PINNED;
  out->backend = DLBRIDGE_BACKEND_HIP;
  out->memory = memory;
  out->device = pinned ? MakeDevice(kDLROCMHost, 0) : MakeDevice(kDLROCM, found.device);
  out->native_device = found.device >= 0 ? found.device : -1;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::hip
