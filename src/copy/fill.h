// SPDX-License-Identifier: Apache-2.0
// Copies that repeat one element along the fastest axis of the target.
#ifndef DLBRIDGE_SRC_COPY_FILL_H_
#define DLBRIDGE_SRC_COPY_FILL_H_

#include "copy/plane_copy.h"

namespace dlbridge {

// The kernel for planes of elements of `item` bytes whose column has the source stride 0.
CopyPlane ChooseFill(int64_t item);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_FILL_H_
