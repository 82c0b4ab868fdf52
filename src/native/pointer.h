// SPDX-License-Identifier: Apache-2.0
// Where does memory lie? Asked of the drivers.
#ifndef DLBRIDGE_SRC_NATIVE_POINTER_H_
#define DLBRIDGE_SRC_NATIVE_POINTER_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// `label` says nothing where it is kDLCPU.
DLBridgeStatus AskPointer(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                          DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_POINTER_H_
