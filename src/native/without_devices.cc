// SPDX-License-Identifier: Apache-2.0
// Replaces src/device in a library that is built with DLBRIDGE_DEVICES=OFF: backends that cannot be
// started and report the reason.
#ifdef DLBRIDGE_WITHOUT_DEVICES

#include "describe/device.h"
#include "native/backend.h"
#include "support/text.h"

namespace dlbridge {
namespace {

constexpr char kReason[] = "this library was built without drivers (DLBRIDGE_DEVICES=OFF)";

int32_t Start(void* /*library*/, DLBridgeBackendInfo* info) {
  TextWriter(info->reason, sizeof info->reason).String(kReason);
  return DLBRIDGE_STATE_ABSENT;
}

// Callers compare these slots with NULL before they start a backend, to reject a function that its
// driver never supports. A slot is set where the driver supports the function, so that the answer
// is UNAVAILABLE. Only `start` is ever called.
DLBridgeStatus Reject(int32_t device_type, DLBridgeError* error) {
  return StartBackend(*BackendsOf(device_type).backends[0], error);
}
DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error) {
  return Reject(device_type, error);
}
DLBridgeStatus IpcExport(const DLBridgeBuffer& /*buffer*/, DLDevice label,
                         const IpcRequest& /*request*/, IpcHandle* /*out*/, DLBridgeError* error) {
  return Reject(TypeOf(label), error);
}
DLBridgeStatus IpcImport(const IpcHandle& /*handle*/, DLDevice label,
                         const DLBridgeStream* /*stream*/, IpcMapping* /*out*/,
                         DLBridgeError* error) {
  return Reject(TypeOf(label), error);
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  return Reject(TypeOf(stream.device), error);
}

constexpr Backend Absent(DLBridgeBackend id, const char* name, bool shares) {
  Backend backend = {};
  backend.id = id;
  backend.name = name;
  backend.start = Start;
  backend.enumerate = Enumerate;
  backend.synchronize = Synchronize;
  backend.ipc_export = shares ? IpcExport : nullptr;
  backend.ipc_import = shares ? IpcImport : nullptr;
  return backend;
}

}  // namespace

#define DLBRIDGE_ABSENT(id, table, name, shares) \
  constexpr Backend table = Absent(DLBRIDGE_BACKEND_##id, name, shares);
DLBRIDGE_DRIVERS(DLBRIDGE_ABSENT)
#undef DLBRIDGE_ABSENT

}  // namespace dlbridge

#endif  // DLBRIDGE_WITHOUT_DEVICES
