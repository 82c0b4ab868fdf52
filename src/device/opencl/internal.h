// SPDX-License-Identifier: Apache-2.0
// What the files of the OpenCL backend share.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_

#include <atomic>
#include <cstdint>

#include "describe/boundary.h"
#include "device/opencl/driver.h"
#include "native/backend.h"

namespace dlbridge::opencl {

// A platform of the process, with what its driver alone has.
struct PlatformRecord {
  Platform platform;
  uint32_t first_device;  // in OpenCl::devices
  uint32_t device_count;
  GetMemAllocInfo* get_mem_alloc_info;  // NULL: the driver has no USM
  EnqueueMemcpy* enqueue_memcpy;
  std::atomic<Context> context;  // of all its devices, made for the table; NULL before
};

// Filled when the backend is started; nothing but the contexts changes later.
struct OpenCl {
  Functions call;
  PlatformRecord* platforms;
  uint32_t platform_count;
  Device* devices;  // platform after platform: the index is the id under kDLOpenCL
  uint32_t device_count;
};
extern OpenCl g_opencl;

const char* ResultName(int32_t code);
DLBridgeStatus RefuseCall(DLBridgeError* error, const char* call, int32_t code);

// DRIVER unless a call returned CL_SUCCESS.
inline DLBridgeStatus Check(int32_t code, const char* call, DLBridgeError* error) {
  return code == kSuccess ? DLBRIDGE_OK : RefuseCall(error, call, code);
}

template <class Handle>
Handle ToHandle(uint64_t handle) {
  return reinterpret_cast<Handle>(handle);
}
template <class Handle>
uint64_t ToInteger(Handle handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

// The root devices above sub-devices; the device itself where it is one, or cannot be asked.
Device RootDevice(Device device);

// Index of a device, or of the root above it, in OpenCl::devices; -1.
int32_t DeviceIndex(Device device);

// NULL where no platform of the process has it.
const PlatformRecord* FindPlatform(Platform platform);

// The devices of a context. To be freed.
struct DeviceList {
  Device* devices;
  uint32_t count;
};
DLBridgeStatus ContextDevices(Context context, DeviceList* out, DLBridgeError* error);
void FreeDevices(DeviceList* list);

// The same device, or one of them a part of the other?
bool IsSameDevice(Device a, Device b);
bool HasDevice(const DeviceList& list, Device device);

// NULL where no platform of the process has it.
DLBridgeStatus ContextPlatform(Context context, const PlatformRecord** out, DLBridgeError* error);
DLBridgeStatus QueueContext(Queue queue, Context* out, DLBridgeError* error);
DLBridgeStatus MemContext(const DLBridgeBuffer& buffer, Context* out, DLBridgeError* error);

// Does the table have this very device under the label? Asks without keeping anything.
bool IsLabelled(DLDevice label, Device device);

// The device that a label stands for; NULL where nobody says, or it is not OpenCL's. An entry that
// says so is kept meanwhile: the device may be one that is released with it.
class NamedDevice {
 public:
  explicit NamedDevice(DLDevice label);
  ~NamedDevice();
  NamedDevice(const NamedDevice&) = delete;
  NamedDevice& operator=(const NamedDevice&) = delete;

  Device device() const { return device_; }
  // By an application, which then knows better than any numbering.
  bool registered() const { return entry_ != 0; }

 private:
  Device device_ = nullptr;
  uint64_t entry_ = 0;
};

// The id of a device that is not the label's: as the table has it, else by our own numbering; -1
// where that is the label's id.
int32_t IdOfDevice(int32_t type, Device device, DLDevice label);

// Memory behind an address, which a driver with USM can be asked.
DLBridgeStatus UsmInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error);

// The functions of kOpenClBackend: see struct Backend.
DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);
DLBridgeStatus CheckHandle(const DLBridgeBuffer& buffer, DLBridgeError* error);
DLBridgeStatus RetainHandle(const DLBridgeBuffer& buffer, DLBridgeError* error);
void ReleaseHandle(const DLBridgeBuffer& buffer);
DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_
