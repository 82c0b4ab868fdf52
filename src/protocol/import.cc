// SPDX-License-Identifier: Apache-2.0
// Converts any managed tensor to a dlbridge-owned versioned tensor.
#include "describe/boundary.h"
#include "protocol/convert.h"

namespace dlbridge {
namespace {

DLBridgeStatus Import(void* tensor, DLBridgeKind kind, const Options& options,
                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBridgeKind decided = kind;
  DLBRIDGE_TRY(DecideKind(tensor, kind, &decided, error));
  DLBRIDGE_TRY(CheckUpgradeOptions(options, error));
  if (decided == DLBRIDGE_KIND_LEGACY) {
    return Upgrade(static_cast<DLManagedTensor*>(tensor), options, Wants::kOwned, out, error);
  }
  return Rewrap(static_cast<DLManagedTensorVersioned*>(tensor), options, Wants::kOwned, out, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_import(void* tensor, DLBridgeKind kind,
                               const DLBridgeConvertOptions* options,
                               DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  dlbridge::Options storage;
  const dlbridge::Options* resolved = nullptr;
  DLBRIDGE_TRY(
      dlbridge::ResolveOptions(options, dlbridge::Target::kVersioned, &storage, &resolved, error));
  return dlbridge::Import(tensor, kind, *resolved, out, error);
}

}  // extern "C"
