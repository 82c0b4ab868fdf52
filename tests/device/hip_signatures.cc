// SPDX-License-Identifier: Apache-2.0
// Compares the declarations in src/device with AMD's headers; compiling it is the test.
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "device/hip/driver.h"

#if HIP_VERSION < 50600000
// Not declared in these headers.
extern "C" hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
#endif

namespace dlbridge::hip {
namespace {

// 0 for types without a size: void, functions, and incomplete structs.
template <class T, class = void>
struct SizeOf : std::integral_constant<size_t, 0> {};
template <>
struct SizeOf<void, void> : std::integral_constant<size_t, 0> {};
template <>
struct SizeOf<const void, void> : std::integral_constant<size_t, 0> {};
template <class T>
struct SizeOf<T, std::void_t<decltype(sizeof(T))>> : std::integral_constant<size_t, sizeof(T)> {};

template <class T>
constexpr int KindOf() {
  if (std::is_pointer_v<T>) {
    return 1;
  }
  return std::is_integral_v<T> || std::is_enum_v<T> ? 2 : 3;
}

template <class A, class B>
constexpr bool IsSamePointee() {
  constexpr size_t kA = SizeOf<std::remove_pointer_t<A>>::value;
  constexpr size_t kB = SizeOf<std::remove_pointer_t<B>>::value;
  return kA == 0 || kB == 0 || kA == kB;
}

template <class A, class B>
constexpr bool IsSame() {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the sizes of pointers are compared too
  return sizeof(A) == sizeof(B) && KindOf<A>() == KindOf<B>() &&
         (!std::is_pointer_v<A> || IsSamePointee<A, B>());
}

// Packs of different lengths cannot be expanded together, so their lengths are compared first.
template <class... T>
struct List {};
template <class A, class B>
struct AreSame : std::false_type {};
template <>
struct AreSame<List<>, List<>> : std::true_type {};
template <class A, class... As, class B, class... Bs>
struct AreSame<List<A, As...>, List<B, Bs...>>
    : std::bool_constant<IsSame<A, B>() && AreSame<List<As...>, List<Bs...>>::value> {};

template <class T>
struct SignatureOf;
template <class Result, class... Parameters>
struct SignatureOf<Result (*)(Parameters...)> {
  using Type = List<Result, Parameters...>;
};

template <class Ours, class Theirs>
constexpr bool HasSameSignature() {
  return AreSame<typename SignatureOf<Ours>::Type, typename SignatureOf<Theirs>::Type>::value;
}

#define DLBRIDGE_HIP_CHECK(name, needed, result, parameters)                   \
  static_assert(HasSameSignature<decltype(Driver::name), decltype(&::name)>(), \
                #name " has another signature");
DLBRIDGE_HIP_FUNCTIONS(DLBRIDGE_HIP_CHECK)
#undef DLBRIDGE_HIP_CHECK

// The comparison must be able to fail.
static_assert(!HasSameSignature<int (*)(int), int (*)(int, int)>(), "another number");
static_assert(!HasSameSignature<int (*)(int), int (*)(long)>(), "another size");
static_assert(!HasSameSignature<int (*)(long), int (*)(void*)>(), "another kind");
static_assert(!HasSameSignature<int (*)(int*), int (*)(long*)>(), "another size pointed to");
static_assert(!HasSameSignature<void* (*)(), long (*)()>(), "another result");

template <class Ours, class Theirs>
constexpr bool HasSameLayout() {
  if (alignof(Ours) != alignof(Theirs)) {
    return false;
  }
  return sizeof(Ours) == sizeof(Theirs);
}

#define DLBRIDGE_HIP_FIELD(ours, our_field, theirs, their_field)                        \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&           \
                    IsSame<decltype(ours::our_field), decltype(theirs::their_field)>(), \
                #ours "::" #our_field " has another offset or type")

static_assert(HasSameLayout<PointerAttributes, hipPointerAttribute_t>(), "attributes");
#if HIP_VERSION_MAJOR >= 6
DLBRIDGE_HIP_FIELD(PointerAttributes, type, hipPointerAttribute_t, type);
#else
DLBRIDGE_HIP_FIELD(PointerAttributes, type, hipPointerAttribute_t, memoryType);
#endif
DLBRIDGE_HIP_FIELD(PointerAttributes, device, hipPointerAttribute_t, device);
DLBRIDGE_HIP_FIELD(PointerAttributes, device_pointer, hipPointerAttribute_t, devicePointer);
DLBRIDGE_HIP_FIELD(PointerAttributes, host_pointer, hipPointerAttribute_t, hostPointer);
DLBRIDGE_HIP_FIELD(PointerAttributes, is_managed, hipPointerAttribute_t, isManaged);
DLBRIDGE_HIP_FIELD(PointerAttributes, allocation_flags, hipPointerAttribute_t, allocationFlags);

static_assert(HasSameLayout<Uuid, hipUUID>(), "uuid");
static_assert(HasSameLayout<IpcMemHandle, hipIpcMemHandle_t>(), "handle");

static_assert(HasSameLayout<PitchedPointer, hipPitchedPtr>(), "pitched pointer");
DLBRIDGE_HIP_FIELD(PitchedPointer, pointer, hipPitchedPtr, ptr);
DLBRIDGE_HIP_FIELD(PitchedPointer, pitch, hipPitchedPtr, pitch);
DLBRIDGE_HIP_FIELD(PitchedPointer, width, hipPitchedPtr, xsize);
DLBRIDGE_HIP_FIELD(PitchedPointer, height, hipPitchedPtr, ysize);
DLBRIDGE_HIP_FIELD(Triple, x, hipExtent, width);
DLBRIDGE_HIP_FIELD(Triple, y, hipExtent, height);
DLBRIDGE_HIP_FIELD(Triple, z, hipExtent, depth);
DLBRIDGE_HIP_FIELD(Triple, x, hipPos, x);
DLBRIDGE_HIP_FIELD(Triple, y, hipPos, y);
DLBRIDGE_HIP_FIELD(Triple, z, hipPos, z);

static_assert(HasSameLayout<Copy3D, hipMemcpy3DParms>(), "copy");
DLBRIDGE_HIP_FIELD(Copy3D, from_array, hipMemcpy3DParms, srcArray);
DLBRIDGE_HIP_FIELD(Copy3D, from_position, hipMemcpy3DParms, srcPos);
DLBRIDGE_HIP_FIELD(Copy3D, from, hipMemcpy3DParms, srcPtr);
DLBRIDGE_HIP_FIELD(Copy3D, to_array, hipMemcpy3DParms, dstArray);
DLBRIDGE_HIP_FIELD(Copy3D, to_position, hipMemcpy3DParms, dstPos);
DLBRIDGE_HIP_FIELD(Copy3D, to, hipMemcpy3DParms, dstPtr);
DLBRIDGE_HIP_FIELD(Copy3D, extent, hipMemcpy3DParms, extent);
DLBRIDGE_HIP_FIELD(Copy3D, kind, hipMemcpy3DParms, kind);

#define DLBRIDGE_HIP_VALUE(ours, theirs) \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #theirs)
DLBRIDGE_HIP_VALUE(kSuccess, hipSuccess);
DLBRIDGE_HIP_VALUE(kInvalidValue, hipErrorInvalidValue);
DLBRIDGE_HIP_VALUE(kInvalidDevicePointer, hipErrorInvalidDevicePointer);
DLBRIDGE_HIP_VALUE(kNoDevice, hipErrorNoDevice);
DLBRIDGE_HIP_VALUE(kInvalidDevice, hipErrorInvalidDevice);
DLBRIDGE_HIP_VALUE(kNotFound, hipErrorNotFound);
DLBRIDGE_HIP_VALUE(kNotSupported, hipErrorNotSupported);
DLBRIDGE_HIP_VALUE(kFirstCaptureError, hipErrorStreamCaptureUnsupported);
DLBRIDGE_HIP_VALUE(kLastCaptureError, hipErrorStreamCaptureWrongThread);
DLBRIDGE_HIP_VALUE(kEventDisableTiming, hipEventDisableTiming);
DLBRIDGE_HIP_VALUE(kStreamNonBlocking, hipStreamNonBlocking);
DLBRIDGE_HIP_VALUE(kIpcLazyPeerAccess, hipIpcMemLazyEnablePeerAccess);
DLBRIDGE_HIP_VALUE(kHostToDevice, hipMemcpyHostToDevice);
DLBRIDGE_HIP_VALUE(kDeviceToHost, hipMemcpyDeviceToHost);
DLBRIDGE_HIP_VALUE(kDeviceToDevice, hipMemcpyDeviceToDevice);
DLBRIDGE_HIP_VALUE(kCaptureNone, hipStreamCaptureStatusNone);
DLBRIDGE_HIP_VALUE(kCaptureActive, hipStreamCaptureStatusActive);
// The headers declare only the values of their own generation.
#if HIP_VERSION_MAJOR >= 6
DLBRIDGE_HIP_VALUE(kHip6TypeUnregistered, hipMemoryTypeUnregistered);
DLBRIDGE_HIP_VALUE(kHip6TypeHost, hipMemoryTypeHost);
DLBRIDGE_HIP_VALUE(kHip6TypeDevice, hipMemoryTypeDevice);
#else
DLBRIDGE_HIP_VALUE(kHip5TypeHost, hipMemoryTypeHost);
DLBRIDGE_HIP_VALUE(kHip5TypeDevice, hipMemoryTypeDevice);
#endif

}  // namespace
}  // namespace dlbridge::hip
