// SPDX-License-Identifier: Apache-2.0
// The facts of libamdhip64 that this library uses, in types of its own: it is built without AMD's
// headers, and one build serves runtimes whose enumerations differ.
// tests/device/hip_signatures.cc holds them against the real headers.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_
#define DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_

#include <cstddef>
#include <cstdint>

namespace dlbridge {

using HipError = int32_t;
using HipStream = void*;
using HipEvent = void*;

constexpr HipError kHipSuccess = 0;
constexpr HipError kHipInvalidValue = 1;
constexpr HipError kHipInvalidDevicePointer = 17;
constexpr HipError kHipNoDevice = 100;
constexpr HipError kHipInvalidDevice = 101;
constexpr HipError kHipNotFound = 500;
constexpr HipError kHipNotSupported = 801;
constexpr HipError kHipFirstCaptureError = 900;
constexpr HipError kHipLastCaptureError = 908;

constexpr uint32_t kHipEventDisableTiming = 2;
constexpr uint32_t kHipStreamNonBlocking = 1;
constexpr uint32_t kHipIpcLazyPeerAccess = 0;

constexpr int32_t kHipHostToDevice = 1;
constexpr int32_t kHipDeviceToHost = 2;
constexpr int32_t kHipDeviceToDevice = 3;

constexpr int32_t kHipCaptureNone = 0;
constexpr int32_t kHipCaptureActive = 1;

// hipMemoryType as it was up to 5.7, and as it is from 6.0 on: the runtime decides.
constexpr int32_t kHip5TypeHost = 0;
constexpr int32_t kHip5TypeDevice = 1;
constexpr int32_t kHip6TypeUnregistered = 0;
constexpr int32_t kHip6TypeHost = 1;
constexpr int32_t kHip6TypeDevice = 2;

struct HipPointerAttributes {
  int32_t type;
  int32_t device;
  void* device_pointer;
  void* host_pointer;
  int32_t is_managed;
  uint32_t allocation_flags;
};

struct HipUuid {
  char bytes[16];
};

struct HipIpcMemHandle {
  char reserved[64];
};

struct HipPitchedPointer {
  void* pointer;
  size_t pitch;
  size_t width;
  size_t height;
};

struct HipTriple {
  size_t x;
  size_t y;
  size_t z;
};

struct HipCopy3D {
  void* from_array;
  HipTriple from_position;
  HipPitchedPointer from;
  void* to_array;
  HipTriple to_position;
  HipPitchedPointer to;
  HipTriple extent;
  int32_t kind;
};

// function(name, needed, result, parameters): what a runtime may lack, as older ones do, is not
// needed, and NULL then.
#define DLBRIDGE_HIP_FUNCTIONS(function)                                                           \
  function(hipInit, true, HipError, (uint32_t)) function(                                          \
      hipRuntimeGetVersion, true, HipError,                                                        \
      (int32_t*)) function(hipDriverGetVersion, false, HipError,                                   \
                           (int32_t*)) function(hipGetDeviceCount, true, HipError, (int32_t*))     \
      function(hipGetDevice, true, HipError, (int32_t*)) function(                                 \
          hipSetDevice, true, HipError, (int32_t)) function(hipDeviceGetUuid, false, HipError,     \
                                                            (HipUuid*, int32_t))                   \
          function(hipDeviceGetPCIBusId, false, HipError, (char*, int32_t, int32_t)) function(     \
              hipGetErrorName, true, const char*,                                                  \
              (HipError)) function(hipGetLastError, true, HipError,                                \
                                   ()) function(hipPointerGetAttributes, true, HipError,           \
                                                (HipPointerAttributes*, const void*))              \
              function(hipMemGetAddressRange, true, HipError, (void**, size_t*, void*)) function(  \
                  hipStreamGetDevice, false, HipError,                                             \
                  (HipStream,                                                                      \
                   int32_t*)) function(hipGetStreamDeviceId, false, int32_t, (HipStream))          \
                  function(hipStreamCreateWithFlags, true, HipError, (HipStream*, uint32_t))       \
                      function(hipStreamDestroy, true, HipError, (HipStream)) function(            \
                          hipStreamSynchronize, true,                                              \
                          HipError, (HipStream)) function(hipStreamIsCapturing, false, HipError,   \
                                                          (HipStream, int32_t*))                   \
                          function(hipStreamGetCaptureInfo, false, HipError,                       \
                                   (HipStream, int32_t*, unsigned long long*))                     \
                              function(hipEventCreateWithFlags, true, HipError,                    \
                                       (HipEvent*, uint32_t))                                      \
                                  function(hipEventDestroy, true, HipError, (HipEvent))            \
                                      function(hipEventRecord, true, HipError,                     \
                                               (HipEvent, HipStream))                              \
                                          function(hipStreamWaitEvent, true, HipError,             \
                                                   (HipStream, HipEvent, uint32_t))                \
                                              function(hipMemcpyAsync, true, HipError,             \
                                                       (void*, const void*, size_t, int32_t,       \
                                                        HipStream))                                \
                                                  function(hipMemcpy2DAsync, true, HipError,       \
                                                           (void*, size_t,                         \
                                                            const void*, size_t, size_t, size_t,   \
                                                            int32_t, HipStream))                   \
                                                      function(hipMemcpy3DAsync, false, HipError,  \
                                                               (const HipCopy3D*, HipStream))      \
                                                          function(hipIpcGetMemHandle, false,      \
                                                                   HipError,                       \
                                                                   (HipIpcMemHandle*, void*))      \
                                                              function(hipIpcOpenMemHandle, false, \
                                                                       HipError,                   \
                                                                       (void**, HipIpcMemHandle,   \
                                                                        uint32_t))                 \
                                                                  function(hipIpcCloseMemHandle,   \
                                                                           false, HipError,        \
                                                                           (void*))

struct HipDriver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has them elsewhere
#define DLBRIDGE_HIP_MEMBER(name, needed, result, parameters) result(*name) parameters;
  DLBRIDGE_HIP_FUNCTIONS(DLBRIDGE_HIP_MEMBER)
#undef DLBRIDGE_HIP_MEMBER
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DEVICE_HIP_DRIVER_H_
