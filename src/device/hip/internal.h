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
  int32_t version;  // of the runtime, such as 60443484
  int32_t major;
  int32_t device_count;
};
extern Hip g_hip;

// The runtime's name of a result, or NULL.
const char* ResultName(Result result);

// Returns DRIVER, or CAPTURE for calls that a graph capture forbids. Clears the runtime's last
// error too: a program that gets the error from this library must not find it again after its next
// kernel launch.
DLBRIDGE_COLD DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result code);

// Is it a fault of a device, which ended the work there? Later calls return the same.
bool IsFault(Result code);

// Finds where memory lies; `out` as for Backend::pointer_info.
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error);

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error);
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error);
DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error);
void MarkFree(const StreamMark& mark);

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

// Bit i of `capable`: device i can access memory of `native_device`. Only the first 64 have a bit.
DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error);

// Rejects the id of a device that does not exist. `argument` names its source in the message.
DLBridgeStatus CheckDevice(int32_t device, const char* argument, DLBridgeError* error);

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

// The default stream (0 and 1) and the thread's own (2) belong to the thread's current device.
inline bool IsSpecial(uint64_t handle) { return handle <= kPerThreadStream; }

// Rejects a special handle that the runtime or its device does not have.
DLBridgeStatus CheckHandle(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error);

// The device of a stream: the label's for a special stream, the runtime's answer for others. Checks
// the handle as CheckHandle does.
DLBridgeStatus DeviceOf(const DLBridgeStream& stream, const char* argument, int32_t* device,
                        DLBridgeError* error);

// Makes the device current if the stream is special.
inline DLBridgeStatus EnterFor(uint64_t handle, int32_t device, DeviceScope* scope,
                               DLBridgeError* error) {
  return IsSpecial(handle) ? scope->Enter(device, error) : DLBRIDGE_OK;
}

// Makes the host wait for a stream. For a special stream, makes `device` current first.
DLBridgeStatus WaitFor(Stream stream, int32_t device, DeviceScope* scope, DLBridgeError* error);

// A stream of the library, which waits for no other stream.
DLBridgeStatus CreateStream(int32_t device, Stream* stream, DLBridgeError* error);
void DestroyStream(Stream stream);

}  // namespace dlbridge::hip

#endif  // DLBRIDGE_SRC_DEVICE_HIP_INTERNAL_H_
