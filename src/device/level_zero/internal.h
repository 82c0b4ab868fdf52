// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the Level Zero backend share.
#ifndef DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_

#include <cstdint>

#include "describe/boundary.h"
#include "device/level_zero/driver.h"
#include "native/backend.h"

namespace dlbridge::level_zero {

// Filled by Start, constant afterwards.
extern Functions g_ze;

// The name of a result in ze_api.h with its hexadecimal value, or NULL.
const char* ResultName(Result result);
DLBRIDGE_COLD DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, Result result);

// Calls a function of the driver, and returns an error if that fails.
#define DLBRIDGE_ZE_TRY(name, ...)                                          \
  do {                                                                      \
    const ::dlbridge::level_zero::Result ze_result =                        \
        ::dlbridge::level_zero::g_ze.name(__VA_ARGS__);                     \
    if (DLBRIDGE_UNLIKELY(ze_result != ::dlbridge::level_zero::kSuccess)) { \
      return ::dlbridge::level_zero::RejectCall(error, #name, ze_result);   \
    }                                                                       \
  } while (false)

// Handles are integers in the C interface.
template <class Handle>
Handle ToHandle(uint64_t value) {
  return reinterpret_cast<Handle>(value);
}
inline uint64_t ToInteger(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }

// A device or sub-device of this process, found by Start.
struct DeviceRecord {
  Device device;
  Driver driver;
  int32_t index;          // of the root device (from zeDeviceGet) that it is or is part of
  bool is_root;           // it is the root device itself
  bool is_sub_device;     // as reported by the driver; with ZE_FLAT_DEVICE_HIERARCHY also true for
                          // roots
  uint32_t subdevice_id;  // distinguishes sub-devices with the same uuid
  uint8_t uuid[16];
};

struct Devices {
  const DeviceRecord* records;  // a device, its sub-devices, the next device, ...
  uint32_t count;
  int32_t roots;
};
extern Devices g_devices;

// Fills g_devices. If a call fails, g_devices stays empty and `*call` names the call.
using GetDrivers = Result(uint32_t* count, Driver* drivers);
Result FindDevices(GetDrivers* drivers, const char** call);

// Returns NULL if the driver has no such device.
const DeviceRecord* FindDevice(Device device);
const DeviceRecord* FindRoot(int32_t index);

// Finds the native device of a label, in `context` if that is not 0.
DLBridgeStatus NativeDevice(DLDevice label, uint64_t context, const char* argument, Device* out,
                            DLBridgeError* error);

DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);

DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error);

// Memory that a context knows.
struct Memory {
  uint64_t context;
  uint32_t type;               // MemoryType; kUnknown: no context knows it
  bool assumed;                // the context was neither registered nor named by the caller
  Device device;               // NULL for host memory
  const DeviceRecord* record;  // of `device`, or NULL
  DLDevice key;  // of the entry whose context it is; id -1 if the caller named the context
};

// Asks one context.
DLBridgeStatus AskContext(uint64_t context, uint64_t address, Memory* out, DLBridgeError* error);
// Asks the context that the buffer names, else those of the table.
DLBridgeStatus FindMemory(const DLBridgeBuffer& buffer, DLDevice label, Memory* out,
                          DLBridgeError* error);
// The label of memory that was found: the given one unless the table contradicts it.
DLDevice LabelOf(const Memory& memory, DLDevice label);

DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);

// Rejects a stream without a context: a queue does not report its context, and every call needs it.
DLBridgeStatus RequireContext(const DLBridgeStream& stream, const char* argument,
                              DLBridgeError* error);

// A list runs only on queues of its group (ordinal). Older loaders do not report the group of a
// queue; 0 is the compute group, to which nearly all queues belong.
DLBridgeStatus OrdinalOf(Queue queue, uint32_t* ordinal, DLBridgeError* error);

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus Barrier(const DLBridgeStream& stream, DLBridgeError* error);

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error);
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error);
DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error);
void MarkFree(const StreamMark& mark);

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error);

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, const IpcRequest& request,
                         IpcHandle* out, DLBridgeError* error);
DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice label, const DLBridgeStream* stream,
                         IpcMapping* out, DLBridgeError* error);
void IpcClose(const IpcMapping& mapping);

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_
