// SPDX-License-Identifier: Apache-2.0
// Model of DLPack's codes, written by hand from its releases. It shares no line with src and facts;
// `tools/facts.py check` finds codes of the facts without a row.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_CODES_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_CODES_H_

#include <algorithm>
#include <cstddef>
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

struct DtypeRow {
  int32_t code;
  const char* name;
  uint64_t release;  // the first that has the code
  unsigned bits;     // the width that the code demands; 0 for any
};
// The first row is for codes without a row.
constexpr DtypeRow kDtypeRows[] = {
    {-1, nullptr, kNever, 0},
    {0, "int", Release(0, 2), 0},
    {1, "uint", Release(0, 2), 0},
    {2, "float", Release(0, 2), 0},
    {3, "opaque", Release(0, 4), 0},
    {4, "bfloat", Release(0, 3), 16},
    {5, "complex", Release(0, 4), 0},
    {6, "bool", Release(0, 8), 8},
    {7, "float8_e3m4", Release(1, 1), 8},
    {8, "float8_e4m3", Release(1, 1), 8},
    {9, "float8_e4m3b11fnuz", Release(1, 1), 8},
    {10, "float8_e4m3fn", Release(1, 1), 8},
    {11, "float8_e4m3fnuz", Release(1, 1), 8},
    {12, "float8_e5m2", Release(1, 1), 8},
    {13, "float8_e5m2fnuz", Release(1, 1), 8},
    {14, "float8_e8m0fnu", Release(1, 1), 8},
    {15, "float6_e2m3fn", Release(1, 1), 6},
    {16, "float6_e3m2fn", Release(1, 1), 6},
    {17, "float4_e2m1fn", Release(1, 1), 4},
    {18, "bcomplex", kNever, 0},
};

struct DeviceRow {
  int32_t code;
  const char* name;
  uint64_t release;         // the first that has the type
  char data;                // 'a' address, 'h' handle, '?' not specified
  DLBridgeAnswer readable;  // by the CPU; YES is memory of the host, whose id should be 0
};
constexpr DeviceRow kDeviceRows[] = {
    {-1, nullptr, kNever, '?', DLBRIDGE_UNDECIDED},
    {1, "cpu", Release(0, 2), 'a', DLBRIDGE_YES},
    {2, "cuda", Release(0, 2), 'a', DLBRIDGE_NO},
    {3, "cuda_host", Release(0, 2), 'a', DLBRIDGE_YES},
    {4, "opencl", Release(0, 2), 'h', DLBRIDGE_NO},
    {7, "vulkan", Release(0, 3), 'h', DLBRIDGE_NO},
    {8, "metal", Release(0, 2), 'h', DLBRIDGE_NO},
    {9, "vpi", Release(0, 2), 'h', DLBRIDGE_NO},
    {10, "rocm", Release(0, 2), 'a', DLBRIDGE_NO},
    {11, "rocm_host", Release(0, 6), 'a', DLBRIDGE_YES},
    {12, "ext_dev", Release(0, 3), '?', DLBRIDGE_UNDECIDED},
    {13, "cuda_managed", Release(0, 6), 'a', DLBRIDGE_YES},
    {14, "oneapi", Release(0, 7), 'a', DLBRIDGE_UNDECIDED},
    {15, "webgpu", Release(0, 7), 'h', DLBRIDGE_NO},
    {16, "hexagon", Release(0, 7), '?', DLBRIDGE_UNDECIDED},
    {17, "maia", Release(1, 0), '?', DLBRIDGE_NO},
    {18, "trn", Release(1, 2), '?', DLBRIDGE_NO},
    {19, "tpu", kNever, '?', DLBRIDGE_UNDECIDED},
    {20, "tpu_host", kNever, '?', DLBRIDGE_UNDECIDED},
    {21, "ascend", kNever, '?', DLBRIDGE_UNDECIDED},
};

template <class Row, size_t kCount>
const Row& RowOf(const Row (&rows)[kCount], int32_t code) {
  const Row* row = std::find_if(rows, rows + kCount, [&](const Row& r) { return r.code == code; });
  return row != rows + kCount ? *row : rows[0];
}

inline uint64_t DtypeRelease(uint8_t code) { return RowOf(kDtypeRows, code).release; }
inline unsigned DemandedBits(uint8_t code) { return RowOf(kDtypeRows, code).bits; }
inline uint64_t DeviceRelease(int32_t type) { return RowOf(kDeviceRows, type).release; }
inline bool IsHandle(int32_t type) { return RowOf(kDeviceRows, type).data == 'h'; }
inline bool IsAddress(int32_t type) { return RowOf(kDeviceRows, type).data == 'a'; }
inline bool IsHostLike(int32_t type) { return RowOf(kDeviceRows, type).readable == DLBRIDGE_YES; }

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

// Types are integers: a fuzzed value need not be one of the enumeration.
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
