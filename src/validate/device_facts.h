// SPDX-License-Identifier: Apache-2.0
// DLBRIDGE_LEVEL_DEVICE: the question that validation asks the drivers. src/native defines it.
#ifndef DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_
#define DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_

#include <cstdint>

#include "describe/status.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge {

// The memory that a tensor touches.
struct TouchedMemory {
  const void* data;
  DLDevice device;
  uint64_t begin;  // offsets from `data`, modulo 2^64: negative offsets wrap
  uint64_t end;
  bool may_write;  // the tensor permits its consumers to write to the memory
};

// The answer to the question whether the memory is on the device that the tensor names.
struct DeviceVerdict {
  DLBridgeStatus status;  // not DLBRIDGE_OK if no driver can answer; the error has the reason
  bool rejected;          // the memory breaks the rule of `violation`
  Violation violation;
};
DeviceVerdict JudgeDevice(const TouchedMemory& memory, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_
