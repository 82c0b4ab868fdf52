// SPDX-License-Identifier: Apache-2.0
// Compares the declarations in src/device with the real headers; compiling it is the test.
// Functions of newer loaders are not in the headers of 1.8.
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

#include <cstddef>
#include <type_traits>

#include "device/level_zero/driver.h"

namespace {

namespace level_zero = dlbridge::level_zero;

// The macros take names of types and members, which cannot be put in parentheses, and the checks
// compare sizes, also of pointers.
// NOLINTBEGIN(bugprone-macro-parentheses,bugprone-sizeof-expression,misc-redundant-expression)

// 0 for incomplete types: void and the pointees of handles.
template <class T, class = void>
struct SizeOf : std::integral_constant<size_t, 0> {};
template <class T>
struct SizeOf<T, std::enable_if_t<!std::is_void_v<T> && (sizeof(T) > 0)>>
    : std::integral_constant<size_t, sizeof(T)> {};

template <class A, class B>
constexpr bool IsSamePointee() {
  using AsA = std::remove_pointer_t<A>;
  using AsB = std::remove_pointer_t<B>;
  return SizeOf<AsA>::value == SizeOf<AsB>::value &&
         (std::is_const_v<AsA> || !std::is_const_v<AsB>);
}

// Enumerations match integers.
template <class A, class B>
constexpr bool IsSame() {
  constexpr bool kIntegers =
      (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    return IsSamePointee<A, B>();
  } else {
    return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) &&
           (kIntegers || (std::is_class_v<A> && std::is_class_v<B>));
  }
}

template <class Ours, class Theirs>
struct IsSameFunction;
template <class R, class... P, class S, class... Q>
struct IsSameFunction<R (*)(P...), S (*)(Q...)> {
  static constexpr bool All() {
    if constexpr (sizeof...(P) == sizeof...(Q)) {
      return IsSame<R, S>() && (IsSame<P, Q>() && ...);
    } else {
      return false;
    }
  }
};

#define FUNCTION(name, parameters)                                                               \
  static_assert(IsSameFunction<decltype(level_zero::Functions::name), decltype(&::name)>::All(), \
                #name " has another signature");
DLBRIDGE_ZE_REQUIRED(FUNCTION)
FUNCTION(zelLoaderGetVersions, )

#define STRUCT(ours, theirs)                                                                      \
  static_assert(                                                                                  \
      sizeof(level_zero::ours) == sizeof(theirs) && alignof(level_zero::ours) == alignof(theirs), \
      #theirs " has another size");
#define MEMBER(ours, member, theirs, their_member)                                      \
  static_assert(offsetof(level_zero::ours, member) == offsetof(theirs, their_member) && \
                    sizeof(level_zero::ours{}.member) == sizeof(theirs{}.their_member), \
                #theirs "::" #their_member " has another offset or size");

STRUCT(DriverPropertiesT, ze_driver_properties_t)
MEMBER(DriverPropertiesT, stype, ze_driver_properties_t, stype)
MEMBER(DriverPropertiesT, next, ze_driver_properties_t, pNext)
MEMBER(DriverPropertiesT, uuid, ze_driver_properties_t, uuid)
MEMBER(DriverPropertiesT, version, ze_driver_properties_t, driverVersion)
STRUCT(DevicePropertiesT, ze_device_properties_t)
MEMBER(DevicePropertiesT, stype, ze_device_properties_t, stype)
MEMBER(DevicePropertiesT, next, ze_device_properties_t, pNext)
MEMBER(DevicePropertiesT, flags, ze_device_properties_t, flags)
MEMBER(DevicePropertiesT, subdevice_id, ze_device_properties_t, subdeviceId)
MEMBER(DevicePropertiesT, uuid, ze_device_properties_t, uuid)
MEMBER(DevicePropertiesT, name, ze_device_properties_t, name)
STRUCT(ContextDescT, ze_context_desc_t)
MEMBER(ContextDescT, next, ze_context_desc_t, pNext)
MEMBER(ContextDescT, flags, ze_context_desc_t, flags)
STRUCT(QueueDescT, ze_command_queue_desc_t)
MEMBER(QueueDescT, next, ze_command_queue_desc_t, pNext)
MEMBER(QueueDescT, ordinal, ze_command_queue_desc_t, ordinal)
MEMBER(QueueDescT, index, ze_command_queue_desc_t, index)
MEMBER(QueueDescT, flags, ze_command_queue_desc_t, flags)
MEMBER(QueueDescT, mode, ze_command_queue_desc_t, mode)
MEMBER(QueueDescT, priority, ze_command_queue_desc_t, priority)
STRUCT(ListDescT, ze_command_list_desc_t)
MEMBER(ListDescT, next, ze_command_list_desc_t, pNext)
MEMBER(ListDescT, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal)
MEMBER(ListDescT, flags, ze_command_list_desc_t, flags)
STRUCT(EventPoolDescT, ze_event_pool_desc_t)
MEMBER(EventPoolDescT, flags, ze_event_pool_desc_t, flags)
MEMBER(EventPoolDescT, count, ze_event_pool_desc_t, count)
STRUCT(EventDescT, ze_event_desc_t)
MEMBER(EventDescT, index, ze_event_desc_t, index)
MEMBER(EventDescT, signal, ze_event_desc_t, signal)
MEMBER(EventDescT, wait, ze_event_desc_t, wait)
STRUCT(AllocationPropertiesT, ze_memory_allocation_properties_t)
MEMBER(AllocationPropertiesT, next, ze_memory_allocation_properties_t, pNext)
MEMBER(AllocationPropertiesT, type, ze_memory_allocation_properties_t, type)
MEMBER(AllocationPropertiesT, id, ze_memory_allocation_properties_t, id)
STRUCT(CopyRegionT, ze_copy_region_t)
MEMBER(CopyRegionT, width, ze_copy_region_t, width)
MEMBER(CopyRegionT, height, ze_copy_region_t, height)
MEMBER(CopyRegionT, depth, ze_copy_region_t, depth)
STRUCT(IpcHandleT, ze_ipc_mem_handle_t)
STRUCT(ComponentVersionT, zel_component_version_t)
MEMBER(ComponentVersionT, name, zel_component_version_t, component_name)
MEMBER(ComponentVersionT, major, zel_component_version_t, component_lib_version.major)
MEMBER(ComponentVersionT, patch, zel_component_version_t, component_lib_version.patch)

#define CONSTANT(ours, theirs) \
  static_assert(level_zero::ours == theirs, #theirs " has another value");
CONSTANT(kSuccess, ZE_RESULT_SUCCESS)
CONSTANT(kNotReady, ZE_RESULT_NOT_READY)
CONSTANT(kDeviceLost, ZE_RESULT_ERROR_DEVICE_LOST)
CONSTANT(kUninitialized, ZE_RESULT_ERROR_UNINITIALIZED)
CONSTANT(kUnsupportedFeature, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
#define TYPE(ours, theirs) \
  static_assert(int{level_zero::ours} == int{theirs}, #theirs " has another value");
TYPE(kDriverProperties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES)
TYPE(kDeviceProperties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
TYPE(kContextDesc, ZE_STRUCTURE_TYPE_CONTEXT_DESC)
TYPE(kQueueDesc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC)
TYPE(kListDesc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
TYPE(kEventPoolDesc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC)
TYPE(kEventDesc, ZE_STRUCTURE_TYPE_EVENT_DESC)
TYPE(kAllocationProperties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES)
TYPE(kUnknown, ZE_MEMORY_TYPE_UNKNOWN)
TYPE(kHost, ZE_MEMORY_TYPE_HOST)
TYPE(kDevice, ZE_MEMORY_TYPE_DEVICE)
TYPE(kShared, ZE_MEMORY_TYPE_SHARED)
CONSTANT(kSubDevice, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE)
CONSTANT(kHostVisible, ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
CONSTANT(kScopeDevice, ZE_EVENT_SCOPE_FLAG_DEVICE)
CONSTANT(kScopeHost, ZE_EVENT_SCOPE_FLAG_HOST)
CONSTANT(kAsynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
CONSTANT(kIpcHandleSize, ZE_MAX_IPC_HANDLE_SIZE)
CONSTANT(kComponentName, ZEL_COMPONENT_STRING_SIZE)

}  // namespace

// NOLINTEND(bugprone-macro-parentheses,bugprone-sizeof-expression,misc-redundant-expression)
