// SPDX-License-Identifier: Apache-2.0
// Releases a tensor, foreign or dlbridge-owned, by its deleter.
#include "describe/status.h"
#include "tensor/node.h"

extern "C" {

DLBridgeStatus dlbridge_release(void* tensor, DLBridgeKind kind) {
  if (kind == DLBRIDGE_KIND_LEGACY) {
    dlbridge_release_legacy(static_cast<DLManagedTensor*>(tensor));
    return DLBRIDGE_OK;
  }
  if (kind == DLBRIDGE_KIND_VERSIONED) {
    dlbridge_release_versioned(static_cast<DLManagedTensorVersioned*>(tensor));
    return DLBRIDGE_OK;
  }
  return DLBRIDGE_ERROR_INVALID_ARGUMENT;
}

void dlbridge_release_legacy(DLManagedTensor* tensor) {
  if (tensor != nullptr) {
    dlbridge::ReleaseTensor(tensor);
  }
}

void dlbridge_release_versioned(DLManagedTensorVersioned* tensor) {
  if (tensor != nullptr) {
    dlbridge::ReleaseTensor(tensor);
  }
}

}  // extern "C"
