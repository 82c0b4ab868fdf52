// SPDX-License-Identifier: Apache-2.0
// Checks an entry of the context table: docs/context-table.md, `add`.
#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/backend.h"
#include "native/table.h"
#include "support/text.h"

namespace dlbridge {
namespace {

bool IsKey(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLROCM || device_type == kDLOpenCL ||
         device_type == kDLOneAPI;
}

DLBridgeStatus CheckDevice(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!IsKey(TypeOf(entry.device))) {
    return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.device",
                        "must be kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI, which stand for their "
                        "pinned and managed memory too",
                        entry.device);
  }
  if (entry.device.device_id < 0) {
    return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.device",
                        "must not have a negative id", entry.device);
  }
  // IsBackendOf also accepts NONE; an entry must name its backend.
  if (entry.backend == DLBRIDGE_BACKEND_NONE || !IsBackendOf(entry.backend, TypeOf(entry.device))) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.backend",
                       "must be the device's: CUDA (2), HIP (3), OPENCL (5), for kDLOneAPI "
                       "LEVEL_ZERO (4) or OPENCL (5)",
                       entry.backend);
  }
  return DLBRIDGE_OK;
}

// CUDA and HIP identify devices by ordinals, the others by handles.
DLBridgeStatus CheckHandles(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  const bool ordinals =
      entry.backend == DLBRIDGE_BACKEND_CUDA || entry.backend == DLBRIDGE_BACKEND_HIP;
  if (ordinals && entry.native_device > INT32_MAX) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.native_device",
                       "must be the ordinal in CUDA and HIP", entry.native_device);
  }
  if (ordinals && entry.platform != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.platform",
                       "must be 0 in CUDA and HIP", entry.platform);
  }
  if (entry.backend == DLBRIDGE_BACKEND_HIP && entry.context != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.context",
                       "must be 0 in HIP, which has no contexts", entry.context);
  }
  if (!ordinals && (entry.native_device == 0 || entry.context == 0)) {
    return RejectArgument(error, entry.context == 0 ? "entry.context" : "entry.native_device",
                          "must not be NULL in Level Zero and OpenCL");
  }
  return DLBRIDGE_OK;
}

bool QueueKindFits(const DLBridgeContextEntry& entry) {
  if (entry.queue == 0) {
    return entry.queue_kind == 0;
  }
  return entry.queue_kind == DLBRIDGE_STREAM_QUEUE ||
         (entry.queue_kind == DLBRIDGE_STREAM_IMMEDIATE_LIST &&
          entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO);
}

DLBRIDGE_COLD DLBridgeStatus RejectTooNew(const char* argument, const char* expected,
                                          uint64_t found, DLBridgeError* error) {
  char problem[160];
  TextWriter text(problem, sizeof problem);
  text.String(expected).String(", found ").Hex(found);
  text.String("; a newer library may support it");
  return RejectStatus(error, DLBRIDGE_ERROR_TOO_NEW, argument, problem);
}

// Fields that a newer library may define are checked first, since they may change the meaning of
// others.
DLBridgeStatus CheckUnknown(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  for (const uint64_t word : entry.reserved) {
    if (word != 0) {
      return RejectTooNew("entry.reserved", "must be zero", word, error);
    }
  }
  if ((entry.properties & ~kKnownContextBits) != 0) {
    return RejectTooNew("entry.properties", "must have no bits but " DLBRIDGE_LIST_CONTEXT,
                        entry.properties & ~kKnownContextBits, error);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckQueueAndFlags(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!QueueKindFits(entry)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.queue_kind",
                       "must be 0 without a queue, else QUEUE (3) or, in Level Zero, "
                       "IMMEDIATE_LIST (4)",
                       entry.queue_kind);
  }
  const uint32_t both = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_REPLACE;
  if ((entry.properties & both) == both) {
    return RejectArgument(
        error, "entry.properties",
        "must not have both DLBRIDGE_CONTEXT_ENUMERATED and DLBRIDGE_CONTEXT_REPLACE, "
        "found both");
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (entry.struct_size != sizeof entry) {
    return RejectOther(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.struct_size", sizeof entry,
                       entry.struct_size);
  }
  if (entry.id != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "entry.id",
                       "must be 0: the table assigns it", entry.id);
  }
  DLBRIDGE_TRY(CheckUnknown(entry, error));
  DLBRIDGE_TRY(CheckDevice(entry, error));
  DLBRIDGE_TRY(CheckHandles(entry, error));
  return CheckQueueAndFlags(entry, error);
}

}  // namespace dlbridge
