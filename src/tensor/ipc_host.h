// SPDX-License-Identifier: Apache-2.0
// Memory of the host that processes share: an anonymous file of fixed size, mapped. It is gone with
// the last process that has it; no name is left behind.
#ifndef DLBRIDGE_SRC_TENSOR_IPC_HOST_H_
#define DLBRIDGE_SRC_TENSOR_IPC_HOST_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

// Fills a tail with at least `bytes`, which is not 0, of shareable memory.
DLBridgeStatus AcquireShareable(uint64_t bytes, uint64_t alignment, AllocationTail* tail,
                                DLBridgeError* error);

// Is the memory of a root such?
bool IsShareable(const AllocationTail& tail);

// A new file descriptor of shareable memory, the caller's.
DLBridgeStatus ExportFile(const AllocationTail& tail, bool read_only, int32_t* fd,
                          DLBridgeError* error);

// Fills a tail with `size` bytes, not 0, of a file that another process sent and may not be what it
// should. `fd` stays the caller's.
DLBridgeStatus ImportFile(int32_t fd, uint64_t size, bool read_only, AllocationTail* tail,
                          DLBridgeError* error);

// Closes what an export opened and nobody gets.
void CloseFiles(const int32_t* fds, uint32_t count);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_IPC_HOST_H_
