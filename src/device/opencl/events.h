// SPDX-License-Identifier: Apache-2.0
// Events of OpenCL as barriers: a queue waits for one.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_

#include "device/opencl/driver.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::opencl {

// Later work of the queue waits for an event of its context.
DLBridgeStatus Barrier(Queue queue, Event event, DLBridgeError* error);

// The same for an event of another context. A wait list accepts only events of its own context, so
// a user event of `context`, which is the consumer's, stands for the marker.
DLBridgeStatus Bridge(Event marker, Queue consumer, Context context, DLBridgeError* error);

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_
