// SPDX-License-Identifier: Apache-2.0
// Events of OpenCL: a queue waits for one, or marks its work with one.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_

#include "device/opencl/driver.h"
#include "native/backend.h"

namespace dlbridge::opencl {

// Later work of the queue waits for an event of its context.
DLBridgeStatus WaitFor(Queue queue, Event event, DLBridgeError* error);

// Later work of the queue waits for all its earlier work, also on an out-of-order queue.
DLBridgeStatus OrderWork(Queue queue, DLBridgeError* error);

// As OrderWork, and marks the earlier work. Submits all work to the device.
DLBridgeStatus OrderAndMark(Queue queue, StreamMark* out, DLBridgeError* error);

// Marks the earlier work, and submits it to the device. Orders nothing.
DLBridgeStatus MarkWork(Queue queue, StreamMark* out, DLBridgeError* error);

// Makes a mark of the event of a command, and submits the command to the device. A failure releases
// the event.
DLBridgeStatus MarkEvent(Queue queue, Event event, StreamMark* out, DLBridgeError* error);

// As WaitFor, for an event of another context. A wait list accepts only events of its own context,
// so a user event of `context`, which is the consumer's, stands for the marker.
DLBridgeStatus Bridge(Event marker, Queue consumer, Context context, DLBridgeError* error);

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_EVENTS_H_
