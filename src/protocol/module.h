// SPDX-License-Identifier: Apache-2.0
// Modules that stay loaded: shared libraries, plugins, DLLs.
#ifndef DLBRIDGE_SRC_PROTOCOL_MODULE_H_
#define DLBRIDGE_SRC_PROTOCOL_MODULE_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// Keeps the module that holds `address` loaded until the process ends.
DLBridgeStatus PinModule(const void* address, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_PROTOCOL_MODULE_H_
