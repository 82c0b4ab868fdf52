/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin with a copy of the library inside, of which it exports nothing.
 */
#include "dlbridge/dlbridge.h"

__attribute__((visibility("default"))) const DLBridgeApi* hidden_api(void);
const DLBridgeApi* hidden_api(void) { return dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)); }
