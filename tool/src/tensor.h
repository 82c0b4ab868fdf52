// SPDX-License-Identifier: Apache-2.0
// A tensor that a file describes. Its data pointer is a number and is never read.
#ifndef DLBRIDGE_TOOL_SRC_TENSOR_H_
#define DLBRIDGE_TOOL_SRC_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace dlbridge::tool {

struct Tensor {
  std::string name;
  DLBridgeKind kind = DLBRIDGE_KIND_VERSIONED;
  DLPackVersion version = {0, 0};
  uint64_t flags = 0;
  bool has_deleter = false;
  uint64_t data = 0;
  bool data_assumed = false;  // the file has no address
  int32_t device_type = 0;
  int32_t device_id = 0;
  int32_t ndim = 0;
  DLDataType dtype = {0, 0, 0};
  uint64_t byte_offset = 0;
  // None: a NULL pointer.
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> strides;

  // The struct of DLPack, which points to the arrays of this object.
  DLTensor View() const;
  // The number of extents and strides that the library reads: ndim if it is in range, else 0.
  int32_t Axes() const { return ndim > 0 && ndim <= DLBRIDGE_MAX_NDIM ? ndim : 0; }
  // Would the library read past the end of shape or strides?
  bool HasShortArrays() const;
};

// The names that the library writes: "float32", "cuda:1".
std::string DtypeName(DLDataType dtype);
std::string DeviceName(int32_t type, int32_t id);
std::string KindName(DLBridgeKind kind);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_TENSOR_H_
