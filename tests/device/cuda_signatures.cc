// SPDX-License-Identifier: Apache-2.0
// Compiled, never run: the declarations in src/device match those in NVIDIA's headers.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

#include "device/cuda/driver.h"

// NOLINTBEGIN(bugprone-sizeof-expression, misc-redundant-expression): the checks compare sizes,
// also of pointers.
namespace {

namespace cuda = dlbridge::cuda;

// Enumerations match integers, and dlbridge's handles and structs match NVIDIA's.
template <class Ours, class Theirs>
constexpr bool IsSameKind() {
  return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
         (std::is_integral_v<Ours> || std::is_enum_v<Ours>) ==
             (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>)&&std::is_pointer_v<Ours> ==
             std::is_pointer_v<Theirs> &&
         std::is_class_v<Ours> == std::is_class_v<Theirs>;
}

// Pointees must have the same size too; 0 for incomplete types.
template <class T, class = void>
struct SizeOf {
  static constexpr size_t kValue = 0;
};
template <class T>
struct SizeOf<T, std::enable_if_t<(sizeof(T) > 0)>> {
  static constexpr size_t kValue = sizeof(T);
};
template <>
struct SizeOf<void, void> {
  static constexpr size_t kValue = 0;
};
template <>
struct SizeOf<const void, void> {
  static constexpr size_t kValue = 0;
};

template <class Ours, class Theirs>
constexpr bool IsSameParameter() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using OursTo = std::remove_pointer_t<Ours>;
    using TheirsTo = std::remove_pointer_t<Theirs>;
    return std::is_const_v<OursTo> == std::is_const_v<TheirsTo> &&
           SizeOf<OursTo>::kValue == SizeOf<TheirsTo>::kValue;
  } else {
    return IsSameKind<Ours, Theirs>();
  }
}

template <class Ours, class Theirs>
struct IsSameFunction : std::false_type {};
template <class R, class... P, class S, class... Q>
struct IsSameFunction<R (*)(P...), S (*)(Q...)> {
  static constexpr bool All() {
    if constexpr (sizeof...(P) == sizeof...(Q)) {
      return IsSameKind<R, S>() && (IsSameParameter<P, Q>() && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = All();
};

#define PFN_OF(name, version) PFN_##name##_##version
// cudaTypedefs.h names the types without the "_v2" of the exported names.
using PFN_cuMemGetAddressRange_v2_v3020 = PFN_cuMemGetAddressRange_v3020;
using PFN_cuMemAlloc_v2_v3020 = PFN_cuMemAlloc_v3020;
using PFN_cuCtxPushCurrent_v2_v4000 = PFN_cuCtxPushCurrent_v4000;
using PFN_cuCtxPopCurrent_v2_v4000 = PFN_cuCtxPopCurrent_v4000;
using PFN_cuDevicePrimaryCtxRelease_v2_v11000 = PFN_cuDevicePrimaryCtxRelease_v11000;
using PFN_cuStreamDestroy_v2_v4000 = PFN_cuStreamDestroy_v4000;
using PFN_cuEventDestroy_v2_v4000 = PFN_cuEventDestroy_v4000;
using PFN_cuMemcpyDtoHAsync_v2_v3020 = PFN_cuMemcpyDtoHAsync_v3020;
using PFN_cuMemcpyHtoDAsync_v2_v3020 = PFN_cuMemcpyHtoDAsync_v3020;
using PFN_cuMemcpyDtoDAsync_v2_v3020 = PFN_cuMemcpyDtoDAsync_v3020;
using PFN_cuMemcpy2DAsync_v2_v3020 = PFN_cuMemcpy2DAsync_v3020;
using PFN_cuMemcpy3DAsync_v2_v3020 = PFN_cuMemcpy3DAsync_v3020;
using PFN_cuIpcOpenMemHandle_v2_v11000 = PFN_cuIpcOpenMemHandle_v11000;
using PFN_cuMemFree_v2_v3020 = PFN_cuMemFree_v3020;
using PFN_cuDeviceGetUuid_v2_v11040 = PFN_cuDeviceGetUuid_v11040;
using PFN_cuStreamGetCaptureInfo_v2_v11030 = PFN_cuStreamGetCaptureInfo_v11030;

#define CHECK_ROW(member, name, version, parameters)                                          \
  static_assert(IsSameFunction<decltype(cuda::Driver::member), PFN_OF(name, version)>::value, \
                #name " has another signature");
DLBRIDGE_CUDA_REQUIRED(CHECK_ROW)
DLBRIDGE_CUDA_OPTIONAL(CHECK_ROW)

#define CHECK_FIELD(ours, our_field, theirs, their_field)                     \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                    sizeof(ours::our_field) == sizeof(theirs::their_field),   \
                #their_field " has another offset or size");
#define CHECK_RECTANGLE(ours, theirs)                \
  static_assert(sizeof(ours) == sizeof(theirs));     \
  CHECK_FIELD(ours, src_x, theirs, srcXInBytes)      \
  CHECK_FIELD(ours, src_y, theirs, srcY)             \
  CHECK_FIELD(ours, src_type, theirs, srcMemoryType) \
  CHECK_FIELD(ours, src_host, theirs, srcHost)       \
  CHECK_FIELD(ours, src_device, theirs, srcDevice)   \
  CHECK_FIELD(ours, src_array, theirs, srcArray)     \
  CHECK_FIELD(ours, src_pitch, theirs, srcPitch)     \
  CHECK_FIELD(ours, dst_x, theirs, dstXInBytes)      \
  CHECK_FIELD(ours, dst_y, theirs, dstY)             \
  CHECK_FIELD(ours, dst_type, theirs, dstMemoryType) \
  CHECK_FIELD(ours, dst_host, theirs, dstHost)       \
  CHECK_FIELD(ours, dst_device, theirs, dstDevice)   \
  CHECK_FIELD(ours, dst_array, theirs, dstArray)     \
  CHECK_FIELD(ours, dst_pitch, theirs, dstPitch)     \
  CHECK_FIELD(ours, width, theirs, WidthInBytes)     \
  CHECK_FIELD(ours, height, theirs, Height)
#define CHECK_BOX(theirs, src_context_field, dst_context_field)     \
  CHECK_RECTANGLE(cuda::Copy3D, theirs)                             \
  CHECK_FIELD(cuda::Copy3D, src_z, theirs, srcZ)                    \
  CHECK_FIELD(cuda::Copy3D, src_lod, theirs, srcLOD)                \
  CHECK_FIELD(cuda::Copy3D, src_context, theirs, src_context_field) \
  CHECK_FIELD(cuda::Copy3D, src_height, theirs, srcHeight)          \
  CHECK_FIELD(cuda::Copy3D, dst_z, theirs, dstZ)                    \
  CHECK_FIELD(cuda::Copy3D, dst_lod, theirs, dstLOD)                \
  CHECK_FIELD(cuda::Copy3D, dst_context, theirs, dst_context_field) \
  CHECK_FIELD(cuda::Copy3D, dst_height, theirs, dstHeight)          \
  CHECK_FIELD(cuda::Copy3D, depth, theirs, Depth)

CHECK_RECTANGLE(cuda::Copy2D, CUDA_MEMCPY2D)
CHECK_BOX(CUDA_MEMCPY3D, reserved0, reserved1)
CHECK_BOX(CUDA_MEMCPY3D_PEER, srcContext, dstContext)
static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid));
static_assert(sizeof(cuda::IpcMemHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(cuda::IpcEventHandle) == sizeof(CUipcEventHandle));
static_assert(sizeof(cuda::PoolPointer) == sizeof(CUmemPoolPtrExportData));
static_assert(sizeof(cuda::Location) == sizeof(CUmemLocation));
static_assert(sizeof(cuda::AccessDesc) == sizeof(CUmemAccessDesc));
static_assert(sizeof(cuda::AllocationProp) == sizeof(CUmemAllocationProp));
CHECK_FIELD(cuda::Location, type, CUmemLocation, type)
CHECK_FIELD(cuda::Location, id, CUmemLocation, id)
CHECK_FIELD(cuda::AccessDesc, location, CUmemAccessDesc, location)
CHECK_FIELD(cuda::AccessDesc, flags, CUmemAccessDesc, flags)
CHECK_FIELD(cuda::AllocationProp, type, CUmemAllocationProp, type)
CHECK_FIELD(cuda::AllocationProp, handle_types, CUmemAllocationProp, requestedHandleTypes)
CHECK_FIELD(cuda::AllocationProp, location, CUmemAllocationProp, location)
CHECK_FIELD(cuda::AllocationProp, win32_meta_data, CUmemAllocationProp, win32HandleMetaData)
CHECK_FIELD(cuda::AllocationProp, flags, CUmemAllocationProp, allocFlags)

static_assert(cuda::kSuccess == CUDA_SUCCESS);
static_assert(cuda::kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(cuda::kDeinitialized == CUDA_ERROR_DEINITIALIZED);
static_assert(cuda::kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(cuda::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cuda::kInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
static_assert(cuda::kAlreadyMapped == CUDA_ERROR_ALREADY_MAPPED);
static_assert(cuda::kNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(cuda::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(cuda::kContextIsDestroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(cuda::kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(cuda::kSystemNotReady == CUDA_ERROR_SYSTEM_NOT_READY);
static_assert(cuda::kDriverMismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
static_assert(cuda::kCompatNotSupported == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
static_assert(cuda::kCaptureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(cuda::kCaptureWrongThread == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(cuda::kMemoryHost == CU_MEMORYTYPE_HOST);
static_assert(cuda::kMemoryDevice == CU_MEMORYTYPE_DEVICE);
static_assert(cuda::kMaxPitch == CU_DEVICE_ATTRIBUTE_MAX_PITCH);
static_assert(cuda::kPointerContext == CU_POINTER_ATTRIBUTE_CONTEXT);
static_assert(cuda::kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(cuda::kPointerHostPointer == CU_POINTER_ATTRIBUTE_HOST_POINTER);
static_assert(cuda::kPointerBufferId == CU_POINTER_ATTRIBUTE_BUFFER_ID);
static_assert(cuda::kPointerIsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(cuda::kPointerDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(cuda::kPointerIsIpcCapable == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
static_assert(cuda::kPointerRangeStart == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(cuda::kPointerRangeSize == CU_POINTER_ATTRIBUTE_RANGE_SIZE);
static_assert(cuda::kPointerMapped == CU_POINTER_ATTRIBUTE_MAPPED);
static_assert(cuda::kPointerPool == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
static_assert(cuda::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(cuda::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(cuda::kEventInterprocess == CU_EVENT_INTERPROCESS);
static_assert(cuda::kHandleFileDescriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(cuda::kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(cuda::kAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(cuda::kIpcLazyEnablePeerAccess == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(cuda::kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(cuda::kCaptureActive == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(cuda::kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);

}  // namespace
// NOLINTEND(bugprone-sizeof-expression, misc-redundant-expression)
