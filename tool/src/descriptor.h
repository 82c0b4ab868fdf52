// SPDX-License-Identifier: Apache-2.0
// Descriptors of dlbridge_ipc_export (docs/ipc.md).
#ifndef DLBRIDGE_TOOL_SRC_DESCRIPTOR_H_
#define DLBRIDGE_TOOL_SRC_DESCRIPTOR_H_

#include <string>
#include <vector>

#include "judge.h"
#include "tensor.h"

namespace dlbridge::tool {

struct Descriptor {
  uint32_t format = 0;
  uint32_t memory = 0;
  int32_t backend = 0;
  uint64_t size = 0;
  uint64_t data_offset = 0;
  uint32_t handle_length = 0;
  uint32_t fd_count = 0;
  // None if the bytes do not have all fields.
  std::optional<Tensor> tensor;
  std::vector<Finding> faults;
};

bool IsDescriptor(const std::string& bytes);

// Reads the fields and lets the library check the bytes. Opens no memory: the file descriptors and
// the driver's handle are not used.
Descriptor ReadDescriptor(const std::string& bytes);

// Adds a fault if the tensor does not lie inside the memory of the descriptor.
void CheckBounds(const DLBridgeLayout& layout, Descriptor* descriptor);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_DESCRIPTOR_H_
