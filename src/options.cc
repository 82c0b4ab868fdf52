// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include "support/boundary.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownFlags = DLBRIDGE_CONVERT_SKIP_VALIDATION | DLBRIDGE_CONVERT_WRITABLE |
                                 DLBRIDGE_CONVERT_ALLOW_UNKNOWN | DLBRIDGE_CONVERT_CANONICAL |
                                 DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET | DLBRIDGE_CONVERT_COPY |
                                 DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED |
                                 DLBRIDGE_CONVERT_NEWER_CODES | DLBRIDGE_CONVERT_PIN_PRODUCER;

DLBridgeStatus CheckOptions(const DLBridgeConvertOptions& options, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(&options, "options", error));
  if ((options.flags & ~kKnownFlags) != 0) {
    return RefuseArgument(error, "options.flags", "has a bit that this library does not know");
  }
  if (options.version.major != kMajor &&
      (options.version.major != 0 || options.version.minor != 0)) {
    return RefuseArgument(error, "options.version", "must be of major 1, or {0, 0} for the newest");
  }
  if (options.policy != nullptr && (options.flags & DLBRIDGE_CONVERT_SKIP_VALIDATION) != 0) {
    return RefuseArgument(error, "options.policy", "must be NULL where validation is skipped");
  }
  if (options.reserved[0] != 0 || options.reserved[1] != 0) {
    return RefuseArgument(error, "options.reserved", "must be zero");
  }
  return CheckAllocator(options.allocator, error);
}

}  // namespace

DLBridgeStatus CheckAllocator(const DLBridgeAllocator* allocator, DLBridgeError* error) {
  if (allocator == nullptr) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(CheckStruct(allocator, "allocator", error));
  if (allocator->reserved0 != 0) {
    return RefuseArgument(error, "allocator.reserved0", "must be zero");
  }
  if (allocator->allocate == nullptr || allocator->deallocate == nullptr) {
    return RefuseArgument(error, "allocator", "must have both functions");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus ReadOptions(const DLBridgeConvertOptions* source, Options* out,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptions(*source, error));
  out->flags = source->flags;
  out->version = SharedVersion(source->version);
  out->source_flags = source->source_flags;
  out->allocator = source->allocator;
  return ResolvePolicy(source->policy, &out->policy_storage, &out->policy, error);
}

}  // namespace dlbridge
