// SPDX-License-Identifier: Apache-2.0
// OpenCL's queues: one waits for another without the host, in one context or in two.
#include "device/opencl/events.h"
#include "device/opencl/internal.h"

namespace dlbridge::opencl {
namespace {

Queue QueueOf(const DLBridgeStream& stream) { return ToHandle<Queue>(stream.handle); }

// Flushes the producer first: otherwise the consumer might wait forever.
DLBridgeStatus Order(Event marker, Queue producer, Queue consumer, Context bridged,
                     DLBridgeError* error) {
  DLBRIDGE_TRY(Check(g_opencl.call.clFlush(producer), "clFlush", error));
  return bridged == nullptr ? WaitFor(consumer, marker, error)
                            : Bridge(marker, consumer, bridged, error);
}

}  // namespace

DLBridgeStatus QueueContext(Queue queue, Context* out, DLBridgeError* error) {
  return Check(
      g_opencl.call.clGetCommandQueueInfo(queue, kQueueContext, sizeof(Context), out, nullptr),
      "clGetCommandQueueInfo", error);
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t /*options*/, DLBridgeError* error) {
  Context from = nullptr;
  Context to = nullptr;
  DLBRIDGE_TRY(QueueContext(QueueOf(producer), &from, error));
  DLBRIDGE_TRY(QueueContext(QueueOf(consumer), &to, error));
  // A marker without a wait list waits for all earlier work, also on out-of-order queues.
  Event marker = nullptr;
  DLBRIDGE_TRY(
      Check(g_opencl.call.clEnqueueMarkerWithWaitList(QueueOf(producer), 0, nullptr, &marker),
            "clEnqueueMarkerWithWaitList", error));
  const DLBridgeStatus status =
      Order(marker, QueueOf(producer), QueueOf(consumer), from == to ? nullptr : to, error);
  g_opencl.call.clReleaseEvent(marker);
  return status;
}

DLBridgeStatus Barrier(const DLBridgeStream& stream, DLBridgeError* error) {
  uint64_t properties = 0;
  DLBRIDGE_TRY(Check(g_opencl.call.clGetCommandQueueInfo(QueueOf(stream), kQueueProperties,
                                                         sizeof properties, &properties, nullptr),
                     "clGetCommandQueueInfo", error));
  return (properties & kOutOfOrder) == 0 ? DLBRIDGE_OK : OrderWork(QueueOf(stream), error);
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  return Check(g_opencl.call.clFinish(QueueOf(stream)), "clFinish", error);
}

}  // namespace dlbridge::opencl
