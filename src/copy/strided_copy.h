// SPDX-License-Identifier: Apache-2.0
// Elements from any layout to compact memory, both of which the CPU reaches.
#ifndef DLBRIDGE_SRC_COPY_STRIDED_COPY_H_
#define DLBRIDGE_SRC_COPY_STRIDED_COPY_H_

#include <cstdint>

namespace dlbridge {

// A layout that was checked: no extent is negative, and the bytes of source and target, counted
// from the first to the last, fit 63 bits. Source and target do not overlap.
struct StridedCopy {
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides;   // of the source, in elements; not read of axes of extent 1
  uint32_t element_bits;    // that mean something
  uint32_t from_item_bits;  // from one element of the source to the next: packed or padded
  uint32_t to_item_bits;
  const void* from;  // the element whose indices are all 0
  void* to;          // C order
};

// Reads nothing but bytes between the lowest and the highest element. Bits of the target that are
// between packed elements and the end of their byte are 0, and those behind a padded element too,
// unless source and target are padded alike to whole bytes: then whole bytes are copied.
void CopyStrided(const StridedCopy& copy);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_STRIDED_COPY_H_
