// SPDX-License-Identifier: Apache-2.0
// What an entry of the context table must be: docs/context-table.md, `add`.
#include "device.h"
#include "device/backend.h"
#include "device/table.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownFlags = DLBRIDGE_CONTEXT_DEFAULT | DLBRIDGE_CONTEXT_REPLACE |
                                 DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;

bool IsBackendOf(DLBridgeBackend backend, int32_t device_type) {
  const BackendList list = BackendsOf(device_type);
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.backends[i]->id == backend) {
      return true;
    }
  }
  return false;
}

bool IsKey(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLROCM || device_type == kDLOpenCL ||
         device_type == kDLOneAPI;
}

DLBridgeStatus CheckDevice(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!IsKey(TypeOf(entry.device))) {
    return RefuseArgument(error, "entry.device",
                          "must be kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI, which stand for their "
                          "pinned and managed memory too");
  }
  if (entry.device.device_id < 0) {
    return RefuseArgument(error, "entry.device", "must not have a negative id");
  }
  if (!IsBackendOf(entry.backend, TypeOf(entry.device))) {
    return RefuseArgument(error, "entry.backend",
                          "must be the device's: CUDA, HIP, OPENCL, for kDLOneAPI LEVEL_ZERO or "
                          "OPENCL");
  }
  return DLBRIDGE_OK;
}

// CUDA and HIP go by numbers, the others by handles.
DLBridgeStatus CheckHandles(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  const bool ordinals =
      entry.backend == DLBRIDGE_BACKEND_CUDA || entry.backend == DLBRIDGE_BACKEND_HIP;
  if (ordinals && (entry.native_device > INT32_MAX || entry.platform != 0)) {
    return RefuseArgument(error, "entry.native_device",
                          "must be the ordinal, and the platform 0, in CUDA and HIP");
  }
  if (entry.backend == DLBRIDGE_BACKEND_HIP && entry.context != 0) {
    return RefuseArgument(error, "entry.context", "must be 0 in HIP, which has no contexts");
  }
  if (!ordinals && (entry.native_device == 0 || entry.context == 0)) {
    return RefuseArgument(error, entry.context == 0 ? "entry.context" : "entry.native_device",
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

// What only a newer library gives a meaning. It may change what the other fields mean, so this is
// checked first.
DLBridgeStatus CheckUnknown(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if ((entry.reserved[0] | entry.reserved[1] | entry.reserved[2] | entry.reserved[3]) != 0) {
    return RefuseStatus(error, DLBRIDGE_ERROR_TOO_NEW, "entry.reserved",
                        "is not zero: this library is too old for what it says");
  }
  if ((entry.properties & ~kKnownFlags) != 0) {
    return RefuseStatus(error, DLBRIDGE_ERROR_TOO_NEW, "entry.properties",
                        "has a bit above PRIVATE: this library is too old for it");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckQueueAndFlags(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (!QueueKindFits(entry)) {
    return RefuseArgument(error, "entry.queue_kind",
                          "must be 0 without a queue, else QUEUE or, in Level Zero, "
                          "IMMEDIATE_LIST");
  }
  const uint32_t both = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_REPLACE;
  if ((entry.properties & both) == both) {
    return RefuseArgument(error, "entry.properties", "must not have both ENUMERATED and REPLACE");
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error) {
  if (entry.struct_size != sizeof entry) {
    return RefuseArgument(error, "entry.struct_size", "must be 128");
  }
  if (entry.id != 0) {
    return RefuseArgument(error, "entry.id", "must be 0: the table gives it");
  }
  DLBRIDGE_TRY(CheckUnknown(entry, error));
  DLBRIDGE_TRY(CheckDevice(entry, error));
  DLBRIDGE_TRY(CheckHandles(entry, error));
  return CheckQueueAndFlags(entry, error);
}

}  // namespace dlbridge
