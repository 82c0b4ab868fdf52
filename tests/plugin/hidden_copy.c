/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin that links the static library. No version script or option hides the symbols here: they
 * are hidden in the archive.
 */
#include <stddef.h>

#include "dlbridge/dlbridge.h"

#define EXPORT __attribute__((visibility("default")))

/* The function table of the copy inside. */
EXPORT const DLBridgeApi* hidden_api(void);
const DLBridgeApi* hidden_api(void) { return dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)); }

/* Allocates a tensor and shares it by calls to the functions' names; returns the status. */
EXPORT DLBridgeStatus hidden_share(void);
DLBridgeStatus hidden_share(void) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  const DLDataType float32 = {kDLFloat, 32, 1};
  spec.dtype = float32;
  DLManagedTensorVersioned* tensor = NULL;
  DLManagedTensorVersioned* share = NULL;
  DLBridgeStatus status = dlbridge_allocate(&spec, &tensor, NULL);
  if (status == DLBRIDGE_OK) status = dlbridge_share(tensor, &share, NULL);
  dlbridge_release_versioned(share);
  dlbridge_release_versioned(tensor);
  return status;
}
