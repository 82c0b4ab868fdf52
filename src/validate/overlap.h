// SPDX-License-Identifier: Apache-2.0
// Do two different elements of a strided tensor share memory?
#ifndef DLBRIDGE_SRC_VALIDATE_OVERLAP_H_
#define DLBRIDGE_SRC_VALIDATE_OVERLAP_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// For a tensor that is not empty and whose count and reach fit 63 bits. NO and YES are exact;
// DLBRIDGE_UNDECIDED where a bounded effort does not tell.
DLBridgeAnswer SelfOverlap(int32_t ndim, const int64_t* shape, const int64_t* strides);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_OVERLAP_H_
