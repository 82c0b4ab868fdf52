// SPDX-License-Identifier: Apache-2.0
// Any managed tensor of foreign code to a dlbridge-owned versioned one.
#include "convert.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

// Options that concern legacy results only: nothing is lost on the way in.
DLBridgeStatus CheckImportOptions(const Options& options, DLBridgeError* error) {
  struct Row {
    uint32_t option;
    const char* problem;
  };
  constexpr Row kRows[] = {
      {DLBRIDGE_CONVERT_DROP_READ_ONLY,
       "has DLBRIDGE_CONVERT_DROP_READ_ONLY, which is for dlbridge_export and dlbridge_downgrade"},
      {DLBRIDGE_CONVERT_DROP_PADDED,
       "has DLBRIDGE_CONVERT_DROP_PADDED, which is for dlbridge_export and dlbridge_downgrade"},
      {DLBRIDGE_CONVERT_ALLOW_NEWER_CODES,
       "has DLBRIDGE_CONVERT_ALLOW_NEWER_CODES, which is for dlbridge_export and "
       "dlbridge_downgrade"},
  };
  for (const Row& row : kRows) {
    if (options.Has(row.option)) {
      return RefuseArgument(error, "options.options", row.problem);
    }
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Import(void* tensor, DLBridgeKind kind, const Options& options,
                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBridgeKind decided = kind;
  DLBRIDGE_TRY(DecideKind(tensor, kind, &decided, error));
  DLBRIDGE_TRY(CheckImportOptions(options, error));
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
