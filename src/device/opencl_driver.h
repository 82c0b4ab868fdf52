// SPDX-License-Identifier: Apache-2.0
// What dlbridge needs to know of OpenCL, so that it builds where no vendor header is. A compile
// test holds it against the real ones.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "native/backend.h"

#ifdef _WIN32
#define DLBRIDGE_CL_CALL __stdcall
#else
#define DLBRIDGE_CL_CALL
#endif

namespace dlbridge {

using ClPlatform = struct ClPlatformObject*;
using ClDevice = struct ClDeviceObject*;
using ClContext = struct ClContextObject*;
using ClQueue = struct ClQueueObject*;
using ClMem = struct ClMemObject*;
using ClEvent = struct ClEventObject*;

using ClProperty = intptr_t;  // a list of pairs that ends with 0

// Results.
constexpr int32_t kClSuccess = 0;
constexpr int32_t kClDeviceNotFound = -1;
constexpr int32_t kClPlatformNotFound = -1001;

constexpr uint32_t kClFalse = 0;
constexpr uint64_t kClDeviceTypeAll = 0xffffffff;
constexpr int32_t kClComplete = 0;
constexpr uint32_t kClMemObjectBuffer = 0x10f0;
constexpr ClProperty kClContextPlatform = 0x1084;

// What can be asked.
constexpr uint32_t kClPlatformVersion = 0x0901;
constexpr uint32_t kClDevicePlatform = 0x1031;
constexpr uint32_t kClDeviceParent = 0x1042;
constexpr uint32_t kClDeviceUuid = 0x106a;
constexpr uint32_t kClContextDevices = 0x1081;
constexpr uint32_t kClQueueContext = 0x1090;
constexpr uint32_t kClMemType = 0x1100;
constexpr uint32_t kClMemSize = 0x1102;
constexpr uint32_t kClMemHostPointer = 0x1103;
constexpr uint32_t kClMemContext = 0x1106;
constexpr uint32_t kClMemUsesSvmPointer = 0x1109;

// cl_intel_unified_shared_memory.
constexpr uint32_t kClAllocType = 0x419a;
constexpr uint32_t kClAllocBase = 0x419b;
constexpr uint32_t kClAllocSize = 0x419c;
constexpr uint32_t kClAllocDevice = 0x419d;
constexpr uint32_t kClTypeUnknown = 0x4196;
constexpr uint32_t kClTypeHost = 0x4197;
constexpr uint32_t kClTypeDevice = 0x4198;
constexpr uint32_t kClTypeShared = 0x4199;

using ClContextNotify = void(DLBRIDGE_CL_CALL*)(const char*, const void*, size_t, void*);
using ClEventNotify = void(DLBRIDGE_CL_CALL*)(ClEvent, int32_t, void*);

using ClGetMemAllocInfo = int32_t DLBRIDGE_CL_CALL(ClContext, const void*, uint32_t, size_t, void*,
                                                   size_t*);
using ClEnqueueMemcpy = int32_t DLBRIDGE_CL_CALL(ClQueue, uint32_t, void*, const void*, size_t,
                                                 uint32_t, const ClEvent*, ClEvent*);
using ClGetExtension = void* DLBRIDGE_CL_CALL(const char*);
using ClGetLoaderInfo = int32_t DLBRIDGE_CL_CALL(uint32_t, size_t, void*, size_t*);

// name, result, parameters. All of them are in every OpenCL 1.2 loader.
#define DLBRIDGE_CL_FUNCTIONS(ROW)                                                                 \
  ROW(clGetPlatformIDs, int32_t, (uint32_t, ClPlatform*, uint32_t*))                               \
  ROW(clGetPlatformInfo, int32_t, (ClPlatform, uint32_t, size_t, void*, size_t*))                  \
  ROW(clGetDeviceIDs, int32_t, (ClPlatform, uint64_t, uint32_t, ClDevice*, uint32_t*))             \
  ROW(clGetDeviceInfo, int32_t, (ClDevice, uint32_t, size_t, void*, size_t*))                      \
  ROW(clGetExtensionFunctionAddressForPlatform, void*, (ClPlatform, const char*))                  \
  ROW(clCreateContext, ClContext,                                                                  \
      (const ClProperty*, uint32_t, const ClDevice*, ClContextNotify, void*, int32_t*))            \
  ROW(clReleaseContext, int32_t, (ClContext))                                                      \
  ROW(clGetContextInfo, int32_t, (ClContext, uint32_t, size_t, void*, size_t*))                    \
  ROW(clCreateCommandQueue, ClQueue, (ClContext, ClDevice, uint64_t, int32_t*))                    \
  ROW(clReleaseCommandQueue, int32_t, (ClQueue))                                                   \
  ROW(clGetCommandQueueInfo, int32_t, (ClQueue, uint32_t, size_t, void*, size_t*))                 \
  ROW(clFlush, int32_t, (ClQueue))                                                                 \
  ROW(clFinish, int32_t, (ClQueue))                                                                \
  ROW(clGetMemObjectInfo, int32_t, (ClMem, uint32_t, size_t, void*, size_t*))                      \
  ROW(clRetainMemObject, int32_t, (ClMem))                                                         \
  ROW(clReleaseMemObject, int32_t, (ClMem))                                                        \
  ROW(clCreateUserEvent, ClEvent, (ClContext, int32_t*))                                           \
  ROW(clSetUserEventStatus, int32_t, (ClEvent, int32_t))                                           \
  ROW(clSetEventCallback, int32_t, (ClEvent, int32_t, ClEventNotify, void*))                       \
  ROW(clReleaseEvent, int32_t, (ClEvent))                                                          \
  ROW(clEnqueueMarkerWithWaitList, int32_t, (ClQueue, uint32_t, const ClEvent*, ClEvent*))         \
  ROW(clEnqueueBarrierWithWaitList, int32_t, (ClQueue, uint32_t, const ClEvent*, ClEvent*))        \
  ROW(clEnqueueReadBuffer, int32_t,                                                                \
      (ClQueue, ClMem, uint32_t, size_t, size_t, void*, uint32_t, const ClEvent*, ClEvent*))       \
  ROW(clEnqueueWriteBuffer, int32_t,                                                               \
      (ClQueue, ClMem, uint32_t, size_t, size_t, const void*, uint32_t, const ClEvent*, ClEvent*)) \
  ROW(clEnqueueCopyBuffer, int32_t,                                                                \
      (ClQueue, ClMem, ClMem, size_t, size_t, size_t, uint32_t, const ClEvent*, ClEvent*))         \
  ROW(clEnqueueReadBufferRect, int32_t,                                                            \
      (ClQueue, ClMem, uint32_t, const size_t*, const size_t*, const size_t*, size_t, size_t,      \
       size_t, size_t, void*, uint32_t, const ClEvent*, ClEvent*))                                 \
  ROW(clEnqueueWriteBufferRect, int32_t,                                                           \
      (ClQueue, ClMem, uint32_t, const size_t*, const size_t*, const size_t*, size_t, size_t,      \
       size_t, size_t, const void*, uint32_t, const ClEvent*, ClEvent*))                           \
  ROW(clEnqueueCopyBufferRect, int32_t,                                                            \
      (ClQueue, ClMem, ClMem, const size_t*, const size_t*, const size_t*, size_t, size_t, size_t, \
       size_t, uint32_t, const ClEvent*, ClEvent*))

template <class Function>
using ClPointer = Function*;

struct ClFunctions {
#define DLBRIDGE_CL_MEMBER(name, result, parameters) \
  ClPointer<result DLBRIDGE_CL_CALL parameters> name;
  DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_MEMBER)
#undef DLBRIDGE_CL_MEMBER
};

// A platform of the process, with what its driver alone has.
struct ClPlatformRecord {
  ClPlatform platform;
  uint32_t first_device;  // in ClDriver::devices
  uint32_t device_count;
  ClGetMemAllocInfo* get_mem_alloc_info;  // NULL: the driver has no USM
  ClEnqueueMemcpy* enqueue_memcpy;
  std::atomic<ClContext> context;  // of all its devices, made for the table; NULL before
};

// Filled when the backend is started; nothing but the contexts changes later.
struct ClDriver {
  ClFunctions call;
  ClPlatformRecord* platforms;
  uint32_t platform_count;
  ClDevice* devices;  // platform after platform: the index is the id under kDLOpenCL
  uint32_t device_count;
};
extern ClDriver g_opencl;

// Loads the library and finds its platforms and devices: a DLBRIDGE_STATE_*.
int32_t StartOpenCl(DLBridgeBackendInfo* info);

const char* ClErrorName(int32_t code);
DLBridgeStatus RefuseCl(DLBridgeError* error, const char* call, int32_t code);

// DRIVER unless a call returned CL_SUCCESS.
inline DLBridgeStatus CheckCl(int32_t code, const char* call, DLBridgeError* error) {
  return code == kClSuccess ? DLBRIDGE_OK : RefuseCl(error, call, code);
}

template <class Handle>
Handle ClHandle(uint64_t handle) {
  return reinterpret_cast<Handle>(handle);
}
template <class Handle>
uint64_t ClNumber(Handle handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

// The root devices above sub-devices; the device itself where it is one, or cannot be asked.
ClDevice RootDevice(ClDevice device);

// Index of a device, or of the root above it, in ClDriver::devices; -1.
int32_t DeviceIndex(ClDevice device);

// NULL where no platform of the process has it.
const ClPlatformRecord* FindPlatform(ClPlatform platform);

// The devices of a context. To be freed.
struct ClDeviceList {
  ClDevice* devices;
  uint32_t count;
};
DLBridgeStatus ContextDevices(ClContext context, ClDeviceList* out, DLBridgeError* error);
void FreeDevices(ClDeviceList* list);

// The same device, or one of them a part of the other?
bool IsSameClDevice(ClDevice a, ClDevice b);
bool HasDevice(const ClDeviceList& list, ClDevice device);

// NULL where no platform of the process has it.
DLBridgeStatus ContextPlatform(ClContext context, const ClPlatformRecord** out,
                               DLBridgeError* error);
DLBridgeStatus QueueContext(ClQueue queue, ClContext* out, DLBridgeError* error);
DLBridgeStatus MemContext(const DLBridgeBuffer& buffer, ClContext* out, DLBridgeError* error);

// Does the table have this very device under the label? Asks without keeping anything.
bool IsLabelled(DLDevice label, ClDevice device);

// The device that a label stands for; NULL where nobody says, or it is not OpenCL's. An entry that
// says so is kept meanwhile: the device may be one that is released with it.
class NamedDevice {
 public:
  explicit NamedDevice(DLDevice label);
  ~NamedDevice();
  NamedDevice(const NamedDevice&) = delete;
  NamedDevice& operator=(const NamedDevice&) = delete;

  ClDevice device() const { return device_; }
  // By an application, which then knows better than any numbering.
  bool registered() const { return entry_ != 0; }

 private:
  ClDevice device_ = nullptr;
  uint64_t entry_ = 0;
};

// The id of a device that is not the label's: as the table has it, else by our own numbering; -1
// where that is the label's id.
int32_t IdOfDevice(int32_t type, ClDevice device, DLDevice label);

// Memory behind an address, which a driver with USM can be asked.
DLBridgeStatus UsmInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error);

// The functions of kOpenClBackend: see struct Backend.
DLBridgeStatus EnumerateOpenCl(int32_t device_type, DLBridgeError* error);
DLBridgeStatus OpenClPointerInfo(const DLBridgeBuffer& buffer, DLDevice label,
                                 DLBridgePointerInfo* out, DLBridgeError* error);
DLBridgeStatus CheckClMem(const DLBridgeBuffer& buffer, DLBridgeError* error);
DLBridgeStatus RetainClMem(const DLBridgeBuffer& buffer, DLBridgeError* error);
void ReleaseClMem(const DLBridgeBuffer& buffer);
DLBridgeStatus OpenClHandoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                             uint32_t options, DLBridgeError* error);
DLBridgeStatus OpenClSynchronize(const DLBridgeStream& stream, DLBridgeError* error);
DLBridgeStatus OpenClCopyBegin(CopyJob* job, DLBridgeError* error);
DLBridgeStatus OpenClCopyBox(CopyJob* job, const CopyBox& box, DLBridgeError* error);
DLBridgeStatus OpenClCopyFinish(CopyJob* job, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_
