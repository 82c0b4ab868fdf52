// SPDX-License-Identifier: Apache-2.0
// OpenCL's queues: one waits for another without the host, in one context or in two.
#include "describe/boundary.h"
#include "device/opencl_driver.h"

namespace dlbridge {
namespace {

ClQueue QueueOf(const DLBridgeStream& stream) { return ClHandle<ClQueue>(stream.handle); }

DLBridgeStatus Barrier(ClQueue queue, ClEvent event, DLBridgeError* error) {
  return CheckCl(g_opencl.call.clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr),
                 "clEnqueueBarrierWithWaitList", error);
}

// Runs on a thread of the driver's once the producer's work is done, or has failed, which the
// consumer's then does too. The reference to the user event came with it.
void DLBRIDGE_CL_CALL Signal(ClEvent /*marker*/, int32_t status, void* user) {
  auto* event = static_cast<ClEvent>(user);
  g_opencl.call.clSetUserEventStatus(event, status < 0 ? status : kClComplete);
  g_opencl.call.clReleaseEvent(event);
}

// Puts a barrier for the user event on the consumer's queue and has the marker set it. When that
// fails the barrier is let through: nobody else would ever set its event.
DLBridgeStatus Connect(ClEvent marker, ClQueue consumer, ClEvent user, DLBridgeError* error) {
  const DLBridgeStatus status = Barrier(consumer, user, error);
  if (status != DLBRIDGE_OK) {
    g_opencl.call.clReleaseEvent(user);
    return status;
  }
  const int32_t code = g_opencl.call.clSetEventCallback(marker, kClComplete, Signal, user);
  if (code != kClSuccess) {
    Signal(marker, kClComplete, user);
    return RefuseCl(error, "clSetEventCallback", code);
  }
  return DLBRIDGE_OK;
}

// A wait list takes events of its own context only, so a user event of the consumer's stands for
// the marker.
DLBridgeStatus Bridge(ClEvent marker, ClQueue consumer, ClContext context, DLBridgeError* error) {
  int32_t code = kClSuccess;
  ClEvent user = g_opencl.call.clCreateUserEvent(context, &code);
  DLBRIDGE_TRY(CheckCl(code, "clCreateUserEvent", error));
  return Connect(marker, consumer, user, error);
}

// The producer is flushed before the consumer is told to wait: it might wait for ever.
DLBridgeStatus Order(ClEvent marker, ClQueue producer, ClQueue consumer, ClContext bridged,
                     DLBridgeError* error) {
  DLBRIDGE_TRY(CheckCl(g_opencl.call.clFlush(producer), "clFlush", error));
  return bridged == nullptr ? Barrier(consumer, marker, error)
                            : Bridge(marker, consumer, bridged, error);
}

}  // namespace

DLBridgeStatus QueueContext(ClQueue queue, ClContext* out, DLBridgeError* error) {
  return CheckCl(
      g_opencl.call.clGetCommandQueueInfo(queue, kClQueueContext, sizeof(ClContext), out, nullptr),
      "clGetCommandQueueInfo", error);
}

DLBridgeStatus OpenClHandoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                             uint32_t /*options*/, DLBridgeError* error) {
  ClContext from = nullptr;
  ClContext to = nullptr;
  DLBRIDGE_TRY(QueueContext(QueueOf(producer), &from, error));
  DLBRIDGE_TRY(QueueContext(QueueOf(consumer), &to, error));
  // A marker without a wait list waits for all that came before, on out-of-order queues too.
  ClEvent marker = nullptr;
  DLBRIDGE_TRY(
      CheckCl(g_opencl.call.clEnqueueMarkerWithWaitList(QueueOf(producer), 0, nullptr, &marker),
              "clEnqueueMarkerWithWaitList", error));
  const DLBridgeStatus status =
      Order(marker, QueueOf(producer), QueueOf(consumer), from == to ? nullptr : to, error);
  g_opencl.call.clReleaseEvent(marker);
  return status;
}

DLBridgeStatus OpenClSynchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  return CheckCl(g_opencl.call.clFinish(QueueOf(stream)), "clFinish", error);
}

}  // namespace dlbridge
