// SPDX-License-Identifier: Apache-2.0
// Copies layouts whose fastest axes are in another order than the target's, and short.
#ifndef DLBRIDGE_SRC_COPY_PERMUTED_COPY_H_
#define DLBRIDGE_SRC_COPY_PERMUTED_COPY_H_

#include "copy/axes.h"

namespace dlbridge {

// Returns false, without a change, if squares in registers do not suit the layout. At least one
// axis must be left in `axes`.
bool CopyPermuted(Axes* axes, const char* from, char* to);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_PERMUTED_COPY_H_
