// SPDX-License-Identifier: Apache-2.0
// Host memory that processes share: a mapped anonymous file of fixed size. It has no name, and the
// kernel frees it with the last process that has it.
#ifndef DLBRIDGE_SRC_TENSOR_IPC_HOST_H_
#define DLBRIDGE_SRC_TENSOR_IPC_HOST_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

// Fills a tail with at least `bytes` of shareable memory. `bytes` must not be 0.
DLBridgeStatus AcquireShareable(uint64_t bytes, uint64_t alignment, AllocationTail* tail,
                                DLBridgeError* error);

// Does the root own shareable memory?
bool IsShareable(const AllocationTail& tail);

// Makes a new file descriptor of shareable memory, which the caller owns.
DLBridgeStatus ExportFile(const AllocationTail& tail, bool read_only, int32_t* fd,
                          DLBridgeError* error);

// Fills a tail with the `size` bytes, not 0, of a file that another process sent. The file is not
// trusted. The caller keeps `fd`.
DLBridgeStatus ImportFile(int32_t fd, uint64_t size, bool read_only, AllocationTail* tail,
                          DLBridgeError* error);

// Closes the file descriptors of an export that failed.
void CloseFiles(const int32_t* fds, uint32_t count);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_IPC_HOST_H_
