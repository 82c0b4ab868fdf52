// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that this library uses, as libcuda.so.1 exports it: the library
// builds without NVIDIA's headers. tests/device/cuda_signatures.cc compares all of it with them.
//
// The names are those of the functions without "_ptsz" and "_ptds": a stream is always passed
// explicitly, so the meaning of NULL does not depend on how a program was compiled.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>

#ifdef _WIN32
#define DLBRIDGE_CUDA_CALL __stdcall
#else
#define DLBRIDGE_CUDA_CALL
#endif

namespace dlbridge::cuda {

using Result = int32_t;
using Device = int;
using Address = uint64_t;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Pool = struct PoolTag*;
using Allocation = unsigned long long;  // a handle of memory of cuMemCreate

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kDeinitialized = 4;
constexpr Result kStubLibrary = 34;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidContext = 201;
constexpr Result kAlreadyMapped = 208;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kContextIsDestroyed = 709;
constexpr Result kNotSupported = 801;
constexpr Result kSystemNotReady = 802;
constexpr Result kDriverMismatch = 803;
constexpr Result kCompatNotSupported = 804;
constexpr Result kCaptureUnsupported =
    900;  // the first result that reports a capture as the reason
constexpr Result kCaptureWrongThread = 908;  // the last one

constexpr uint32_t kMemoryHost = 1;
constexpr uint32_t kMemoryDevice = 2;

constexpr int kMaxPitch = 11;  // a device attribute

constexpr uint32_t kPointerContext = 1;
constexpr uint32_t kPointerMemoryType = 2;
constexpr uint32_t kPointerHostPointer = 4;
constexpr uint32_t kPointerBufferId = 7;
constexpr uint32_t kPointerIsManaged = 8;
constexpr uint32_t kPointerDeviceOrdinal = 9;
constexpr uint32_t kPointerIsIpcCapable = 10;
constexpr uint32_t kPointerRangeStart = 11;
constexpr uint32_t kPointerRangeSize = 12;
constexpr uint32_t kPointerMapped = 13;
constexpr uint32_t kPointerPool = 17;

constexpr uintptr_t kStreamLegacy = 1;
constexpr uintptr_t kStreamPerThread = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kEventInterprocess = 4;
constexpr unsigned kIpcLazyEnablePeerAccess = 1;
constexpr uint32_t kHandleFileDescriptor = 1;  // a bit of the types of handles
constexpr uint32_t kLocationDevice = 1;
constexpr uint32_t kAccessReadWrite = 3;

constexpr uint32_t kCaptureNone = 0;
constexpr uint32_t kCaptureActive = 1;
constexpr uint32_t kCaptureRelaxed = 2;  // a capture mode of a thread

struct Uuid {
  char bytes[16];
};

struct IpcMemHandle {
  char reserved[64];
};

struct IpcEventHandle {
  char reserved[64];
};

// The data that finds memory in an imported pool.
struct PoolPointer {
  unsigned char reserved[64];
};

struct Location {
  uint32_t type;
  int id;
};

struct AccessDesc {
  Location location;
  uint32_t flags;
};

// The properties of memory of cuMemCreate.
struct AllocationProp {
  uint32_t type;
  uint32_t handle_types;
  Location location;
  void* win32_meta_data;
  unsigned char flags[8];
};

struct Copy2D {
  size_t src_x;
  size_t src_y;
  uint32_t src_type;
  const void* src_host;
  Address src_device;
  void* src_array;
  size_t src_pitch;
  size_t dst_x;
  size_t dst_y;
  uint32_t dst_type;
  void* dst_host;
  Address dst_device;
  void* dst_array;
  size_t dst_pitch;
  size_t width;
  size_t height;
};

// One struct for copies within a context and between two contexts: the fields that are reserved in
// the former are the contexts of the latter.
struct Copy3D {
  size_t src_x;
  size_t src_y;
  size_t src_z;
  size_t src_lod;
  uint32_t src_type;
  const void* src_host;
  Address src_device;
  void* src_array;
  Context src_context;
  size_t src_pitch;
  size_t src_height;
  size_t dst_x;
  size_t dst_y;
  size_t dst_z;
  size_t dst_lod;
  uint32_t dst_type;
  void* dst_host;
  Address dst_device;
  void* dst_array;
  Context dst_context;
  size_t dst_pitch;
  size_t dst_height;
  size_t width;
  size_t height;
  size_t depth;
};

// ROW(member, exported name, type in cudaTypedefs.h, parameters). Every driver must have these.
#define DLBRIDGE_CUDA_REQUIRED(ROW)                                                           \
  ROW(init, cuInit, v2000, (unsigned))                                                        \
  ROW(driver_get_version, cuDriverGetVersion, v2020, (int*))                                  \
  ROW(get_error_name, cuGetErrorName, v6000, (Result, const char**))                          \
  ROW(device_get_count, cuDeviceGetCount, v2000, (int*))                                      \
  ROW(device_get, cuDeviceGet, v2000, (Device*, int))                                         \
  ROW(device_get_attribute, cuDeviceGetAttribute, v2000, (int*, uint32_t, Device))            \
  ROW(device_can_access_peer, cuDeviceCanAccessPeer, v4000, (int*, Device, Device))           \
  ROW(pointer_get_attributes, cuPointerGetAttributes, v7000,                                  \
      (unsigned, uint32_t*, void**, Address))                                                 \
  ROW(pointer_get_attribute, cuPointerGetAttribute, v4000, (void*, uint32_t, Address))        \
  ROW(mem_get_address_range, cuMemGetAddressRange_v2, v3020, (Address*, size_t*, Address))    \
  ROW(mem_alloc, cuMemAlloc_v2, v3020, (Address*, size_t))                                    \
  ROW(ctx_get_current, cuCtxGetCurrent, v4000, (Context*))                                    \
  ROW(ctx_push_current, cuCtxPushCurrent_v2, v4000, (Context))                                \
  ROW(ctx_pop_current, cuCtxPopCurrent_v2, v4000, (Context*))                                 \
  ROW(ctx_get_device, cuCtxGetDevice, v2000, (Device*))                                       \
  ROW(primary_ctx_get_state, cuDevicePrimaryCtxGetState, v7000, (Device, unsigned*, int*))    \
  ROW(primary_ctx_retain, cuDevicePrimaryCtxRetain, v7000, (Context*, Device))                \
  ROW(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, v11000, (Device))                    \
  ROW(stream_get_ctx, cuStreamGetCtx, v9020, (Stream, Context*))                              \
  ROW(stream_is_capturing, cuStreamIsCapturing, v10000, (Stream, uint32_t*))                  \
  ROW(stream_create, cuStreamCreate, v2000, (Stream*, unsigned))                              \
  ROW(stream_destroy, cuStreamDestroy_v2, v4000, (Stream))                                    \
  ROW(stream_synchronize, cuStreamSynchronize, v2000, (Stream))                               \
  ROW(stream_wait_event, cuStreamWaitEvent, v3020, (Stream, Event, unsigned))                 \
  ROW(thread_exchange_capture_mode, cuThreadExchangeStreamCaptureMode, v10010, (uint32_t*))   \
  ROW(event_create, cuEventCreate, v2000, (Event*, unsigned))                                 \
  ROW(event_record, cuEventRecord, v2000, (Event, Stream))                                    \
  ROW(event_query, cuEventQuery, v2000, (Event))                                              \
  ROW(event_synchronize, cuEventSynchronize, v2000, (Event))                                  \
  ROW(event_destroy, cuEventDestroy_v2, v4000, (Event))                                       \
  ROW(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, v3020, (void*, Address, size_t, Stream))       \
  ROW(memcpy_htod_async, cuMemcpyHtoDAsync_v2, v3020, (Address, const void*, size_t, Stream)) \
  ROW(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, v3020, (Address, Address, size_t, Stream))     \
  ROW(memcpy_peer_async, cuMemcpyPeerAsync, v4000,                                            \
      (Address, Context, Address, Context, size_t, Stream))                                   \
  ROW(memcpy_2d_async, cuMemcpy2DAsync_v2, v3020, (const Copy2D*, Stream))                    \
  ROW(memcpy_3d_async, cuMemcpy3DAsync_v2, v3020, (const Copy3D*, Stream))                    \
  ROW(memcpy_3d_peer_async, cuMemcpy3DPeerAsync, v4000, (const Copy3D*, Stream))              \
  ROW(ipc_get_mem_handle, cuIpcGetMemHandle, v4010, (IpcMemHandle*, Address))                 \
  ROW(ipc_open_mem_handle, cuIpcOpenMemHandle_v2, v11000, (Address*, IpcMemHandle, unsigned)) \
  ROW(ipc_close_mem_handle, cuIpcCloseMemHandle, v4010, (Address))

// For memory of pools and of cuMemMap, and for the order of work, between processes.
#define DLBRIDGE_CUDA_SHARING(ROW)                                                             \
  ROW(stream_get_id, cuStreamGetId, v12000, (Stream, unsigned long long*))                     \
  ROW(ipc_get_event_handle, cuIpcGetEventHandle, v4010, (IpcEventHandle*, Event))              \
  ROW(ipc_open_event_handle, cuIpcOpenEventHandle, v4010, (Event*, IpcEventHandle))            \
  ROW(mem_free, cuMemFree_v2, v3020, (Address))                                                \
  ROW(mem_pool_export, cuMemPoolExportToShareableHandle, v11020,                               \
      (void*, Pool, uint32_t, unsigned long long))                                             \
  ROW(mem_pool_import, cuMemPoolImportFromShareableHandle, v11020,                             \
      (Pool*, void*, uint32_t, unsigned long long))                                            \
  ROW(mem_pool_export_pointer, cuMemPoolExportPointer, v11020, (PoolPointer*, Address))        \
  ROW(mem_pool_import_pointer, cuMemPoolImportPointer, v11020, (Address*, Pool, PoolPointer*)) \
  ROW(mem_pool_set_access, cuMemPoolSetAccess, v11020, (Pool, const AccessDesc*, size_t))      \
  ROW(mem_pool_destroy, cuMemPoolDestroy, v11020, (Pool))                                      \
  ROW(mem_retain, cuMemRetainAllocationHandle, v11000, (Allocation*, void*))                   \
  ROW(mem_release, cuMemRelease, v10020, (Allocation))                                         \
  ROW(mem_get_properties, cuMemGetAllocationPropertiesFromHandle, v10020,                      \
      (AllocationProp*, Allocation))                                                           \
  ROW(mem_export, cuMemExportToShareableHandle, v10020,                                        \
      (void*, Allocation, uint32_t, unsigned long long))                                       \
  ROW(mem_import, cuMemImportFromShareableHandle, v10020, (Allocation*, void*, uint32_t))      \
  ROW(mem_address_reserve, cuMemAddressReserve, v10020,                                        \
      (Address*, size_t, size_t, Address, unsigned long long))                                 \
  ROW(mem_address_free, cuMemAddressFree, v10020, (Address, size_t))                           \
  ROW(mem_map, cuMemMap, v10020, (Address, size_t, size_t, Allocation, unsigned long long))    \
  ROW(mem_unmap, cuMemUnmap, v10020, (Address, size_t))                                        \
  ROW(mem_set_access, cuMemSetAccess, v10020, (Address, size_t, const AccessDesc*, size_t))

// Older drivers lack these.
#define DLBRIDGE_CUDA_OPTIONAL(ROW)                                   \
  ROW(device_get_uuid, cuDeviceGetUuid_v2, v11040, (Uuid*, Device))   \
  ROW(ctx_get_id, cuCtxGetId, v12000, (Context, unsigned long long*)) \
  DLBRIDGE_CUDA_SHARING(ROW)                                          \
  ROW(stream_get_capture_info, cuStreamGetCaptureInfo_v2, v11030,     \
      (Stream, uint32_t*, uint64_t*, void**, const void**, size_t*))

// NOLINTBEGIN(bugprone-macro-parentheses): declarators take none
struct Driver {
#define DLBRIDGE_ROW(member, name, version, parameters) \
  Result(DLBRIDGE_CUDA_CALL* member) parameters;
  DLBRIDGE_CUDA_REQUIRED(DLBRIDGE_ROW)
  DLBRIDGE_CUDA_OPTIONAL(DLBRIDGE_ROW)
#undef DLBRIDGE_ROW
};
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace dlbridge::cuda

#endif  // DLBRIDGE_SRC_DEVICE_CUDA_DRIVER_H_
