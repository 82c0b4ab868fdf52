// SPDX-License-Identifier: Apache-2.0
// Export and import between processes; the parameters are the arguments that tests vary.
#ifndef DLBRIDGE_TESTS_SUPPORT_IPC_H_
#define DLBRIDGE_TESTS_SUPPORT_IPC_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge_test {

// Large enough for every descriptor that this library writes. Callers ask dlbridge_ipc_export.
constexpr size_t kIpcBytes = 4096;
constexpr size_t kIpcFds = 253;

// The buffers that an export is written to.
struct IpcRoom {
  void* bytes = nullptr;
  size_t size = 0;
  int32_t* fds = nullptr;
  size_t fd_capacity = 0;
  const DLBridgeStream* stream = nullptr;
};

// Updates `length` and `fd_count` where the library wrote the sizes; otherwise they are unchanged.
inline DLBridgeStatus IpcExport(const DLManagedTensorVersioned* tensor, uint32_t options,
                                const IpcRoom& room, size_t* length, size_t* fd_count,
                                DLBridgeError* error) {
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  spec.options = options;
  spec.buffer = room.bytes;
  spec.buffer_size = room.size;
  spec.fds = room.fds;
  spec.fd_capacity = room.fd_capacity;
  spec.stream = room.stream;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  sizes.buffer_size = *length;
  sizes.fd_count = *fd_count;
  const DLBridgeStatus status = dlbridge_ipc_export(tensor, &spec, &sizes, error);
  *length = static_cast<size_t>(sizes.buffer_size);
  *fd_count = static_cast<size_t>(sizes.fd_count);
  return status;
}

inline DLBridgeStatus IpcImport(const void* bytes, size_t size, const int32_t* fds, size_t fd_count,
                                uint32_t options, const DLBridgePolicy* policy,
                                DLManagedTensorVersioned** out, DLBridgeError* error,
                                const DLBridgeStream* stream = nullptr) {
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.options = options;
  spec.buffer = bytes;
  spec.buffer_size = size;
  spec.fds = fds;
  spec.fd_count = fd_count;
  spec.policy = policy;
  spec.stream = stream;
  return dlbridge_ipc_import(&spec, out, error);
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_IPC_H_
