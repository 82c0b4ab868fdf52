// SPDX-License-Identifier: Apache-2.0
// Which version a tensor needs, and which one a producer and a consumer share.
#include "required.h"
#include "status.h"
#include "support/boundary.h"
#include "support/load.h"
#include "support/text.h"

namespace dlbridge {

DLBridgeStatus RefuseCodes(const DLTensor& tensor, uint64_t flags, Version version,
                           DLBridgeError* error) {
  const int32_t type = TypeOf(tensor.device);
  if (DtypeSince(tensor.dtype.code) == kNoRelease) {
    return Refuse(error,
                  {DLBRIDGE_RULE_DTYPE_UNKNOWN, kNoAxis, Packed(version), tensor.dtype.code});
  }
  if (DeviceTypeOf(type).since == kNoRelease) {
    return Refuse(error, {DLBRIDGE_RULE_DEVICE_UNKNOWN, kNoAxis, Packed(version),
                          static_cast<uint64_t>(static_cast<int64_t>(type))});
  }
  if ((flags & ~kAllFlags) != 0) {
    return Refuse(error, {DLBRIDGE_RULE_FLAGS_UNKNOWN, kNoAxis, kAllFlags, flags});
  }
  return Refuse(error, {DLBRIDGE_RULE_REQUIRED_VERSION, kNoAxis, Packed(version),
                        Packed(RequiredVersion(tensor, flags))});
}

namespace {

DLBRIDGE_COLD DLBridgeStatus RefuseMajors(uint32_t producer, uint32_t consumer,
                                          DLBridgeError* error) {
  char problem[140];
  TextWriter(problem, sizeof problem)
      .String("is ")
      .Unsigned(producer)
      .String(", but the consumer reads up to ")
      .Unsigned(consumer)
      .String("; the producer must offer the consumer's major, or legacy");
  return RefuseStatus(error, DLBRIDGE_ERROR_VERSION, "the producer's major version", problem);
}

bool Older(DLPackVersion a, DLPackVersion b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_required_version(const DLTensor* tensor, uint64_t tensor_flags,
                                         DLPackVersion* out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  const DLTensor loaded = dlbridge::LoadTensor(*tensor);
  const dlbridge::Version required = dlbridge::RequiredVersion(loaded, tensor_flags);
  if (required == dlbridge::kNoRelease) {
    return dlbridge::RefuseCodes(loaded, tensor_flags, dlbridge::kNewestVersion, error);
  }
  *out = dlbridge::ToDLPack(required);
  return DLBRIDGE_OK;
}

DLBridgeStatus dlbridge_negotiate(DLPackVersion producer, DLPackVersion consumer,
                                  DLBridgeKind* kind, DLPackVersion* version,
                                  DLBridgeError* error) {
  DLBRIDGE_REQUIRE(kind);
  DLBRIDGE_REQUIRE(version);
  const DLPackVersion older = dlbridge::Older(producer, consumer) ? producer : consumer;
  if (older.major == 0) {
    const DLPackVersion legacy = dlbridge::ToDLPack(dlbridge::kLegacyVersion);
    *kind = DLBRIDGE_KIND_LEGACY;
    *version = dlbridge::Older(legacy, older) ? legacy : older;
    return DLBRIDGE_OK;
  }
  if (producer.major > consumer.major) {
    return dlbridge::RefuseMajors(producer.major, consumer.major, error);
  }
  *kind = DLBRIDGE_KIND_VERSIONED;
  *version = older;
  return DLBRIDGE_OK;
}

}  // extern "C"
