// SPDX-License-Identifier: Apache-2.0
// DLBRIDGE_LEVEL_DEVICE: what validation asks of the drivers. The driver side defines it.
#ifndef DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_
#define DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_

#include <cstdint>

#include "describe/status.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge {

// The memory that a tensor touches, from its `data` on.
struct TouchedMemory {
  const void* data;
  DLDevice device;
  uint64_t begin;  // offsets from `data`; they wrap for what lies before an address
  uint64_t end;
};

// DLBRIDGE_LEVEL_DEVICE: what came of asking whether a tensor is where it says.
struct DeviceVerdict {
  DLBridgeStatus status;  // of the question, with the error filled where nobody can tell
  bool refused;           // by the rule of `refusal`
  Refusal refusal;
};
DeviceVerdict JudgeDevice(const TouchedMemory& memory, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_VALIDATE_DEVICE_FACTS_H_
