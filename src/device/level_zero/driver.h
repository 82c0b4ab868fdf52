// SPDX-License-Identifier: Apache-2.0
// The part of ze_api.h that this library uses, as the loader exports it.
// tests/device/level_zero_signatures.cc compares it with the real header.
#ifndef DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_DRIVER_H_

#include <cstddef>
#include <cstdint>

namespace dlbridge::level_zero {

using Result = uint32_t;

constexpr Result kSuccess = 0;
constexpr Result kNotReady = 1;
constexpr Result kDeviceLost = 0x70000001;
constexpr Result kUninitialized = 0x78000001;
constexpr Result kUnsupportedFeature = 0x78000003;

using Driver = struct DriverHandle*;
using Device = struct DeviceHandle*;
using Context = struct ContextHandle*;
using Queue = struct QueueHandle*;
using List = struct ListHandle*;
using Fence = struct FenceHandle*;
using EventPool = struct EventPoolHandle*;
using Event = struct EventHandle*;

// Every struct carries its type.
enum StructType : uint32_t {
  kDriverProperties = 0x1,
  kDeviceProperties = 0x3,
  kContextDesc = 0xd,
  kQueueDesc = 0xe,
  kListDesc = 0xf,
  kEventPoolDesc = 0x10,
  kEventDesc = 0x11,
  kAllocationProperties = 0x17,
  kInitDriverTypeDesc = 0x20021,
};

enum MemoryType : uint32_t { kUnknown = 0, kHost = 1, kDevice = 2, kShared = 3 };

constexpr uint32_t kSubDevice = 1U << 1;    // DeviceProperties::flags
constexpr uint32_t kHostVisible = 1U << 0;  // EventPoolDesc::flags
constexpr uint32_t kScopeDevice = 1U << 1;  // EventDesc::signal, ::wait
constexpr uint32_t kScopeHost = 1U << 2;    // likewise
constexpr uint32_t kAsynchronous = 2;       // QueueDesc::mode
constexpr uint32_t kGpuAndNpu = 0x3;        // InitDriverTypeDesc::flags
constexpr size_t kIpcHandleSize = 64;
constexpr size_t kComponentName = 64;

struct DriverPropertiesT {
  uint32_t stype;
  void* next;
  uint8_t uuid[16];
  uint32_t version;
};

struct DevicePropertiesT {
  uint32_t stype;
  void* next;
  uint32_t type;
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t flags;
  uint32_t subdevice_id;
  uint32_t core_clock_rate;
  uint64_t max_mem_alloc_size;
  uint32_t max_hardware_contexts;
  uint32_t max_command_queue_priority;
  uint32_t num_threads_per_eu;
  uint32_t physical_eu_simd_width;
  uint32_t num_eus_per_subslice;
  uint32_t num_subslices_per_slice;
  uint32_t num_slices;
  uint64_t timer_resolution;
  uint32_t timestamp_valid_bits;
  uint32_t kernel_timestamp_valid_bits;
  uint8_t uuid[16];
  char name[256];
};

struct ContextDescT {
  uint32_t stype;
  const void* next;
  uint32_t flags;
};

struct QueueDescT {
  uint32_t stype;
  const void* next;
  uint32_t ordinal;
  uint32_t index;
  uint32_t flags;
  uint32_t mode;
  uint32_t priority;
};

struct ListDescT {
  uint32_t stype;
  const void* next;
  uint32_t ordinal;
  uint32_t flags;
};

struct EventPoolDescT {
  uint32_t stype;
  const void* next;
  uint32_t flags;
  uint32_t count;
};

struct EventDescT {
  uint32_t stype;
  const void* next;
  uint32_t index;
  uint32_t signal;
  uint32_t wait;
};

struct AllocationPropertiesT {
  uint32_t stype;
  void* next;
  uint32_t type;
  uint64_t id;
  uint64_t page_size;
};

struct CopyRegionT {
  uint32_t x;
  uint32_t y;
  uint32_t z;
  uint32_t width;
  uint32_t height;
  uint32_t depth;
};

struct IpcHandleT {
  char data[kIpcHandleSize];
};

// Since loader 1.18.
struct InitDriverTypeDescT {
  uint32_t stype;
  const void* next;
  uint32_t flags;
};

struct ComponentVersionT {
  char name[kComponentName];
  uint32_t spec;
  int32_t major;
  int32_t minor;
  int32_t patch;
};

// Every loader has these: symbol, parameters. All return a Result.
#define DLBRIDGE_ZE_REQUIRED(X)                                                                   \
  X(zeInit, (uint32_t flags))                                                                     \
  X(zeDriverGet, (uint32_t * count, Driver * drivers))                                            \
  X(zeDriverGetApiVersion, (Driver driver, uint32_t * version))                                   \
  X(zeDriverGetProperties, (Driver driver, DriverPropertiesT * properties))                       \
  X(zeDeviceGet, (Driver driver, uint32_t * count, Device * devices))                             \
  X(zeDeviceGetSubDevices, (Device device, uint32_t * count, Device * devices))                   \
  X(zeDeviceGetProperties, (Device device, DevicePropertiesT * properties))                       \
  X(zeDeviceCanAccessPeer, (Device device, Device peer, uint8_t * value))                         \
  X(zeContextCreate, (Driver driver, const ContextDescT* desc, Context* context))                 \
  X(zeContextDestroy, (Context context))                                                          \
  X(zeMemGetAllocProperties,                                                                      \
    (Context context, const void* address, AllocationPropertiesT* properties, Device* device))    \
  X(zeMemGetAddressRange, (Context context, const void* address, void** base, size_t* size))      \
  X(zeMemGetIpcHandle, (Context context, const void* base, IpcHandleT* handle))                   \
  X(zeMemOpenIpcHandle,                                                                           \
    (Context context, Device device, IpcHandleT handle, uint32_t flags, void** address))          \
  X(zeMemCloseIpcHandle, (Context context, const void* address))                                  \
  X(zeCommandQueueExecuteCommandLists, (Queue queue, uint32_t count, List * lists, Fence fence))  \
  X(zeCommandQueueSynchronize, (Queue queue, uint64_t timeout))                                   \
  X(zeCommandListCreate, (Context context, Device device, const ListDescT* desc, List* list))     \
  X(zeCommandListCreateImmediate,                                                                 \
    (Context context, Device device, const QueueDescT* desc, List* list))                         \
  X(zeCommandListDestroy, (List list))                                                            \
  X(zeCommandListClose, (List list))                                                              \
  X(zeCommandListAppendBarrier, (List list, Event signal, uint32_t count, Event * waits))         \
  X(zeCommandListAppendMemoryCopy, (List list, void* to, const void* from, size_t size,           \
                                    Event signal, uint32_t count, Event* waits))                  \
  X(zeCommandListAppendMemoryCopyRegion,                                                          \
    (List list, void* to, const CopyRegionT* to_region, uint32_t to_pitch,                        \
     uint32_t to_slice_pitch, const void* from, const CopyRegionT* from_region,                   \
     uint32_t from_pitch, uint32_t from_slice_pitch, Event signal, uint32_t count, Event* waits)) \
  X(zeCommandListAppendMemoryCopyFromContext,                                                     \
    (List list, void* to, Context from_context, const void* from, size_t size, Event signal,      \
     uint32_t count, Event* waits))                                                               \
  X(zeEventPoolCreate, (Context context, const EventPoolDescT* desc, uint32_t count,              \
                        Device* devices, EventPool* pool))                                        \
  X(zeEventPoolDestroy, (EventPool pool))                                                         \
  X(zeEventCreate, (EventPool pool, const EventDescT* desc, Event* event))                        \
  X(zeEventDestroy, (Event event))                                                                \
  X(zeEventHostSynchronize, (Event event, uint64_t timeout))                                      \
  X(zeEventQueryStatus, (Event event))                                                            \
  X(zeEventHostReset, (Event event))

// Newer loaders have these, but their drivers may not. They are NULL, or return kUnsupportedFeature
// if the loader passes calls through, or kUninitialized if it intercepts them.
#define DLBRIDGE_ZE_OPTIONAL(X)                                                      \
  X(zelLoaderGetVersions, (size_t * count, ComponentVersionT * versions))            \
  X(zeInitDrivers, (uint32_t * count, Driver * drivers, InitDriverTypeDescT * desc)) \
  X(zeCommandListHostSynchronize, (List list, uint64_t timeout))                     \
  X(zeCommandQueueGetOrdinal, (Queue queue, uint32_t * ordinal))                     \
  X(zeMemPutIpcHandle, (Context context, IpcHandleT handle))

// The only function that returns no result.
using DefaultContextFunction = Context(Driver driver);

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator
#define DLBRIDGE_ZE_MEMBER(name, parameters) Result(*name) parameters;
  DLBRIDGE_ZE_REQUIRED(DLBRIDGE_ZE_MEMBER)
  DLBRIDGE_ZE_OPTIONAL(DLBRIDGE_ZE_MEMBER)
#undef DLBRIDGE_ZE_MEMBER
  DefaultContextFunction* zeDriverGetDefaultContext;
};

// Does a result mean that the driver lacks the function?
constexpr bool IsLacking(Result result) {
  return result == kUnsupportedFeature || result == kUninitialized;
}

}  // namespace dlbridge::level_zero

#endif  // DLBRIDGE_SRC_DEVICE_LEVEL_ZERO_DRIVER_H_
