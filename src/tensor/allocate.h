// SPDX-License-Identifier: Apache-2.0
// Tensors that own their memory.
#ifndef DLBRIDGE_SRC_TENSOR_ALLOCATE_H_
#define DLBRIDGE_SRC_TENSOR_ALLOCATE_H_

#include <cstdint>

#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

// The alignment that dlpack.h asks for, and more than any consumer needs.
constexpr uint64_t kDefaultAlignment = 256;

struct NewTensor {
  int32_t ndim;
  const int64_t* shape;
  DLDevice device;
  DLDataType dtype;
  uint64_t flags;
  Version version;  // the version that the tensor will carry
  uint64_t alignment;
  const DLBridgeAllocator* allocator;      // NULL: the system's
  bool shareable = false;                  // with other processes; only without an allocator
  const DLBridgeStream* stream = nullptr;  // for the allocator: only its work uses the memory
};

// Makes a compact versioned tensor, which is a root.
DLBridgeStatus AllocateTensor(const NewTensor& tensor, Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_ALLOCATE_H_
