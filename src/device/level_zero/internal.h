// SPDX-License-Identifier: Apache-2.0
// What the files of the Level Zero backend share.
#ifndef DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_

#include <cstdint>

#include "describe/boundary.h"
#include "device/level_zero/driver.h"
#include "native/backend.h"

namespace dlbridge::level_zero {

// Filled by the start, published with it, never changed.
extern Functions g_ze;

// A code's name in ze_api.h with its hexadecimal value; NULL where it is none of them.
const char* ResultName(Result result);
DLBRIDGE_COLD DLBridgeStatus RefuseCall(DLBridgeError* error, const char* call, Result result);

// Calls a function of the driver and passes its failure on.
#define DLBRIDGE_ZE_TRY(name, ...)                                          \
  do {                                                                      \
    const ::dlbridge::level_zero::Result ze_result =                        \
        ::dlbridge::level_zero::g_ze.name(__VA_ARGS__);                     \
    if (DLBRIDGE_UNLIKELY(ze_result != ::dlbridge::level_zero::kSuccess)) { \
      return ::dlbridge::level_zero::RefuseCall(error, #name, ze_result);   \
    }                                                                       \
  } while (false)

// Handles are integers in the C interface.
template <class Handle>
Handle ToHandle(uint64_t value) {
  return reinterpret_cast<Handle>(value);
}
inline uint64_t ToInteger(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }

// A device or sub-device of this process, found once by the start.
struct DeviceRecord {
  Device device;
  Driver driver;
  int32_t index;          // of the device that zeDeviceGet returns, which it is or is part of
  bool is_root;           // it is that device itself
  bool is_sub_device;     // as the driver says it; with ZE_FLAT_DEVICE_HIERARCHY roots may be too
  uint32_t subdevice_id;  // tells sub-devices of one uuid apart
  uint8_t uuid[16];
};

struct Devices {
  const DeviceRecord* records;  // a device, its parts, the next device, ...
  uint32_t count;
  int32_t roots;
};
extern Devices g_devices;

// Fills g_devices; leaves it empty where a call fails, and tells which.
using GetDrivers = Result(uint32_t* count, Driver* drivers);
Result FindDevices(GetDrivers* drivers, const char** call);

// NULL where the driver has no such device.
const DeviceRecord* FindDevice(Device device);
const DeviceRecord* FindRoot(int32_t index);

// The native device that a label stands for, in a context where one is given.
DLBridgeStatus NativeDevice(DLDevice label, uint64_t context, const char* argument, Device* out,
                            DLBridgeError* error);

DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);

// Memory that a context knows.
struct Memory {
  uint64_t context;
  uint32_t type;               // MemoryType; kUnknown: nobody knows it
  bool assumed;                // nobody registered or named the context
  Device device;               // NULL for host memory
  const DeviceRecord* record;  // of `device`, or NULL
  DLDevice key;                // of the entry whose context it is; id -1 where that was named
};

// Asks one context.
DLBridgeStatus AskContext(uint64_t context, uint64_t address, Memory* out, DLBridgeError* error);
// Asks the one that the buffer names, else those of the table.
DLBridgeStatus FindMemory(const DLBridgeBuffer& buffer, DLDevice label, Memory* out,
                          DLBridgeError* error);
// The label of memory that was found: the given one unless the table knows better.
DLDevice LabelOf(const Memory& memory, DLDevice label);

DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);

// A queue does not tell its context, which nothing of Level Zero's works without.
DLBridgeStatus RequireContext(const DLBridgeStream& stream, const char* argument,
                              DLBridgeError* error);

// Lists run only on queues of their group. Which one it is older loaders do not tell; the first one
// computes, and is what a queue nearly always belongs to.
DLBridgeStatus OrdinalOf(Queue queue, uint32_t* ordinal, DLBridgeError* error);

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);

DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, IpcHandle* out,
                         DLBridgeError* error);
DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice label, IpcMapping* out,
                         DLBridgeError* error);
void IpcClose(const IpcMapping& mapping);

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_INTERNAL_H_
