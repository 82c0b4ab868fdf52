// SPDX-License-Identifier: Apache-2.0
// What the files of the HIP backend share.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_H_
#define DLBRIDGE_SRC_DEVICE_HIP_H_

#include <cstdint>

#include "describe/boundary.h"
#include "device/hip_driver.h"
#include "native/backend.h"

// Calls the runtime, and refuses where that fails.
#define DLBRIDGE_TRY_HIP(function, ...)                           \
  do {                                                            \
    const HipError try_code = g_hip.driver.function(__VA_ARGS__); \
    if (DLBRIDGE_UNLIKELY(try_code != kHipSuccess)) {             \
      return RefuseHip(error, #function, try_code);               \
    }                                                             \
  } while (false)

namespace dlbridge {

// Filled by the start, constant from then on.
struct HipState {
  HipDriver driver;
  int32_t major;  // of the runtime
  int32_t device_count;
};
extern HipState g_hip;

// DRIVER or, for what a graph capture forbids, CAPTURE. The runtime's last error goes as well: who
// hears of it from us must not meet it again at a launch of its own.
DLBRIDGE_COLD DLBridgeStatus RefuseHip(DLBridgeError* error, const char* call, HipError code);

// Where memory is, to the runtime; `out` as for Backend::pointer_info.
DLBridgeStatus HipPointerInfo(const DLBridgeBuffer& buffer, DLDevice label,
                              DLBridgePointerInfo* out, DLBridgeError* error);

DLBridgeStatus HipHandoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                          uint32_t options, DLBridgeError* error);
DLBridgeStatus HipSynchronize(const DLBridgeStream& stream, DLBridgeError* error);

DLBridgeStatus HipCopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus HipCopyBox(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus HipCopyFinish(CopyJob* job, DLBridgeError* error);

DLBridgeStatus HipIpcExport(const DLBridgeBuffer& buffer, DLDevice label, IpcHandle* out,
                            DLBridgeError* error);
DLBridgeStatus HipIpcImport(const IpcHandle& handle, DLDevice label, IpcMapping* out,
                            DLBridgeError* error);
void HipIpcClose(const IpcMapping& mapping);

DLBridgeStatus HipEnumerate(int32_t device_type, DLBridgeError* error);

// What tells a device from all others, in every process.
struct HipIdentity {
  uint8_t kind;  // kHipUuid or kHipPciBusId
  uint8_t bytes[31];
};
constexpr uint8_t kHipUuid = 1;
constexpr uint8_t kHipPciBusId = 2;
DLBridgeStatus HipIdentify(int32_t device, HipIdentity* out, DLBridgeError* error);

// Refuses ids of devices that are not there; `argument` is what named it.
DLBridgeStatus CheckHipDevice(int32_t device, const char* argument, DLBridgeError* error);

// The graph that a stream is capturing into: kHipCapture*.
DLBridgeStatus HipCaptureState(HipStream stream, int32_t* state, DLBridgeError* error);

// Refuses a stream that is capturing, for work that must not wait.
DLBridgeStatus RefuseHipCapture(HipStream stream, const char* argument, DLBridgeError* error);

// The thread's device, which decides for the default stream and for what is created. It is as it
// was when this goes.
class HipDeviceScope {
 public:
  HipDeviceScope() = default;
  ~HipDeviceScope() { static_cast<void>(Leave(nullptr)); }
  HipDeviceScope(const HipDeviceScope&) = delete;
  HipDeviceScope& operator=(const HipDeviceScope&) = delete;

  DLBridgeStatus Enter(int32_t device, DLBridgeError* error);
  DLBridgeStatus Leave(DLBridgeError* error);

 private:
  int32_t saved_ = -1;  // -1: not asked yet
  int32_t current_ = -1;
};

inline HipStream HipStreamOf(const DLBridgeStream& stream) {
  return reinterpret_cast<HipStream>(static_cast<uintptr_t>(stream.handle));
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DEVICE_HIP_H_
