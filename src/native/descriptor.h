// SPDX-License-Identifier: Apache-2.0
// The description of a tensor that one process sends to another: docs/ipc.md has the format.
#ifndef DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_
#define DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "native/backend.h"
#include "native/descriptor_fields.h"

namespace dlbridge {

constexpr int32_t kDescriptorAxes = 64;

// The two formats differ in these limits and in the handle. Format 1 is written wherever it is
// sufficient, so that library 0.3.0 can read it.
struct FormatLimits {
  uint32_t handle;  // bytes
  uint32_t fds;
};
constexpr uint32_t kNewestFormat = 2;
constexpr FormatLimits kFormatLimits[kNewestFormat + 1] = {
    {0, 0}, {256, 4}, {kMaxIpcHandle, kMaxIpcFds}};

// The kind of memory. The numbers are part of the format.
enum class SharedAs : uint32_t { kNothing = 0, kHostFile = 1, kDeviceHandle = 2 };

struct Descriptor {
  uint32_t format;
  SharedAs memory;
  DLBridgeBackend backend;
  DLDevice device;
  DLDataType dtype;
  int32_t ndim;
  uint64_t flags;         // DLPack's
  DLPackVersion version;  // the version in the tensor
  uint64_t size;          // bytes of the memory
  uint64_t data_offset;   // from the start of the memory to `data`
  uint64_t byte_offset;
  uint32_t handle_length;
  uint32_t fd_count;
  int64_t shape[kDescriptorAxes];
  int64_t strides[kDescriptorAxes];
  uint8_t handle[kMaxIpcHandle];
};

// Writes a descriptor to `out`, which has kDescriptorMaxSize bytes, and returns its length.
size_t WriteDescriptor(const Descriptor& descriptor, uint8_t* out);

// Reads a descriptor that a peer sent, from memory that no other thread writes to. Returns
// DESCRIPTOR if it is malformed. Does not validate the tensor that it describes.
DLBridgeStatus ReadDescriptor(const uint8_t* bytes, size_t length, Descriptor* out,
                              DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_DESCRIPTOR_H_
