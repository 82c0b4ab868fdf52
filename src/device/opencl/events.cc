// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/events.h"

#include "device/opencl/internal.h"

namespace dlbridge::opencl {

DLBridgeStatus Barrier(Queue queue, Event event, DLBridgeError* error) {
  return Check(g_opencl.call.clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr),
               "clEnqueueBarrierWithWaitList", error);
}

namespace {

// Runs on a thread of the driver when the producer's work is done or has failed. A failure is
// passed on to the consumer. The callback owns a reference to the user event.
void DLBRIDGE_CL_CALL Signal(Event /*marker*/, int32_t status, void* user) {
  auto* event = static_cast<Event>(user);
  g_opencl.call.clSetUserEventStatus(event, status < 0 ? status : kComplete);
  g_opencl.call.clReleaseEvent(event);
}

// Enqueues a barrier for the user event on the consumer's queue, and has the marker set the event.
// If that fails, sets the event at once: nothing else would.
DLBridgeStatus Connect(Event marker, Queue consumer, Event user, DLBridgeError* error) {
  const DLBridgeStatus status = Barrier(consumer, user, error);
  if (status != DLBRIDGE_OK) {
    g_opencl.call.clReleaseEvent(user);
    return status;
  }
  const int32_t code = g_opencl.call.clSetEventCallback(marker, kComplete, Signal, user);
  if (code != kSuccess) {
    Signal(marker, kComplete, user);
    return RejectCall(error, "clSetEventCallback", code);
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus Bridge(Event marker, Queue consumer, Context context, DLBridgeError* error) {
  int32_t code = kSuccess;
  Event user = g_opencl.call.clCreateUserEvent(context, &code);
  DLBRIDGE_TRY(Check(code, "clCreateUserEvent", error));
  return Connect(marker, consumer, user, error);
}

}  // namespace dlbridge::opencl
