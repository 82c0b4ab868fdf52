// SPDX-License-Identifier: Apache-2.0
// The target of a copy: memory from the caller, its allocator, or the system.
#ifndef DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_
#define DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_

#include <cstdint>

#include "copy/copy.h"
#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

struct CopyTarget {
  Node* node;  // a root; before CommitTarget its release frees the memory that was allocated and
               // calls no callback
  DLBridgeBuffer buffer;
  uint64_t bytes;
};

// Rejects bits that no release of DLPack has: they may change the layout and thus the bytes of a
// copy, so no option allows them here.
DLBridgeStatus CheckFlags(uint64_t flags, const char* argument, DLBridgeError* error);

DLBridgeStatus CheckCopySpec(const DLBridgeCopySpec& spec, DLBridgeError* error);

// Makes a compact tensor of the source's shape; its bytes are not yet written. `stream` is passed
// to the allocator: only work on it will use the memory. NULL: any work may use it.
DLBridgeStatus MakeTarget(const DLTensor& source, const LayoutSnapshot& layout,
                          const DLBridgeCopySpec& spec, const DLBridgeStream* stream,
                          CopyTarget* out, DLBridgeError* error);

// Called when the copy is complete: from now on the caller's memory is released with the tensor.
void CommitTarget(const DLBridgeCopySpec& spec, CopyTarget* target);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_
