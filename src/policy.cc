// SPDX-License-Identifier: Apache-2.0
#include "policy.h"

#include "support/boundary.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownFlags =
    DLBRIDGE_POLICY_REFUSE_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REFUSE_UNKNOWN_DEVICE |
    DLBRIDGE_POLICY_REFUSE_UNKNOWN_FLAGS | DLBRIDGE_POLICY_REFUSE_NEGATIVE_STRIDES |
    DLBRIDGE_POLICY_REFUSE_ZERO_STRIDES | DLBRIDGE_POLICY_ALLOW_NULL_STRIDES |
    DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES | DLBRIDGE_POLICY_REQUIRE_WRITABLE |
    DLBRIDGE_POLICY_VOUCH_WRITABLE | DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;

// Flags that allow something, and so demand nothing of the tensor.
constexpr uint32_t kPermissions =
    DLBRIDGE_POLICY_ALLOW_NULL_STRIDES | DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES |
    DLBRIDGE_POLICY_VOUCH_WRITABLE | DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;

DLBridgeStatus CheckRanges(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (policy.level < DLBRIDGE_LEVEL_STRUCT || policy.level > DLBRIDGE_LEVEL_DEVICE) {
    return RefuseArgument(error, "policy.level", "must be STRUCT, METADATA or DEVICE");
  }
  if (policy.version.major > kMajor) {
    return RefuseArgument(error, "policy.version", "must be of major 1 or older, or {0, 0}");
  }
  if ((policy.flags & ~kKnownFlags) != 0) {
    return RefuseArgument(error, "policy.flags", "has a bit that this library does not know");
  }
  if (policy.max_ndim < 0) {
    return RefuseArgument(error, "policy.max_ndim", "must not be negative");
  }
  if (policy.contiguity < DLBRIDGE_CONTIGUITY_ANY ||
      policy.contiguity > DLBRIDGE_CONTIGUITY_C_OR_F) {
    return RefuseArgument(error, "policy.contiguity", "must be ANY, C, F or C_OR_F");
  }
  if (policy.alignment != 0 && !IsPowerOfTwo(policy.alignment)) {
    return RefuseArgument(error, "policy.alignment", "must be 0 or a power of two");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckLists(const DLBridgePolicy& policy, DLBridgeError* error) {
  if (policy.devices == nullptr && policy.device_count != 0) {
    return RefuseArgument(error, "policy.devices", "must not be NULL where device_count is not 0");
  }
  if (policy.dtypes == nullptr && policy.dtype_count != 0) {
    return RefuseArgument(error, "policy.dtypes", "must not be NULL where dtype_count is not 0");
  }
  if (policy.reserved0 != 0 || policy.reserved[0] != 0 || policy.reserved[1] != 0) {
    return RefuseArgument(error, "policy.reserved", "must be zero");
  }
  return DLBRIDGE_OK;
}

// A demand that shape and strides decide must not be dropped in silence where they are not read.
DLBridgeStatus CheckLevel(const DLBridgePolicy& policy, DLBridgeError* error) {
  constexpr uint32_t kNeedStrides =
      DLBRIDGE_POLICY_REFUSE_NEGATIVE_STRIDES | DLBRIDGE_POLICY_REFUSE_ZERO_STRIDES;
  const bool overlap = (policy.flags & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0 &&
                       (policy.flags & DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP) == 0;
  if (policy.level == DLBRIDGE_LEVEL_STRUCT &&
      (overlap || (policy.flags & kNeedStrides) != 0 || policy.buffer_size != UINT64_MAX ||
       policy.alignment != 0 || policy.contiguity != DLBRIDGE_CONTIGUITY_ANY)) {
    return RefuseArgument(error, "policy.level",
                          "must be METADATA for demands on strides, extent, alignment or overlap");
  }
  return DLBRIDGE_OK;
}

bool Demands(const DLBridgePolicy& policy) {
  return (policy.flags & ~kPermissions) != 0 || policy.contiguity != DLBRIDGE_CONTIGUITY_ANY ||
         policy.alignment != 0 || policy.buffer_size != UINT64_MAX || policy.devices != nullptr ||
         policy.dtypes != nullptr || policy.level == DLBRIDGE_LEVEL_DEVICE;
}

// The consumer's newest version as the tables count; legacy consumers keep theirs.
Version VersionOf(DLPackVersion version) {
  if (version.major == 0 && version.minor != 0) {
    return version.minor < kLegacyVersion ? version.minor : kLegacyVersion;
  }
  return SharedVersion(version);
}

}  // namespace

DLBridgeStatus ReadPolicy(const DLBridgePolicy* source, Policy* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(source, "policy", error));
  DLBRIDGE_TRY(CheckRanges(*source, error));
  DLBRIDGE_TRY(CheckLists(*source, error));
  DLBRIDGE_TRY(CheckLevel(*source, error));
  out->max_ndim = source->max_ndim;
  out->flags = source->flags;
  out->level = source->level;
  out->demands = Demands(*source);
  out->contiguity = source->contiguity;
  out->version = VersionOf(source->version);
  out->alignment = source->alignment;
  out->buffer_size = source->buffer_size;
  out->devices = source->devices;
  out->device_count = source->device_count;
  out->dtypes = source->dtypes;
  out->dtype_count = source->dtype_count;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
