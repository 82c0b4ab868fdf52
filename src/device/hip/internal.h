// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the HIP backend share.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_HIP_INTERNAL_H_

#include <cstdint>

#include "describe/boundary.h"
#include "device/hip/driver.h"
#include "native/backend.h"

// Calls the runtime, and returns an error if that fails.
#define DLBRIDGE_HIP_TRY(function, ...)                         \
  do {                                                          \
    const Result try_code = g_hip.driver.function(__VA_ARGS__); \
    if (DLBRIDGE_UNLIKELY(try_code != kSuccess)) {              \
      return RejectCall(error, #function, try_code);            \
    }                                                           \
  } while (false)

namespace dlbridge::hip {

// Filled by Start, constant afterwards.
struct Hip {
  Driver driver;
  int32_t major;  // version of the runtime
  int32_t device_count;
};
extern Hip g_hip;

// The runtime's name of a result, or NULL.
const char* ResultName(Result result);

// Returns DRIVER, or CAPTURE for calls that a graph capture forbids. Clears the runtime's last
// error too: a program that gets the error from this library must not find it again after its next
// kernel launch.
DLBRIDGE_COLD DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result code);

// Finds where memory lies; `out` as for Backend::pointer_info.
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, const IpcRequest& request,
                         IpcHandle* out, DLBridgeError* error);
DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice label, const DLBridgeStream* stream,
                         IpcMapping* out, DLBridgeError* error);
void IpcClose(const IpcMapping& mapping);

DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);

// Identifies a device across processes.
struct Identity {
  uint8_t kind;  // kUuid or kPciBusId
  uint8_t bytes[31];
};
constexpr uint8_t kUuid = 1;
constexpr uint8_t kPciBusId = 2;
DLBridgeStatus Identify(int32_t device, Identity* out, DLBridgeError* error);

// Rejects the id of a device that does not exist. `argument` names its source in the message.
DLBridgeStatus CheckDevice(int32_t device, const char* argument, DLBridgeError* error);

// The capture state of a stream: kCapture*.
DLBridgeStatus AskCapture(Stream stream, int32_t* state, DLBridgeError* error);

// Rejects a stream that is capturing: the host cannot wait for it.
DLBridgeStatus RequireNoCapture(Stream stream, const char* argument, DLBridgeError* error);

// Changes the thread's current device, which decides the device of the default stream and of new
// objects. The destructor restores the previous device.
class DeviceScope {
 public:
  DeviceScope() = default;
  ~DeviceScope() { static_cast<void>(Leave(nullptr)); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  DLBridgeStatus Enter(int32_t device, DLBridgeError* error);
  DLBridgeStatus Leave(DLBridgeError* error);

 private:
  int32_t saved_ = -1;  // -1: not queried yet
  int32_t current_ = -1;
};

inline Stream HandleOf(const DLBridgeStream& stream) {
  return reinterpret_cast<Stream>(static_cast<uintptr_t>(stream.handle));
}

}  // namespace dlbridge::hip

#endif  // DLBRIDGE_SRC_DEVICE_HIP_INTERNAL_H_
