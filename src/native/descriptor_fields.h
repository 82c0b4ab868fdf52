// SPDX-License-Identifier: Apache-2.0
// Where a descriptor has its fields: docs/ipc.md has the format. The library writes and reads it,
// and the command-line tool shows it.
#ifndef DLBRIDGE_SRC_NATIVE_DESCRIPTOR_FIELDS_H_
#define DLBRIDGE_SRC_NATIVE_DESCRIPTOR_FIELDS_H_

#include <cstddef>
#include <cstdint>

namespace dlbridge {

constexpr uint8_t kDescriptorMagic[8] = {'D', 'L', 'B', 'R', 'I', 'P', 'C', 0};

// Offsets in bytes. The targets are little-endian, and so is the format. `shape` and `strides`
// follow the head, then the handle.
enum DescriptorField : uint32_t {
  kAtMagic = 0,
  kAtFormat = 8,
  kAtLength = 12,
  kAtChecksum = 16,
  kAtMemory = 24,
  kAtBackend = 28,
  kAtDevice = 32,
  kAtDtype = 40,
  kAtNdim = 44,
  kAtFlags = 48,
  kAtVersion = 56,
  kAtSize = 64,
  kAtDataOffset = 72,
  kAtByteOffset = 80,
  kAtHandleLength = 88,
  kAtFdCount = 92,
  kAtOptions = 96,
  kAtReserved = 100,
  kAtArrays = 104
};

// The maximum of all formats. The size that an export needs is reported to its caller.
constexpr size_t kDescriptorMaxSize = 4096;

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_DESCRIPTOR_FIELDS_H_
