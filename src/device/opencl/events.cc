// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/events.h"

#include "device/opencl/internal.h"

namespace dlbridge::opencl {

DLBridgeStatus WaitFor(Queue queue, Event event, DLBridgeError* error) {
  return Check(g_opencl.call.clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr),
               "clEnqueueBarrierWithWaitList", error);
}

DLBridgeStatus OrderWork(Queue queue, DLBridgeError* error) {
  return Check(g_opencl.call.clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr),
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
  const DLBridgeStatus status = WaitFor(consumer, user, error);
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

// --------------------------------------------------------------------------------------- marks

namespace {

Event EventOf(const StreamMark& mark) { return ToHandle<Event>(mark.state[0]); }

}  // namespace

// The driver need not start commands that were not flushed.
DLBridgeStatus MarkEvent(Queue queue, Event event, StreamMark* out, DLBridgeError* error) {
  const int32_t code = g_opencl.call.clFlush(queue);
  if (code != kSuccess) {
    g_opencl.call.clReleaseEvent(event);
    return RejectCall(error, "clFlush", code);
  }
  *out = {DLBRIDGE_BACKEND_OPENCL, {ToInteger(event), 0, 0, 0}};
  return DLBRIDGE_OK;
}

DLBridgeStatus OrderAndMark(Queue queue, StreamMark* out, DLBridgeError* error) {
  Event event = nullptr;
  DLBRIDGE_TRY(Check(g_opencl.call.clEnqueueBarrierWithWaitList(queue, 0, nullptr, &event),
                     "clEnqueueBarrierWithWaitList", error));
  return MarkEvent(queue, event, out, error);
}

DLBridgeStatus MarkWork(Queue queue, StreamMark* out, DLBridgeError* error) {
  Event event = nullptr;
  DLBRIDGE_TRY(Check(g_opencl.call.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event),
                     "clEnqueueMarkerWithWaitList", error));
  return MarkEvent(queue, event, out, error);
}

// A negative status means that the work has failed.
DLBridgeStatus MarkQuery(const StreamMark& mark, bool* over, DLBridgeError* error) {
  int32_t status = kComplete;
  DLBRIDGE_TRY(Check(
      g_opencl.call.clGetEventInfo(EventOf(mark), kEventStatus, sizeof status, &status, nullptr),
      "clGetEventInfo", error));
  *over = status <= kComplete;
  return DLBRIDGE_OK;
}

DLBridgeStatus MarkWait(const StreamMark& mark, DLBridgeError* error) {
  Event event = EventOf(mark);
  const int32_t code = g_opencl.call.clWaitForEvents(1, &event);
  // The wait also ends when the work has failed.
  return code == kWaitListFailed ? DLBRIDGE_OK : Check(code, "clWaitForEvents", error);
}

void MarkFree(const StreamMark& mark) {
  if (IsStarted(kOpenClBackend)) {
    g_opencl.call.clReleaseEvent(EventOf(mark));
  }
}

}  // namespace dlbridge::opencl
