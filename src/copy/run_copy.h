// SPDX-License-Identifier: Apache-2.0
// Copies of many runs: elements, or adjacent elements, of more than 32 bytes.
#ifndef DLBRIDGE_SRC_COPY_RUN_COPY_H_
#define DLBRIDGE_SRC_COPY_RUN_COPY_H_

#include "copy/plane_copy.h"

namespace dlbridge {

constexpr int64_t kLeastRun = 33;  // bytes

// The kernel for a plane whose elements have at least kLeastRun bytes.
CopyPlane ChooseRuns(const Plane& plane);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_RUN_COPY_H_
