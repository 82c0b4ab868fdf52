// SPDX-License-Identifier: Apache-2.0
// Compares the declarations in src/device with the vendor's headers; compiling it is the test.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <type_traits>

#include "device/opencl_driver.h"

namespace dlbridge {
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

#define DLBRIDGE_CL_CHECK(name, result, parameters)                                                \
  static_assert(                                                                                   \
      IsSameFunction<std::remove_pointer_t<decltype(ClFunctions::name)>, decltype(::name)>::value, \
      #name " has another signature");
DLBRIDGE_CL_FUNCTIONS(DLBRIDGE_CL_CHECK)
#undef DLBRIDGE_CL_CHECK

static_assert(
    IsSameFunction<ClGetMemAllocInfo, std::remove_pointer_t<clGetMemAllocInfoINTEL_fn>>::value);
static_assert(
    IsSameFunction<ClEnqueueMemcpy, std::remove_pointer_t<clEnqueueMemcpyINTEL_fn>>::value);
static_assert(IsSameFunction<ClGetExtension, decltype(clGetExtensionFunctionAddress)>::value);

// The check can fail.
static_assert(!IsSameFunction<int(int), int(int, int)>::value);
static_assert(!IsSameFunction<int(int), int(unsigned)>::value);
static_assert(!IsSameFunction<int(int), int(long)>::value);
static_assert(!IsSameFunction<int(long), int(void*)>::value);

static_assert(kClSuccess == CL_SUCCESS);
static_assert(kClDeviceNotFound == CL_DEVICE_NOT_FOUND);
static_assert(kClPlatformNotFound == CL_PLATFORM_NOT_FOUND_KHR);
static_assert(kClFalse == CL_FALSE);
static_assert(kClDeviceTypeAll == CL_DEVICE_TYPE_ALL);
static_assert(kClComplete == CL_COMPLETE);
static_assert(kClMemObjectBuffer == CL_MEM_OBJECT_BUFFER);
static_assert(kClContextPlatform == CL_CONTEXT_PLATFORM);
static_assert(kClPlatformVersion == CL_PLATFORM_VERSION);
static_assert(kClDevicePlatform == CL_DEVICE_PLATFORM);
static_assert(kClDeviceParent == CL_DEVICE_PARENT_DEVICE);
static_assert(kClDeviceUuid == CL_DEVICE_UUID_KHR);
static_assert(sizeof(DLBridgeContextEntry::uuid) == CL_UUID_SIZE_KHR);
static_assert(kClContextDevices == CL_CONTEXT_DEVICES);
static_assert(kClQueueContext == CL_QUEUE_CONTEXT);
static_assert(kClMemType == CL_MEM_TYPE);
static_assert(kClMemSize == CL_MEM_SIZE);
static_assert(kClMemHostPointer == CL_MEM_HOST_PTR);
static_assert(kClMemContext == CL_MEM_CONTEXT);
static_assert(kClMemUsesSvmPointer == CL_MEM_USES_SVM_POINTER);
static_assert(kClAllocType == CL_MEM_ALLOC_TYPE_INTEL);
static_assert(kClAllocBase == CL_MEM_ALLOC_BASE_PTR_INTEL);
static_assert(kClAllocSize == CL_MEM_ALLOC_SIZE_INTEL);
static_assert(kClAllocDevice == CL_MEM_ALLOC_DEVICE_INTEL);
static_assert(kClTypeUnknown == CL_MEM_TYPE_UNKNOWN_INTEL);
static_assert(kClTypeHost == CL_MEM_TYPE_HOST_INTEL);
static_assert(kClTypeDevice == CL_MEM_TYPE_DEVICE_INTEL);
static_assert(kClTypeShared == CL_MEM_TYPE_SHARED_INTEL);

}  // namespace
}  // namespace dlbridge
