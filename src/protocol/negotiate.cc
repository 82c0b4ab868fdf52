// SPDX-License-Identifier: Apache-2.0
// Finds the version that a producer and a consumer share.
#include "describe/boundary.h"
#include "describe/status.h"
#include "describe/version.h"
#include "support/text.h"

namespace dlbridge {

namespace {

DLBRIDGE_COLD DLBridgeStatus RejectMajors(uint32_t producer, uint32_t consumer,
                                          DLBridgeError* error) {
  char problem[140];
  TextWriter(problem, sizeof problem)
      .String("is ")
      .Unsigned(producer)
      .String(", but the consumer reads up to ")
      .Unsigned(consumer)
      .String("; the producer must offer the consumer's major, or legacy");
  return RejectStatus(error, DLBRIDGE_ERROR_VERSION, "the producer's major version", problem);
}

bool Older(DLPackVersion a, DLPackVersion b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

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
    return dlbridge::RejectMajors(producer.major, consumer.major, error);
  }
  *kind = DLBRIDGE_KIND_VERSIONED;
  *version = older;
  return DLBRIDGE_OK;
}

}  // extern "C"
