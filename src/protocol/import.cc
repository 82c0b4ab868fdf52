// SPDX-License-Identifier: Apache-2.0
// Converts any managed tensor to a dlbridge-owned versioned tensor.
#include "describe/boundary.h"
#include "protocol/convert.h"
#include "protocol/identify.h"

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

// The general path: the caller gave options, or the tensor is not recognised at once.
DLBRIDGE_NOINLINE DLBridgeStatus ImportGenerally(void* tensor, DLBridgeKind kind,
                                                 const DLBridgeConvertOptions* options,
                                                 DLManagedTensorVersioned** out,
                                                 DLBridgeError* error) {
  Options storage;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, Target::kVersioned, &storage, &resolved, error));
  return Import(tensor, kind, *resolved, out, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_import(void* tensor, DLBridgeKind kind,
                               const DLBridgeConvertOptions* options,
                               DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  if (DLBRIDGE_LIKELY(options == nullptr)) {
    if (dlbridge::IsForeignLegacy(tensor, kind)) {
      return dlbridge::UpgradeForeign(static_cast<DLManagedTensor*>(tensor), nullptr, out, error);
    }
    if (kind == DLBRIDGE_KIND_VERSIONED) {
      return dlbridge::RewrapByDefault(static_cast<DLManagedTensorVersioned*>(tensor), out, error);
    }
  }
  return dlbridge::ImportGenerally(tensor, kind, options, out, error);
}

}  // extern "C"
