// SPDX-License-Identifier: Apache-2.0
// Checks of streams before a driver uses them.
#ifndef DLBRIDGE_SRC_NATIVE_STREAM_H_
#define DLBRIDGE_SRC_NATIVE_STREAM_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// Requires a known kind and, for queues, a backend and a handle that the driver accepts. `argument`
// names the stream in the message.
DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error);

// Is the stream a queue of a driver, not HOST or NO_SYNC?
inline bool IsQueue(const DLBridgeStream& stream) {
  return stream.kind == DLBRIDGE_STREAM_QUEUE || stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST;
}

// Are both the same queue? A handle identifies it; special handles also need the device.
inline bool IsSameStream(const DLBridgeStream& a, const DLBridgeStream& b) {
  const bool special = a.handle <= 2;
  return a.backend == b.backend && a.kind == b.kind && a.handle == b.handle &&
         (!special || a.device.device_id == b.device.device_id);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_STREAM_H_
