// SPDX-License-Identifier: Apache-2.0
// The part of OpenCL that this library uses: it builds without a vendor's headers.
// tests/device/opencl_signatures.cc compares it with the real ones.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_

#include <cstddef>
#include <cstdint>

#ifdef _WIN32
#define DLBRIDGE_CL_CALL __stdcall
#else
#define DLBRIDGE_CL_CALL
#endif

namespace dlbridge::opencl {

using Platform = struct PlatformObject*;
using Device = struct DeviceObject*;
using Context = struct ContextObject*;
using Queue = struct QueueObject*;
using Mem = struct MemObject*;
using Event = struct EventObject*;

using Property = intptr_t;  // a list of pairs that ends with 0

// Results.
constexpr int32_t kSuccess = 0;
constexpr int32_t kDeviceNotFound = -1;
constexpr int32_t kWaitListFailed = -14;  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
constexpr int32_t kPlatformNotFound = -1001;

constexpr uint32_t kFalse = 0;
constexpr uint64_t kDeviceTypeAll = 0xffffffff;
constexpr int32_t kComplete = 0;
constexpr uint32_t kMemObjectBuffer = 0x10f0;
constexpr uint64_t kOutOfOrder = 1 << 0;  // CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
constexpr uint64_t kMemReadWrite = 1 << 0;
constexpr uint64_t kMemReadOnly = 1 << 2;
constexpr uint64_t kMemUseHostPointer = 1 << 3;
constexpr uint64_t kMemHostWriteOnly = 1 << 7;
constexpr uint64_t kMemHostReadOnly = 1 << 8;
constexpr uint64_t kMemHostNoAccess = 1 << 9;
constexpr Property kContextPlatform = 0x1084;

// Queries.
constexpr uint32_t kPlatformVersion = 0x0901;
constexpr uint32_t kDevicePlatform = 0x1031;
constexpr uint32_t kDeviceParent = 0x1042;
constexpr uint32_t kDeviceUuid = 0x106a;
constexpr uint32_t kContextDevices = 0x1081;
constexpr uint32_t kQueueContext = 0x1090;
constexpr uint32_t kQueueDevice = 0x1091;
constexpr uint32_t kQueueProperties = 0x1093;
constexpr uint32_t kMemType = 0x1100;
constexpr uint32_t kMemFlags = 0x1101;
constexpr uint32_t kMemSize = 0x1102;
constexpr uint32_t kMemHostPointer = 0x1103;
constexpr uint32_t kMemContext = 0x1106;
constexpr uint32_t kMemParent = 0x1107;  // CL_MEM_ASSOCIATED_MEMOBJECT
constexpr uint32_t kMemOffset = 0x1108;
constexpr uint32_t kMemUsesSvmPointer = 0x1109;
constexpr uint32_t kEventStatus = 0x11d3;  // CL_EVENT_COMMAND_EXECUTION_STATUS

// cl_intel_unified_shared_memory.
constexpr uint32_t kAllocType = 0x419a;
constexpr uint32_t kAllocBase = 0x419b;
constexpr uint32_t kAllocSize = 0x419c;
constexpr uint32_t kAllocDevice = 0x419d;
constexpr uint32_t kTypeUnknown = 0x4196;
constexpr uint32_t kTypeHost = 0x4197;
constexpr uint32_t kTypeDevice = 0x4198;
constexpr uint32_t kTypeShared = 0x4199;

using ContextNotify = void(DLBRIDGE_CL_CALL*)(const char*, const void*, size_t, void*);
using EventNotify = void(DLBRIDGE_CL_CALL*)(Event, int32_t, void*);
using MemNotify = void(DLBRIDGE_CL_CALL*)(Mem, void*);

using GetMemAllocInfo = int32_t DLBRIDGE_CL_CALL(Context, const void*, uint32_t, size_t, void*,
                                                 size_t*);
using EnqueueMemcpy = int32_t DLBRIDGE_CL_CALL(Queue, uint32_t, void*, const void*, size_t,
                                               uint32_t, const Event*, Event*);
using GetExtension = void* DLBRIDGE_CL_CALL(const char*);
using GetLoaderInfo = int32_t DLBRIDGE_CL_CALL(uint32_t, size_t, void*, size_t*);

// name, result, parameters. Every OpenCL 1.2 loader has all of them.
#define DLBRIDGE_CL_FUNCTIONS(ROW)                                                                \
  ROW(clGetPlatformIDs, int32_t, (uint32_t, Platform*, uint32_t*))                                \
  ROW(clGetPlatformInfo, int32_t, (Platform, uint32_t, size_t, void*, size_t*))                   \
  ROW(clGetDeviceIDs, int32_t, (Platform, uint64_t, uint32_t, Device*, uint32_t*))                \
  ROW(clGetDeviceInfo, int32_t, (Device, uint32_t, size_t, void*, size_t*))                       \
  ROW(clGetExtensionFunctionAddressForPlatform, void*, (Platform, const char*))                   \
  ROW(clCreateContext, Context,                                                                   \
      (const Property*, uint32_t, const Device*, ContextNotify, void*, int32_t*))                 \
  ROW(clReleaseContext, int32_t, (Context))                                                       \
  ROW(clGetContextInfo, int32_t, (Context, uint32_t, size_t, void*, size_t*))                     \
  ROW(clCreateCommandQueue, Queue, (Context, Device, uint64_t, int32_t*))                         \
  ROW(clReleaseCommandQueue, int32_t, (Queue))                                                    \
  ROW(clGetCommandQueueInfo, int32_t, (Queue, uint32_t, size_t, void*, size_t*))                  \
  ROW(clFlush, int32_t, (Queue))                                                                  \
  ROW(clFinish, int32_t, (Queue))                                                                 \
  ROW(clCreateBuffer, Mem, (Context, uint64_t, size_t, void*, int32_t*))                          \
  ROW(clGetMemObjectInfo, int32_t, (Mem, uint32_t, size_t, void*, size_t*))                       \
  ROW(clRetainMemObject, int32_t, (Mem))                                                          \
  ROW(clReleaseMemObject, int32_t, (Mem))                                                         \
  ROW(clSetMemObjectDestructorCallback, int32_t, (Mem, MemNotify, void*))                         \
  ROW(clCreateUserEvent, Event, (Context, int32_t*))                                              \
  ROW(clSetUserEventStatus, int32_t, (Event, int32_t))                                            \
  ROW(clSetEventCallback, int32_t, (Event, int32_t, EventNotify, void*))                          \
  ROW(clGetEventInfo, int32_t, (Event, uint32_t, size_t, void*, size_t*))                         \
  ROW(clWaitForEvents, int32_t, (uint32_t, const Event*))                                         \
  ROW(clReleaseEvent, int32_t, (Event))                                                           \
  ROW(clEnqueueMarkerWithWaitList, int32_t, (Queue, uint32_t, const Event*, Event*))              \
  ROW(clEnqueueBarrierWithWaitList, int32_t, (Queue, uint32_t, const Event*, Event*))             \
  ROW(clEnqueueReadBuffer, int32_t,                                                               \
      (Queue, Mem, uint32_t, size_t, size_t, void*, uint32_t, const Event*, Event*))              \
  ROW(clEnqueueWriteBuffer, int32_t,                                                              \
      (Queue, Mem, uint32_t, size_t, size_t, const void*, uint32_t, const Event*, Event*))        \
  ROW(clEnqueueCopyBuffer, int32_t,                                                               \
      (Queue, Mem, Mem, size_t, size_t, size_t, uint32_t, const Event*, Event*))                  \
  ROW(clEnqueueReadBufferRect, int32_t,                                                           \
      (Queue, Mem, uint32_t, const size_t*, const size_t*, const size_t*, size_t, size_t, size_t, \
       size_t, void*, uint32_t, const Event*, Event*))                                            \
  ROW(clEnqueueWriteBufferRect, int32_t,                                                          \
      (Queue, Mem, uint32_t, const size_t*, const size_t*, const size_t*, size_t, size_t, size_t, \
       size_t, const void*, uint32_t, const Event*, Event*))                                      \
  ROW(clEnqueueCopyBufferRect, int32_t,                                                           \
      (Queue, Mem, Mem, const size_t*, const size_t*, const size_t*, size_t, size_t, size_t,      \
       size_t, uint32_t, const Event*, Event*))

template <class Function>
using Pointer = Function*;

struct Functions {
#define DLBRIDGE_CL_MEMBER(name, result, parameters) \
  Pointer<result DLBRIDGE_CL_CALL parameters> name;
  DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_MEMBER)
#undef DLBRIDGE_CL_MEMBER
};

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_DRIVER_H_
