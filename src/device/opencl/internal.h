// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the OpenCL backend share.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_

#include <atomic>
#include <cstdint>

#include "describe/boundary.h"
#include "device/opencl/driver.h"
#include "native/backend.h"

namespace dlbridge::opencl {

// A platform of the process, with the extension functions of its driver.
struct PlatformRecord {
  Platform platform;
  uint32_t first_device;  // in OpenCl::devices
  uint32_t device_count;
  GetMemAllocInfo* get_mem_alloc_info;  // NULL: the driver has no USM
  EnqueueMemcpy* enqueue_memcpy;
  std::atomic<Context> context;  // of all its devices, created for the table; NULL before that
};

// Filled by Start. Only the contexts change later.
struct OpenCl {
  Functions call;
  PlatformRecord* platforms;
  uint32_t platform_count;
  Device* devices;  // platform after platform: the index is the id under kDLOpenCL
  uint32_t device_count;
};
extern OpenCl g_opencl;

const char* ResultName(int32_t code);
DLBridgeStatus RejectCall(DLBridgeError* error, const char* call, int32_t code);

// Returns DRIVER unless the result is CL_SUCCESS.
inline DLBridgeStatus Check(int32_t code, const char* call, DLBridgeError* error) {
  return code == kSuccess ? DLBRIDGE_OK : RejectCall(error, call, code);
}

template <class Handle>
Handle ToHandle(uint64_t handle) {
  return reinterpret_cast<Handle>(handle);
}
template <class Handle>
uint64_t ToInteger(Handle handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

// The root of a sub-device. A device that is a root or cannot be queried is returned unchanged.
Device RootDevice(Device device);

// The index of a device or of its root in OpenCl::devices; -1 if there is none.
int32_t DeviceIndex(Device device);

// Returns NULL if no platform of the process has the handle.
const PlatformRecord* FindPlatform(Platform platform);

// The devices of a context; freed by FreeDevices.
struct DeviceList {
  Device* devices;
  uint32_t count;
};
DLBridgeStatus ContextDevices(Context context, DeviceList* out, DLBridgeError* error);
void FreeDevices(DeviceList* list);

// Are two devices the same, or is one the root of the other?
bool IsSameDevice(Device a, Device b);
bool HasDevice(const DeviceList& list, Device device);

// Sets `*out` to NULL if no platform of the process has the context's devices.
DLBridgeStatus ContextPlatform(Context context, const PlatformRecord** out, DLBridgeError* error);

// The context of a queue. Rejects a stream that names another context, or a device that the queue
// does not run on.
DLBridgeStatus QueueContext(const DLBridgeStream& stream, const char* argument, Context* out,
                            DLBridgeError* error);

// Does the queue run its work in the order in which it was enqueued? Asked each time: the handle of
// a released queue may be that of a later one.
DLBridgeStatus IsInOrder(Queue queue, bool* out, DLBridgeError* error);

// The arguments of a cl_mem in messages.
struct MemNames {
  const char* handle;
  const char* context;
};

// The context of a cl_mem. Rejects an image or pipe, and a buffer that names another context.
DLBridgeStatus MemContext(const DLBridgeBuffer& buffer, const MemNames& names, Context* out,
                          DLBridgeError* error);

// Rejects a label of no device, and one that an application registered for a device that the
// context of the memory does not have.
DLBridgeStatus CheckLabel(Context context, DLDevice label, DLBridgeError* error);

// Replaces a sub-buffer by its parent and sets its offset in it. `*offset` is 0 for other buffers.
DLBridgeStatus ToParent(DLBridgeBuffer* buffer, uint64_t* offset, uint64_t* size,
                        DLBridgeError* error);

// The flags with which a cl_mem was created; a sub-buffer inherits its parent's.
DLBridgeStatus MemFlags(const DLBridgeBuffer& buffer, uint64_t* out, DLBridgeError* error);

// Does the table have exactly this device under the label? Retains nothing.
bool IsLabelled(DLDevice label, Device device);

// The device of a label; NULL if the table does not have it, or if it is not an OpenCL device. A
// registered entry is retained during the scope: the device may be released with it.
class NamedDevice {
 public:
  explicit NamedDevice(DLDevice label);
  ~NamedDevice();
  NamedDevice(const NamedDevice&) = delete;
  NamedDevice& operator=(const NamedDevice&) = delete;

  Device device() const { return device_; }
  // true: an application registered the label, which takes precedence over any numbering
  bool registered() const { return entry_ != 0; }

 private:
  Device device_ = nullptr;
  uint64_t entry_ = 0;
};

// The id of a device that is not the label's: from the table, else from this library's numbering;
// -1 if that equals the label's id.
int32_t IdOfDevice(int32_t type, Device device, DLDevice label);

// Finds memory by its address, which a driver with USM can be asked about.
DLBridgeStatus UsmInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error);

// The functions of kOpenClBackend: see struct Backend.
DLBridgeStatus Enumerate(int32_t device_type, DLBridgeError* error);
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error);
DLBridgeStatus CheckHandle(const DLBridgeBuffer& buffer, DLDevice label, bool writable,
                           DLBridgeError* error);
DLBridgeStatus RetainHandle(const DLBridgeBuffer& buffer, DLBridgeError* error);
void ReleaseHandle(const DLBridgeBuffer& buffer);
DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error);
DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus CopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus CopyPart(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus CopyFinish(CopyJob* job, DLBridgeError* error);
DLBridgeStatus Barrier(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error);
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error);
DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error);
void MarkFree(const StreamMark& mark);
DLBridgeStatus CopySubmit(CopyJob* job, StreamMark* out, DLBridgeError* error);
DLBridgeStatus DescribeHandle(const DLBridgeBuffer& buffer, HandleFacts* out, DLBridgeError* error);

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_INTERNAL_H_
