// SPDX-License-Identifier: Apache-2.0
// HIP memory between processes: the runtime's handle and the identity of the device.
#include <cstring>

#include "describe/device.h"
#include "device/hip/capture.h"

namespace dlbridge::hip {
namespace {

// The contents of IpcHandle::bytes, in this order and without gaps.
struct Wire {
  IpcMemHandle handle;
  Identity device;
};
static_assert(sizeof(Wire) == 96 && sizeof(Wire) <= sizeof(IpcHandle::bytes), "a fixed format");

// The contents of IpcMapping::state, by index.
enum : uint8_t { kAddress, kDevice };

DLBridgeStatus CheckFunctions(DLBridgeError* error) {
  const Driver& driver = g_hip.driver;
  return driver.hipIpcGetMemHandle != nullptr && driver.hipIpcOpenMemHandle != nullptr &&
                 driver.hipIpcCloseMemHandle != nullptr
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "this HIP runtime",
                            "has no hipIpc functions, so that it cannot share memory");
}

// HIP's interprocess events report success while the recorded work still runs (ROCm/hip issue
// 3778).
DLBridgeStatus CheckNoStream(const IpcRequest& request, DLBridgeError* error) {
  return request.stream == nullptr
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.stream",
                            "is not supported by HIP, whose events cannot order the work of two "
                            "processes: call dlbridge_stream_synchronize on it, then export with "
                            "NULL");
}

DLBridgeStatus CheckShareable(const DLBridgePointerInfo& found, DLBridgeError* error) {
  if (found.memory != DLBRIDGE_MEMORY_DEVICE) {
    return RejectStatus(
        error, DLBRIDGE_ERROR_UNSUPPORTED, "tensor",
        "is not in device memory of HIP, the only memory that HIP shares between processes: copy "
        "it to memory of hipMalloc, or to the host with DLBRIDGE_COPY_SHAREABLE");
  }
  if (found.size == 0) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "tensor",
                        "is in an allocation whose start HIP does not report, so that it cannot be "
                        "shared: copy it to memory of hipMalloc");
  }
  return CheckDevice(found.native_device, "tensor", error);
}

// hipIpcGetMemHandle reports memory that it cannot share as an invalid value. The runtime looks for
// the memory on the thread's device.
DLBridgeStatus AskHandle(uint64_t base, int32_t device, IpcMemHandle* out, DLBridgeError* error) {
  DeviceScope scope;
  DLBRIDGE_TRY(scope.Enter(device, error));
  RelaxedScope relaxed;
  DLBRIDGE_TRY(relaxed.Enter(error));
  const Result code = g_hip.driver.hipIpcGetMemHandle(out, reinterpret_cast<void*>(base));
  if (code != kInvalidValue && code != kNotSupported) {
    return code == kSuccess ? scope.Leave(error) : RejectCall(error, "hipIpcGetMemHandle", code);
  }
  g_hip.driver.hipGetLastError();
  const DLBridgeStatus status = RejectStatus(
      error, DLBRIDGE_ERROR_UNSUPPORTED, "tensor",
      "is in memory that hipIpcGetMemHandle rejects, as it does memory of hipMemMap (PyTorch's "
      "expandable segments) and of graphs: copy it to memory of hipMalloc, and export the copy");
  if (error != nullptr) {
    error->native_code = code;
  }
  return status;
}

DLBridgeStatus Read(const IpcHandle& handle, Wire* wire, DLBridgeError* error) {
  const bool whole = handle.format == 1 && handle.length == sizeof *wire && handle.fd_count == 0;
  if (whole) {
    std::memcpy(wire, handle.bytes, sizeof *wire);
  }
  if (!whole || (wire->device.kind != kUuid && wire->device.kind != kPciBusId)) {
    return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "buffer",
                        "has a HIP handle of another size or kind: expected 96 bytes with the UUID "
                        "or PCI bus of the device, and no file descriptor");
  }
  return DLBRIDGE_OK;
}

// Finds the device by its identity: ordinals differ between processes (HIP_VISIBLE_DEVICES).
DLBridgeStatus FindDevice(const Identity& wanted, int32_t* device, DLBridgeError* error) {
  for (int32_t i = 0; i < g_hip.device_count; ++i) {
    Identity identity;
    DLBRIDGE_TRY(Identify(i, &identity, error));
    if (std::memcmp(&identity, &wanted, sizeof identity) == 0) {
      *device = i;
      return DLBRIDGE_OK;
    }
  }
  return RejectStatus(
      error, DLBRIDGE_ERROR_UNAVAILABLE, "the exporter's device",
      "is not visible in this process: check ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES");
}

DLBridgeStatus Open(const Wire& wire, int32_t device, void** address, DLBridgeError* error) {
  DeviceScope scope;
  DLBRIDGE_TRY(scope.Enter(device, error));
  RelaxedScope relaxed;
  DLBRIDGE_TRY(relaxed.Enter(error));
  DLBRIDGE_HIP_TRY(hipIpcOpenMemHandle, address, wire.handle, kIpcLazyPeerAccess);
  return DLBRIDGE_OK;
}

void Close(void* address, int32_t device) {
  DeviceScope scope;
  RelaxedScope relaxed;
  if (scope.Enter(device, nullptr) == DLBRIDGE_OK && relaxed.Enter(nullptr) == DLBRIDGE_OK &&
      g_hip.driver.hipIpcCloseMemHandle(address) != kSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

// The size in the message is not trusted: compare it with the size that the runtime reports.
DLBridgeStatus CheckSize(void* address, uint64_t size, DLBridgeError* error) {
  void* base = nullptr;
  size_t mapped = 0;
  // Without the runtime's answer the size cannot be verified.
  const auto result = g_hip.driver.hipMemGetAddressRange(&base, &mapped, address);
  if (result != kSuccess) {
    g_hip.driver.hipGetLastError();
    return RejectDriver(error, "hipMemGetAddressRange", result, nullptr);
  }
  return size <= mapped
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "buffer",
                            "states a larger size than the memory of its HIP handle has");
}

}  // namespace

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, const IpcRequest& request,
                         IpcHandle* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckFunctions(error));
  DLBRIDGE_TRY(CheckNoStream(request, error));
  DLBridgePointerInfo found = DLBRIDGE_POINTER_INFO_INIT;
  DLBRIDGE_TRY(PointerInfo(buffer, label, &found, error));
  DLBRIDGE_TRY(CheckShareable(found, error));
  Wire wire;
  DLBRIDGE_TRY(Identify(found.native_device, &wire.device, error));
  DLBRIDGE_TRY(AskHandle(found.base, found.native_device, &wire.handle, error));
  std::memset(out, 0, sizeof *out);
  std::memcpy(out->bytes, &wire, sizeof wire);
  out->length = sizeof wire;
  out->format = 1;
  out->offset = buffer.handle - found.base;
  out->size = found.size;
  return DLBRIDGE_OK;
}

DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice /*label*/,
                         const DLBridgeStream* /*stream*/, IpcMapping* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckFunctions(error));
  Wire wire;
  DLBRIDGE_TRY(Read(handle, &wire, error));
  int32_t device = -1;
  DLBRIDGE_TRY(FindDevice(wire.device, &device, error));
  void* address = nullptr;
  DLBRIDGE_TRY(Open(wire, device, &address, error));
  const DLBridgeStatus status = CheckSize(address, handle.size, error);
  if (status != DLBRIDGE_OK) {
    Close(address, device);
    return status;
  }
  std::memset(out, 0, sizeof *out);
  out->buffer = dlbridge_buffer_address(address);
  out->buffer.backend = DLBRIDGE_BACKEND_HIP;
  out->device = MakeDevice(kDLROCM, device);
  out->size = handle.size;
  out->state[kAddress] = out->buffer.handle;
  out->state[kDevice] = static_cast<uint32_t>(device);
  return DLBRIDGE_OK;
}

void IpcClose(const IpcMapping& mapping) {
  if (IsStarted(kHipBackend)) {
    Close(reinterpret_cast<void*>(static_cast<uintptr_t>(mapping.state[kAddress])),
          static_cast<int32_t>(mapping.state[kDevice]));
  }
}

}  // namespace dlbridge::hip
