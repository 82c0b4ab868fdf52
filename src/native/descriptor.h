// SPDX-License-Identifier: Apache-2.0
// What one process tells another of a tensor: docs/ipc.md has the format.
#ifndef DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_
#define DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "native/backend.h"

namespace dlbridge {

constexpr int32_t kDescriptorAxes = 64;
constexpr uint32_t kDescriptorHandle = 256;
// The format has no more; what an export needs is reported to its caller.
constexpr size_t kDescriptorMaxSize = 2048;
constexpr uint32_t kDescriptorMaxFds = kMaxIpcFds;

// What the memory is. The numbers are part of the format.
enum class SharedAs : uint32_t { kNothing = 0, kHostFile = 1, kDeviceHandle = 2 };

struct Descriptor {
  SharedAs memory;
  DLBridgeBackend backend;
  DLDevice device;
  DLDataType dtype;
  int32_t ndim;
  uint64_t flags;         // DLPack's
  DLPackVersion version;  // that the tensor says
  uint64_t size;          // bytes of the memory
  uint64_t data_offset;   // from its start to `data`
  uint64_t byte_offset;
  uint32_t handle_length;
  uint32_t fd_count;
  int64_t shape[kDescriptorAxes];
  int64_t strides[kDescriptorAxes];
  uint8_t handle[kDescriptorHandle];
};

// Writes a descriptor to kDescriptorMaxSize bytes and returns how many it has.
size_t WriteDescriptor(const Descriptor& descriptor, uint8_t* out);

// Reads what a peer sent, in memory that nobody else writes to; DESCRIPTOR where it is not whole.
// What the numbers say about a tensor is not looked at.
DLBridgeStatus ReadDescriptor(const uint8_t* bytes, size_t length, Descriptor* out,
                              DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_
