// SPDX-License-Identifier: Apache-2.0
#include "tensor/options.h"

#include "describe/boundary.h"
#include "describe/known_values.h"

namespace dlbridge {
namespace {

DLBridgeStatus CheckVersion(DLPackVersion version, Target target, DLBridgeError* error) {
  if (target == Target::kVersioned) {
    return CheckResultVersion(version, "options.version", error);
  }
  return version.major == 0 ? DLBRIDGE_OK
                            : RejectVersion(error, "options.version",
                                            "must be of major 0, or {0, 0} for 0.8", version);
}

DLBridgeStatus CheckOptions(const DLBridgeConvertOptions& options, Target target,
                            DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptionBits(options.options, kKnownConvertBits, "options.options", error));
  DLBRIDGE_TRY(CheckVersion(options.version, target, error));
  if (options.policy != nullptr && (options.options & DLBRIDGE_CONVERT_SKIP_VALIDATION) != 0) {
    return RejectArgument(error, "options.policy",
                          "must be NULL with DLBRIDGE_CONVERT_SKIP_VALIDATION, found a policy");
  }
  return CheckAllocator(options.allocator, "options.allocator", error);
}

}  // namespace

DLBridgeStatus CheckAllocator(const DLBridgeAllocator* allocator, const char* argument,
                              DLBridgeError* error) {
  if (allocator == nullptr) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(CheckStruct(allocator, argument, error));
  DLBRIDGE_TRY(CheckOptionBits(allocator->options, 0, "allocator.options", error));
  if (allocator->allocate == nullptr) {
    return RejectArgument(error, "allocator.allocate", "is not set");
  }
  if (allocator->deallocate == nullptr) {
    return RejectArgument(error, "allocator.deallocate", "is not set");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus ReadOptions(const DLBridgeConvertOptions* source, Target target, Options* out,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(source, "options", error));
  DLBRIDGE_TRY(CheckOptions(*source, target, error));
  out->options = source->options;
  out->version = target == Target::kVersioned ? SharedVersion(source->version)
                                              : LegacyVersion(source->version);
  out->reads = target == Target::kVersioned ? ReadVersion(source->version) : out->version;
  out->tensor_flags = source->tensor_flags;
  out->allocator = source->allocator;
  return ResolvePolicy(source->policy, &out->policy_storage, &out->policy, error);
}

DLBridgeStatus CheckUpgradeOptions(const Options& options, DLBridgeError* error) {
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
      return RejectArgument(error, "options.options", row.problem);
    }
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
