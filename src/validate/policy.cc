// SPDX-License-Identifier: Apache-2.0
#include "validate/policy.h"

#include "describe/boundary.h"
#include "describe/known_values.h"
#include "support/text.h"

namespace dlbridge {
namespace {

// Options that demand nothing beyond the default policy.
constexpr uint32_t kPermissions =
    DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES |
    DLBRIDGE_POLICY_VOUCH_WRITABLE | DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;

bool Has(const DLBridgePolicy& policy, uint32_t option) { return (policy.options & option) != 0; }

DLBridgeStatus CheckRanges(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (policy.level < DLBRIDGE_LEVEL_DEFAULT || policy.level > kLastLevel) {
    return RejectEnum(error, "policy.level", "must be " DLBRIDGE_LIST_LEVEL, policy.level,
                      kLastLevel);
  }
  if (policy.version.major > kMajor) {
    return RejectVersion(error, "policy.version", "must be of major 0 or 1", policy.version);
  }
  if (policy.contiguity < DLBRIDGE_CONTIGUITY_ANY || policy.contiguity > kLastContiguity) {
    return RejectEnum(error, "policy.contiguity", "must be " DLBRIDGE_LIST_CONTIGUITY,
                      policy.contiguity, kLastContiguity);
  }
  if (policy.alignment != 0 && !IsPowerOfTwo(policy.alignment)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "policy.alignment",
                       "must be 0 or a power of two", policy.alignment);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckList(const void* list, size_t count, const char* argument,
                         DLBridgeError* error) {
  if (list == nullptr && count != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument,
                       "must not be NULL with a non-zero count", count);
  }
  if (list != nullptr && count == 0) {
    return RejectArgument(error, argument,
                          "has count 0: set it to NULL to accept all; a policy cannot reject all");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckNdimLimits(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (!Has(policy, DLBRIDGE_POLICY_LIMIT_NDIM)) {
    if (policy.min_ndim != 0 || policy.max_ndim != 0) {
      return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                         policy.max_ndim != 0 ? "policy.max_ndim" : "policy.min_ndim",
                         "must be 0 without DLBRIDGE_POLICY_LIMIT_NDIM",
                         policy.max_ndim != 0 ? policy.max_ndim : policy.min_ndim);
    }
    return DLBRIDGE_OK;
  }
  if (policy.max_ndim < 0 || policy.max_ndim > DLBRIDGE_MAX_NDIM) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "policy.max_ndim", "must be 0 to 64",
                       policy.max_ndim);
  }
  if (policy.min_ndim < 0 || policy.min_ndim > policy.max_ndim) {
    char problem[60];
    TextWriter(problem, sizeof problem)
        .String("must be 0 to max_ndim, which is ")
        .Signed(policy.max_ndim);
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "policy.min_ndim", problem,
                       policy.min_ndim);
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus RejectShape(const DLBridgePolicy& policy, DLBridgeError* error) {
  char problem[180];
  TextWriter(problem, sizeof problem)
      .String(
          "needs DLBRIDGE_POLICY_LIMIT_NDIM with min_ndim equal to max_ndim, its number of "
          "extents, found options ")
      .Hex(policy.options)
      .String(", min_ndim ")
      .Signed(policy.min_ndim)
      .String(" and max_ndim ")
      .Signed(policy.max_ndim);
  return RejectArgument(error, "policy.shape", problem);
}

DLBridgeStatus CheckShape(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (policy.shape == nullptr) {
    return DLBRIDGE_OK;
  }
  if (!Has(policy, DLBRIDGE_POLICY_LIMIT_NDIM) || policy.min_ndim != policy.max_ndim) {
    return RejectShape(policy, error);
  }
  for (int32_t i = 0; i < policy.max_ndim; ++i) {
    if (policy.shape[i] < -1) {
      return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "policy.shape",
                         "must have extents of 0 or more, or -1 for any", policy.shape[i]);
    }
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckBufferLimit(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (policy.buffer_size != 0 && !Has(policy, DLBRIDGE_POLICY_LIMIT_BUFFER)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "policy.buffer_size",
                       "must be 0 without DLBRIDGE_POLICY_LIMIT_BUFFER", policy.buffer_size);
  }
  return DLBRIDGE_OK;
}

// LEVEL_STRUCT does not read shape and strides, so it rejects demands that depend on them.
DLBridgeStatus CheckLevel(const DLBridgePolicy& policy, DLBridgeError* error) {
  constexpr uint32_t kNeedArrays = DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES |
                                   DLBRIDGE_POLICY_REJECT_ZERO_STRIDES |
                                   DLBRIDGE_POLICY_LIMIT_BUFFER;
  const bool overlap = Has(policy, DLBRIDGE_POLICY_REQUIRE_WRITABLE) &&
                       !Has(policy, DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP);
  if (policy.level == DLBRIDGE_LEVEL_STRUCT &&
      (overlap || Has(policy, kNeedArrays) || policy.alignment != 0 ||
       policy.contiguity != DLBRIDGE_CONTIGUITY_ANY || policy.shape != nullptr)) {
    return RejectArgument(error, "policy.level",
                          "must be METADATA (2) or DEVICE (3) to check shape, strides, buffer, "
                          "alignment or overlap, found STRUCT (1)");
  }
  return DLBRIDGE_OK;
}

bool Demands(const DLBridgePolicy& policy) {
  return (policy.options & ~kPermissions) != 0 || policy.contiguity != DLBRIDGE_CONTIGUITY_ANY ||
         policy.alignment != 0 || policy.devices != nullptr || policy.dtypes != nullptr ||
         policy.level == DLBRIDGE_LEVEL_DEVICE;
}

// The newest version that the consumer knows; that of a legacy consumer is a legacy version.
Version VersionOf(DLPackVersion version) {
  if (version.major == 0 && version.minor != 0) {
    return LegacyVersion(version);
  }
  return SharedVersion(version);
}

DLBridgeStatus CheckPolicy(const DLBridgePolicy& policy, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptionBits(policy.options, kKnownPolicyBits, "policy.options", error));
  DLBRIDGE_TRY(CheckRanges(policy, error));
  DLBRIDGE_TRY(CheckNdimLimits(policy, error));
  DLBRIDGE_TRY(CheckShape(policy, error));
  DLBRIDGE_TRY(CheckBufferLimit(policy, error));
  DLBRIDGE_TRY(CheckList(policy.devices, policy.device_count, "policy.devices", error));
  DLBRIDGE_TRY(CheckList(policy.dtypes, policy.dtype_count, "policy.dtypes", error));
  return CheckLevel(policy, error);
}

}  // namespace

DLBridgeStatus ReadPolicy(const DLBridgePolicy* source, Policy* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(source, "policy", error));
  DLBRIDGE_TRY(CheckPolicy(*source, error));
  const bool limited = Has(*source, DLBRIDGE_POLICY_LIMIT_NDIM);
  out->max_ndim = limited ? source->max_ndim : DLBRIDGE_MAX_NDIM;
  out->min_ndim = source->min_ndim;
  out->options = source->options;
  out->level = source->level != 0 ? source->level : DLBRIDGE_LEVEL_METADATA;
  out->demands = Demands(*source);
  out->contiguity = source->contiguity;
  out->version = VersionOf(source->version);
  out->alignment = source->alignment;
  out->buffer_size = source->buffer_size;
  out->devices = {source->devices, source->device_count};
  out->dtypes = {source->dtypes, source->dtype_count};
  out->shape = source->shape;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
