// SPDX-License-Identifier: Apache-2.0
// Do two different elements of a strided tensor share memory?
#ifndef DLBRIDGE_SRC_VALIDATE_OVERLAP_H_
#define DLBRIDGE_SRC_VALIDATE_OVERLAP_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// The tensor must not be empty, and its count and reach must fit 63 bits. NO and YES are exact.
// UNDECIDED: the bounded search ended without an answer.
DLBridgeAnswer SelfOverlap(int32_t ndim, const int64_t* shape, const int64_t* strides);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_OVERLAP_H_
