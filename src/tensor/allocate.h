// SPDX-License-Identifier: Apache-2.0
// Tensors with memory of their own.
#ifndef DLBRIDGE_SRC_TENSOR_ALLOCATE_H_
#define DLBRIDGE_SRC_TENSOR_ALLOCATE_H_

#include <cstdint>

#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "tensor/node.h"

namespace dlbridge {

// The alignment that DLPack speaks of, and more than any consumer asks for.
constexpr uint64_t kDefaultAlignment = 256;

struct NewTensor {
  int32_t ndim;
  const int64_t* shape;
  DLDevice device;
  DLDataType dtype;
  uint64_t flags;
  Version version;  // that the tensor will say
  uint64_t alignment;
  const DLBridgeAllocator* allocator;  // NULL: the system's
  bool shareable = false;              // with other processes; without an allocator
};

// A compact versioned tensor, a root of its own.
DLBridgeStatus AllocateTensor(const NewTensor& tensor, Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_ALLOCATE_H_
