// SPDX-License-Identifier: Apache-2.0
// The part of libamdhip64 that this library uses, in its own types: the library builds without
// AMD's headers, and one build supports runtimes whose enumerations differ.
// tests/device/hip_signatures.cc compares them with the real headers.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_

#include <cstddef>
#include <cstdint>

namespace dlbridge::hip {

using Result = int32_t;
using Stream = void*;
using Event = void*;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kInvalidPitchValue = 12;
constexpr Result kInvalidDevicePointer = 17;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidDevice = 101;
constexpr Result kEccNotCorrectable = 214;
constexpr Result kInvalidKernelFile = 218;
constexpr Result kInvalidSource = 300;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kIllegalAddress = 700;
constexpr Result kLaunchTimeOut = 702;
constexpr Result kContextIsDestroyed = 709;
constexpr Result kAssert = 710;
constexpr Result kLaunchFailure = 719;
constexpr Result kNotSupported = 801;
constexpr Result kCaptureUnsupported = 900;
constexpr Result kFirstCaptureError = kCaptureUnsupported;
constexpr Result kLastCaptureError = 908;
constexpr Result kUnknown = 999;

constexpr uint32_t kEventDisableTiming = 2;
constexpr uint32_t kStreamNonBlocking = 1;
constexpr uint32_t kIpcLazyPeerAccess = 0;

constexpr int32_t kHostToDevice = 1;
constexpr int32_t kDeviceToHost = 2;
constexpr int32_t kDeviceToDevice = 3;

constexpr int32_t kCaptureNone = 0;
constexpr int32_t kCaptureActive = 1;

// A thread's capture mode, and the one that forbids nothing.
constexpr int32_t kModeRelaxed = 2;

// The special streams, and the first runtime in which no function uses the first as an address.
constexpr uint64_t kLegacyStream = 1;
constexpr uint64_t kPerThreadStream = 2;
constexpr int32_t kFirstVersionWithLegacyStream = 60400000;

// hipMemoryType up to 5.7, and from 6.0 on: the version of the runtime decides.
constexpr int32_t kHip5TypeHost = 0;
constexpr int32_t kHip5TypeDevice = 1;
constexpr int32_t kHip6TypeUnregistered = 0;
constexpr int32_t kHip6TypeHost = 1;
constexpr int32_t kHip6TypeDevice = 2;

struct PointerAttributes {
  int32_t type;
  int32_t device;
  void* device_pointer;
  void* host_pointer;
  int32_t is_managed;
  uint32_t allocation_flags;
};

struct Uuid {
  char bytes[16];
};

struct IpcMemHandle {
  char reserved[64];
};

struct PitchedPointer {
  void* pointer;
  size_t pitch;
  size_t width;
  size_t height;
};

struct Triple {
  size_t x;
  size_t y;
  size_t z;
};

struct Copy3D {
  void* from_array;
  Triple from_position;
  PitchedPointer from;
  void* to_array;
  Triple to_position;
  PitchedPointer to;
  Triple extent;
  int32_t kind;
};

// function(name, needed, result, parameters). A function that older runtimes lack is not needed,
// and may be NULL.
// clang-format off
#define DLBRIDGE_HIP_FUNCTIONS(function) \
  function(hipInit, true, Result, (uint32_t)) \
  function(hipRuntimeGetVersion, true, Result, (int32_t*)) \
  function(hipDriverGetVersion, false, Result, (int32_t*)) \
  function(hipGetDeviceCount, true, Result, (int32_t*)) \
  function(hipGetDevice, true, Result, (int32_t*)) \
  function(hipSetDevice, true, Result, (int32_t)) \
  function(hipDeviceGetUuid, false, Result, (Uuid*, int32_t)) \
  function(hipDeviceGetPCIBusId, false, Result, (char*, int32_t, int32_t)) \
  function(hipDeviceCanAccessPeer, false, Result, (int32_t*, int32_t, int32_t)) \
  function(hipGetErrorName, true, const char*, (Result)) \
  function(hipGetLastError, true, Result, ()) \
  function(hipPointerGetAttributes, true, Result, (PointerAttributes*, const void*)) \
  function(hipMemGetAddressRange, true, Result, (void**, size_t*, void*)) \
  function(hipStreamGetDevice, false, Result, (Stream, int32_t*)) \
  function(hipGetStreamDeviceId, false, int32_t, (Stream)) \
  function(hipStreamCreateWithFlags, true, Result, (Stream*, uint32_t)) \
  function(hipStreamDestroy, true, Result, (Stream)) \
  function(hipStreamSynchronize, true, Result, (Stream)) \
  function(hipStreamIsCapturing, false, Result, (Stream, int32_t*)) \
  function(hipStreamGetCaptureInfo, false, Result, (Stream, int32_t*, unsigned long long*)) \
  function(hipThreadExchangeStreamCaptureMode, false, Result, (int32_t*)) \
  function(hipEventCreateWithFlags, true, Result, (Event*, uint32_t)) \
  function(hipEventDestroy, true, Result, (Event)) \
  function(hipEventRecord, true, Result, (Event, Stream)) \
  function(hipEventQuery, true, Result, (Event)) \
  function(hipEventSynchronize, true, Result, (Event)) \
  function(hipStreamWaitEvent, true, Result, (Stream, Event, uint32_t)) \
  function(hipMemcpyAsync, true, Result, (void*, const void*, size_t, int32_t, Stream)) \
  function(hipMemcpy2DAsync, true, Result, (void*, size_t, const void*, size_t, size_t, size_t, int32_t, Stream)) \
  function(hipMemcpy3DAsync, false, Result, (const Copy3D*, Stream)) \
  function(hipIpcGetMemHandle, false, Result, (IpcMemHandle*, void*)) \
  function(hipIpcOpenMemHandle, false, Result, (void**, IpcMemHandle, uint32_t)) \
  function(hipIpcCloseMemHandle, false, Result, (void*))
// clang-format on

struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has them elsewhere
#define DLBRIDGE_HIP_MEMBER(name, needed, result, parameters) result(*name) parameters;
  DLBRIDGE_HIP_FUNCTIONS(DLBRIDGE_HIP_MEMBER)
#undef DLBRIDGE_HIP_MEMBER
};

}  // namespace dlbridge::hip

#endif  // DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_
