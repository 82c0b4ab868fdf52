// SPDX-License-Identifier: Apache-2.0
// Copies elements that are not whole bytes from any layout to compact memory.
#ifndef DLBRIDGE_SRC_COPY_BIT_COPY_H_
#define DLBRIDGE_SRC_COPY_BIT_COPY_H_

#include "copy/strided_copy.h"
#include "copy/walk.h"

namespace dlbridge {

void CopyBits(const StridedCopy& copy, const Walk& walk);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_BIT_COPY_H_
