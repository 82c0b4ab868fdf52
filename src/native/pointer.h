// SPDX-License-Identifier: Apache-2.0
// Asks the drivers where memory lies.
#ifndef DLBRIDGE_SRC_NATIVE_POINTER_H_
#define DLBRIDGE_SRC_NATIVE_POINTER_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// A `label` of kDLCPU gives no information.
DLBridgeStatus AskPointer(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                          DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_POINTER_H_
