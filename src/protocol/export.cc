// SPDX-License-Identifier: Apache-2.0
// Converts any managed tensor for a consumer of a given DLPack version.
#include "describe/boundary.h"
#include "protocol/convert.h"
#include "protocol/identify.h"

namespace dlbridge {
namespace {

DLBridgeStatus CheckTarget(DLPackVersion target, DLBridgeError* error) {
  if (target.major > kMajor || (target.major == 0 && target.minor == 0)) {
    return RejectVersion(error, "target",
                         "must be the consumer's DLPack version, of major 0 or 1 and not {0, 0}",
                         target);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus ReadExportOptions(const DLBridgeConvertOptions* options, DLPackVersion target,
                                 Options* out, DLBridgeError* error) {
  const bool versioned = target.major == kMajor;
  *out = kDefaultOptions;
  if (options != nullptr) {
    DLBRIDGE_TRY(CheckStruct(options, "options", error));
    if (options->version.major != 0 || options->version.minor != 0) {
      return RejectVersion(error, "options.version",
                           "must be {0, 0}: dlbridge_export takes the version from target",
                           options->version);
    }
    const Target kind = versioned ? Target::kVersioned : Target::kLegacy;
    DLBRIDGE_TRY(ReadOptions(options, kind, out, error));
  }
  out->version = versioned ? SharedVersion(target) : LegacyVersion(target);
  out->reads = versioned ? ReadVersion(target) : out->version;
  return DLBRIDGE_OK;
}

DLBridgeStatus ToVersioned(void* tensor, DLBridgeKind kind, const Options& options, void** out,
                           DLBridgeError* error) {
  DLManagedTensorVersioned* result = nullptr;
  DLBRIDGE_TRY(kind == DLBRIDGE_KIND_VERSIONED
                   ? Rewrap(static_cast<DLManagedTensorVersioned*>(tensor), options,
                            Wants::kAnyVersioned, &result, error)
                   : Upgrade(static_cast<DLManagedTensor*>(tensor), options, Wants::kAnyVersioned,
                             &result, error));
  *out = result;
  return DLBRIDGE_OK;
}

DLBridgeStatus ToLegacy(void* tensor, DLBridgeKind kind, const Options& options, void** out,
                        DLBridgeError* error) {
  DLManagedTensor* result = nullptr;
  DLBRIDGE_TRY(
      kind == DLBRIDGE_KIND_VERSIONED
          ? Downgrade(static_cast<DLManagedTensorVersioned*>(tensor), options, &result, error)
          : PassLegacy(static_cast<DLManagedTensor*>(tensor), options, &result, error));
  *out = result;
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus ExportGenerally(void* tensor, DLBridgeKind kind,
                                                 DLPackVersion target,
                                                 const DLBridgeConvertOptions* options, void** out,
                                                 DLBridgeKind* out_kind, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckTarget(target, error));
  Options storage;
  DLBRIDGE_TRY(ReadExportOptions(options, target, &storage, error));
  DLBridgeKind decided = kind;
  DLBRIDGE_TRY(DecideKind(tensor, kind, &decided, error));
  const bool versioned = target.major == kMajor;
  DLBRIDGE_TRY(versioned ? ToVersioned(tensor, decided, storage, out, error)
                         : ToLegacy(tensor, decided, storage, out, error));
  *out_kind = versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY;
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_export(void* tensor, DLBridgeKind kind, DLPackVersion target,
                               const DLBridgeConvertOptions* options, void** out,
                               DLBridgeKind* out_kind, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_REQUIRE(out_kind);
  // Fast path: a new legacy tensor for a consumer of the default version.
  if (options == nullptr && target.major == dlbridge::kMajor &&
      dlbridge::SharedVersion(target) == dlbridge::kDefaultVersion &&
      dlbridge::IsForeignLegacy(tensor, kind)) {
    DLManagedTensorVersioned* result = nullptr;
    DLBRIDGE_TRY(
        dlbridge::UpgradeForeign(static_cast<DLManagedTensor*>(tensor), nullptr, &result, error));
    *out = result;
    *out_kind = DLBRIDGE_KIND_VERSIONED;
    return DLBRIDGE_OK;
  }
  return dlbridge::ExportGenerally(tensor, kind, target, options, out, out_kind, error);
}

}  // extern "C"
