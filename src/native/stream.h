// SPDX-License-Identifier: Apache-2.0
// Streams that were checked before any driver sees them.
#ifndef DLBRIDGE_SRC_NATIVE_STREAM_H_
#define DLBRIDGE_SRC_NATIVE_STREAM_H_

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// A kind that there is, and for queues a backend and a handle that its driver does not follow into
// nothing. `argument` is what it is called in the message.
DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error);

// A queue of a driver, and not HOST or NO_SYNC.
inline bool IsQueue(const DLBridgeStream& stream) {
  return stream.kind == DLBRIDGE_STREAM_QUEUE || stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_STREAM_H_
