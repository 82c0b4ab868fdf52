// SPDX-License-Identifier: Apache-2.0
// The transposition of planes of packed elements of 4 bits.
#ifndef DLBRIDGE_SRC_COPY_NIBBLE_PLANE_H_
#define DLBRIDGE_SRC_COPY_NIBBLE_PLANE_H_

#include <cstdint>

#include "copy/plane_copy.h"

namespace dlbridge {

// Transposes a plane whose elements are adjacent in the source along `row`, and in the target along
// `column`. Strides count elements. In source and target each line of adjacent elements starts at a
// byte, and `column.extent` is even.
void CopyNibblePlane(const unsigned char* from, const PlaneAxis& row, const PlaneAxis& column,
                     unsigned char* to);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_NIBBLE_PLANE_H_
