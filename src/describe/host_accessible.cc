// SPDX-License-Identifier: Apache-2.0
#include "describe/device.h"

extern "C" {

int32_t dlbridge_host_accessible(int32_t device_type, DLBridgeAnswer* answer) {
  const DLBridgeAnswer readable = dlbridge::DeviceTypeOf(device_type).readable;
  if (answer != nullptr) {
    *answer = readable;
  }
  return readable == DLBRIDGE_YES ? 1 : 0;
}

}  // extern "C"
