/* SPDX-License-Identifier: Apache-2.0
 * The operations as a careful user of the C ABI writes them: with an error struct, and with the
 * release of a source that was not consumed. */
#include "cost.h"

int c_validate(const DLManagedTensor* tensor) {
  DLBridgeError error;
  return dlbridge_validate_legacy(tensor, NULL, &error) == DLBRIDGE_OK;
}

int c_upgrade(DLManagedTensor* tensor) {
  DLBridgeError error;
  DLManagedTensorVersioned* made = NULL;
  if (dlbridge_upgrade(tensor, NULL, &made, &error) != DLBRIDGE_OK) {
    dlbridge_release_legacy(tensor);
    return 0;
  }
  dlbridge_release_versioned(made);
  return 1;
}

int c_import(void* tensor) {
  DLBridgeError error;
  DLManagedTensorVersioned* made = NULL;
  if (dlbridge_import(tensor, DLBRIDGE_KIND_UNKNOWN, NULL, &made, &error) != DLBRIDGE_OK) {
    return 0;
  }
  dlbridge_release_versioned(made);
  return 1;
}

int c_share(const DLManagedTensorVersioned* tensor) {
  DLBridgeError error;
  DLManagedTensorVersioned* made = NULL;
  if (dlbridge_share(tensor, &made, &error) != DLBRIDGE_OK) {
    return 0;
  }
  dlbridge_release_versioned(made);
  return 1;
}
