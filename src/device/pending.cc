// SPDX-License-Identifier: Apache-2.0
// Entry points whose files are still to come.
#include "support/boundary.h"

#define DLBRIDGE_PENDING \
  return dlbridge::RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "this", "is to come")

extern "C" {
DLBridgeStatus dlbridge_wrap(const DLBridgeWrapSpec*, DLManagedTensorVersioned**,
                             DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec*, DLManagedTensor**,
                                    DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_copy(const DLTensor*, uint64_t, const DLBridgeCopySpec*,
                             DLManagedTensorVersioned**, DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned*, uint32_t, void*, size_t,
                                   size_t*, int32_t*, size_t, size_t*, DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_ipc_import(const void*, size_t, const int32_t*, size_t, uint32_t,
                                   const DLBridgePolicy*, DLManagedTensorVersioned**,
                                   DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
}
