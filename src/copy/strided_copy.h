// SPDX-License-Identifier: Apache-2.0
// Copies elements from any layout to compact memory. The CPU must be able to access both.
#ifndef DLBRIDGE_SRC_COPY_STRIDED_COPY_H_
#define DLBRIDGE_SRC_COPY_STRIDED_COPY_H_

#include <cstdint>

namespace dlbridge {

// The layout must have been checked: no extent is negative, and the sizes of source and target,
// from the first byte to the last, fit 63 bits. Source and target must not overlap.
struct StridedCopy {
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides;   // of the source, in elements; ignored for axes of extent 1
  uint32_t element_bits;    // without padding
  uint32_t from_item_bits;  // from one element of the source to the next, with padding
  uint32_t to_item_bits;
  const void* from;  // element (0,...,0)
  void* to;          // in C order
};

// Reads only bytes between the lowest and the highest element. In the target, the bits after the
// last packed element and the padding bits are 0. If source and target have the same padding to
// whole bytes, whole bytes are copied, padding included.
void CopyStrided(const StridedCopy& copy);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_STRIDED_COPY_H_
