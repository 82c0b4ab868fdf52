// SPDX-License-Identifier: Apache-2.0
// Model of DLPack's codes, written by hand from its releases. It shares no line with src and facts.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_CODES_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_CODES_H_

#include <cstdint>
#include <cstring>
#include <limits>

#include "dlbridge/dlbridge.h"

namespace dlbridge_fuzz {

constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kCopied = 2;
constexpr uint64_t kPadded = 4;
constexpr uint64_t kKnownFlags = 7;

// A release as major * 1000 + minor; kNever for what no release has.
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr uint64_t Release(uint64_t major, uint64_t minor) { return major * 1000 + minor; }

inline uint64_t DtypeRelease(uint8_t code) {
  switch (code) {
    case 0:
    case 1:
    case 2:
      return Release(0, 2);
    case 4:
      return Release(0, 3);
    case 3:
    case 5:
      return Release(0, 4);
    case 6:
      return Release(0, 8);
    default:
      return code >= 7 && code <= 17 ? Release(1, 1) : kNever;
  }
}

// The width that the code demands; 0 for any.
inline unsigned DemandedBits(uint8_t code) {
  if (code == 4) {
    return 16;
  }
  if (code == 6 || (code >= 7 && code <= 14)) {
    return 8;
  }
  if (code == 15 || code == 16) {
    return 6;
  }
  return code == 17 ? 4 : 0;
}

inline uint64_t DeviceRelease(int32_t type) {
  switch (type) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 8:
    case 9:
    case 10:
      return Release(0, 2);
    case 7:
    case 12:
      return Release(0, 3);
    case 11:
    case 13:
      return Release(0, 6);
    case 14:
    case 15:
    case 16:
      return Release(0, 7);
    case 17:
      return Release(1, 0);
    case 18:
      return Release(1, 2);
    default:
      return kNever;
  }
}

inline uint64_t FlagsRelease(uint64_t flags) {
  if ((flags & ~kKnownFlags) != 0) {
    return kNever;
  }
  if ((flags & kPadded) != 0) {
    return Release(1, 1);
  }
  return flags != 0 ? Release(1, 0) : Release(0, 2);
}

inline uint64_t NeededRelease(uint8_t code, int32_t type, uint64_t flags) {
  uint64_t needed = DtypeRelease(code);
  needed = DeviceRelease(type) > needed ? DeviceRelease(type) : needed;
  return FlagsRelease(flags) > needed ? FlagsRelease(flags) : needed;
}

// OpenCL, Vulkan, Metal, VPI and WebGPU have handles.
inline bool IsHandle(int32_t type) {
  return type == 4 || type == 7 || type == 8 || type == 9 || type == 15;
}
// CPU, CUDA and ROCm with their host and managed memory, and oneAPI have addresses. Of other types
// nothing is known.
inline bool IsAddress(int32_t type) {
  return type == 1 || type == 2 || type == 3 || type == 10 || type == 11 || type == 13 ||
         type == 14;
}
// CPU, pinned and managed memory: the CPU can read it, and its id should be 0.
inline bool IsHostLike(int32_t type) { return type == 1 || type == 3 || type == 11 || type == 13; }

inline DLDevice ToDevice(int32_t type, int32_t id) {
  const int32_t fields[2] = {type, id};
  DLDevice device;
  std::memcpy(&device, fields, sizeof device);
  return device;
}
inline int32_t TypeOf(const DLDevice& device) {
  int32_t type = 0;
  std::memcpy(&type, &device, sizeof type);
  return type;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_CODES_H_
