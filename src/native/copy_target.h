// SPDX-License-Identifier: Apache-2.0
// Where a copy goes: memory of the caller's, of its allocator, or the system's.
#ifndef DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_
#define DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_

#include <cstdint>

#include "copy/copy.h"
#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

struct CopyTarget {
  Node* node;  // a root whose release frees what was allocated and calls no callback
  DLBridgeBuffer buffer;
  uint64_t bytes;
};

DLBridgeStatus CheckCopySpec(const DLBridgeCopySpec& spec, DLBridgeError* error);

// A compact tensor of the source's shape, its bytes not yet written.
DLBridgeStatus MakeTarget(const DLTensor& source, const LayoutSnapshot& layout,
                          const DLBridgeCopySpec& spec, CopyTarget* out, DLBridgeError* error);

// The copy is whole: memory of the caller's is released with it from now on.
void CommitTarget(const DLBridgeCopySpec& spec, CopyTarget* target);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_COPY_TARGET_H_
