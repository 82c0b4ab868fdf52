// SPDX-License-Identifier: Apache-2.0
// Entry points whose files are still to come.
#include "device/fork.h"
#include "device/table.h"
#include "support/boundary.h"

namespace dlbridge {
void ResetTableInChild() {}
}  // namespace dlbridge

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
DLBridgeStatus dlbridge_device_register(const DLBridgeContextEntry*, uint64_t*,
                                        DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_device_lookup(DLDevice, uint64_t, DLBridgeContextEntry*,
                                      DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_device_next(uint64_t*, DLBridgeContextEntry*, DLBridgeError* error) {
  DLBRIDGE_PENDING;
}
DLBridgeStatus dlbridge_device_retain(uint64_t, DLBridgeError* error) { DLBRIDGE_PENDING; }
DLBridgeStatus dlbridge_device_release(uint64_t, DLBridgeError* error) { DLBRIDGE_PENDING; }
DLBridgeStatus dlbridge_device_unregister(uint64_t, DLBridgeError* error) { DLBRIDGE_PENDING; }
const DLBridgeContextTable* dlbridge_context_table_v1(void) { return nullptr; }
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
