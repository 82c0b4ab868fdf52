// SPDX-License-Identifier: Apache-2.0
// Compares the declarations in src/device with the vendor's headers; compiling it is the test.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <type_traits>

#include "device/opencl/driver.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::opencl {
namespace {

template <class T>
constexpr size_t SizeOf() {
  return sizeof(T);  // NOLINT(bugprone-sizeof-expression): sizes of handles too
}

// The same size, and both pointers, or both integers of the same sign.
template <class A, class B>
constexpr bool IsSameKind() {
  return SizeOf<A>() == SizeOf<B>() && std::is_pointer<A>::value == std::is_pointer<B>::value &&
         std::is_signed<A>::value == std::is_signed<B>::value;
}
template <>
constexpr bool IsSameKind<void, void>() {
  return true;
}

template <class A, class B>
struct IsSameFunction : std::false_type {};
template <class ResultA, class... A, class ResultB, class... B>
struct IsSameFunction<ResultA(A...), ResultB(B...)> {
  template <bool kEqualCounts, class Unused = void>
  struct Compare {
    static constexpr bool kValue = false;
  };
  template <class Unused>
  struct Compare<true, Unused> {
    static constexpr bool kValue = IsSameKind<ResultA, ResultB>() && (IsSameKind<A, B>() && ...);
  };
  static constexpr bool value = Compare<sizeof...(A) == sizeof...(B)>::kValue;
};

#define DLBRIDGE_CL_CHECK(name, result, parameters)                                              \
  static_assert(                                                                                 \
      IsSameFunction<std::remove_pointer_t<decltype(Functions::name)>, decltype(::name)>::value, \
      #name " has another signature");
DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_CHECK)
#undef DLBRIDGE_CL_CHECK

static_assert(
    IsSameFunction<GetMemAllocInfo, std::remove_pointer_t<clGetMemAllocInfoINTEL_fn>>::value);
static_assert(IsSameFunction<EnqueueMemcpy, std::remove_pointer_t<clEnqueueMemcpyINTEL_fn>>::value);
static_assert(IsSameFunction<GetExtension, decltype(clGetExtensionFunctionAddress)>::value);

// The check can fail.
static_assert(!IsSameFunction<int(int), int(int, int)>::value);
static_assert(!IsSameFunction<int(int), int(unsigned)>::value);
static_assert(!IsSameFunction<int(int), int(long)>::value);
static_assert(!IsSameFunction<int(long), int(void*)>::value);

static_assert(kSuccess == CL_SUCCESS);
static_assert(kDeviceNotFound == CL_DEVICE_NOT_FOUND);
static_assert(kWaitListFailed == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
static_assert(kPlatformNotFound == CL_PLATFORM_NOT_FOUND_KHR);
static_assert(kFalse == CL_FALSE);
static_assert(kDeviceTypeAll == CL_DEVICE_TYPE_ALL);
static_assert(kComplete == CL_COMPLETE);
static_assert(kMemObjectBuffer == CL_MEM_OBJECT_BUFFER);
static_assert(kOutOfOrder == CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
static_assert(kMemReadWrite == CL_MEM_READ_WRITE);
static_assert(kMemReadOnly == CL_MEM_READ_ONLY);
static_assert(kMemUseHostPointer == CL_MEM_USE_HOST_PTR);
static_assert(kMemHostWriteOnly == CL_MEM_HOST_WRITE_ONLY);
static_assert(kMemHostReadOnly == CL_MEM_HOST_READ_ONLY);
static_assert(kMemHostNoAccess == CL_MEM_HOST_NO_ACCESS);
static_assert(kContextPlatform == CL_CONTEXT_PLATFORM);
static_assert(kPlatformVersion == CL_PLATFORM_VERSION);
static_assert(kDevicePlatform == CL_DEVICE_PLATFORM);
static_assert(kDeviceParent == CL_DEVICE_PARENT_DEVICE);
static_assert(kDeviceUuid == CL_DEVICE_UUID_KHR);
static_assert(sizeof(DLBridgeContextEntry::uuid) == CL_UUID_SIZE_KHR);
static_assert(kContextDevices == CL_CONTEXT_DEVICES);
static_assert(kQueueContext == CL_QUEUE_CONTEXT);
static_assert(kQueueProperties == CL_QUEUE_PROPERTIES);
static_assert(kMemType == CL_MEM_TYPE);
static_assert(kMemFlags == CL_MEM_FLAGS);
static_assert(kMemSize == CL_MEM_SIZE);
static_assert(kMemHostPointer == CL_MEM_HOST_PTR);
static_assert(kMemContext == CL_MEM_CONTEXT);
static_assert(kMemParent == CL_MEM_ASSOCIATED_MEMOBJECT);
static_assert(kMemOffset == CL_MEM_OFFSET);
static_assert(kEventStatus == CL_EVENT_COMMAND_EXECUTION_STATUS);
static_assert(kMemUsesSvmPointer == CL_MEM_USES_SVM_POINTER);
static_assert(kAllocType == CL_MEM_ALLOC_TYPE_INTEL);
static_assert(kAllocBase == CL_MEM_ALLOC_BASE_PTR_INTEL);
static_assert(kAllocSize == CL_MEM_ALLOC_SIZE_INTEL);
static_assert(kAllocDevice == CL_MEM_ALLOC_DEVICE_INTEL);
static_assert(kTypeUnknown == CL_MEM_TYPE_UNKNOWN_INTEL);
static_assert(kTypeHost == CL_MEM_TYPE_HOST_INTEL);
static_assert(kTypeDevice == CL_MEM_TYPE_DEVICE_INTEL);
static_assert(kTypeShared == CL_MEM_TYPE_SHARED_INTEL);

}  // namespace
}  // namespace dlbridge::opencl
