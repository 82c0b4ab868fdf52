// SPDX-License-Identifier: Apache-2.0
// OpenCL's queues: one waits for another without the host, in one context or in two.
#include "describe/device.h"
#include "device/opencl/events.h"
#include "device/opencl/internal.h"

namespace dlbridge::opencl {
namespace {

Queue QueueOf(const DLBridgeStream& stream) { return ToHandle<Queue>(stream.handle); }

template <class T>
DLBridgeStatus AskQueue(Queue queue, uint32_t what, T* out, DLBridgeError* error) {
  const size_t size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): handles are answers
  return Check(g_opencl.call.clGetCommandQueueInfo(queue, what, size, out, nullptr),
               "clGetCommandQueueInfo", error);
}

DLBRIDGE_COLD DLBridgeStatus RejectLabel(const char* argument, Device device, DLDevice label,
                                         DLBridgeError* error) {
  char problem[80];
  TextWriter(problem, sizeof problem)
      .String("must name the device of its queue, opencl:")
      .Signed(IdOfDevice(kDLOpenCL, device, label));
  return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument, problem, label);
}

// The label may have the id of another device, as for buffers: libraries number devices
// differently. It must not have an id without a device, or one that an application registered for
// another device.
DLBridgeStatus CheckDevice(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  const NamedDevice named(stream.device);
  if (TypeOf(stream.device) != kDLOpenCL || (named.device() != nullptr && !named.registered())) {
    return DLBRIDGE_OK;
  }
  Device device = nullptr;
  DLBRIDGE_TRY(AskQueue(QueueOf(stream), kQueueDevice, &device, error));
  return IsSameDevice(named.device(), device) ? DLBRIDGE_OK
                                              : RejectLabel(argument, device, stream.device, error);
}

DLBridgeStatus CheckContext(const DLBridgeStream& stream, const char* argument, Context context,
                            DLBridgeError* error) {
  if (stream.context == 0 || stream.context == ToInteger(context)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("must have the context of its queue, ")
      .Hex(ToInteger(context))
      .String(", or 0, found ")
      .Hex(stream.context);
  return RejectArgument(error, argument, problem);
}

// Without a context in the stream, the queue need not be asked for its own.
DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  Context context = nullptr;
  return stream.context != 0 ? QueueContext(stream, argument, &context, error)
                             : CheckDevice(stream, argument, error);
}

// Flushes the producer first: otherwise the consumer might wait forever.
DLBridgeStatus Order(Event marker, Queue producer, Queue consumer, Context bridged,
                     DLBridgeError* error) {
  DLBRIDGE_TRY(Check(g_opencl.call.clFlush(producer), "clFlush", error));
  return bridged == nullptr ? WaitFor(consumer, marker, error)
                            : Bridge(marker, consumer, bridged, error);
}

}  // namespace

DLBridgeStatus QueueContext(const DLBridgeStream& stream, const char* argument, Context* out,
                            DLBridgeError* error) {
  DLBRIDGE_TRY(CheckDevice(stream, argument, error));
  DLBRIDGE_TRY(AskQueue(QueueOf(stream), kQueueContext, out, error));
  return CheckContext(stream, argument, *out, error);
}

DLBridgeStatus IsInOrder(Queue queue, bool* out, DLBridgeError* error) {
  uint64_t properties = 0;
  DLBRIDGE_TRY(AskQueue(queue, kQueueProperties, &properties, error));
  *out = (properties & kOutOfOrder) == 0;
  return DLBRIDGE_OK;
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t /*options*/, DLBridgeError* error) {
  Context from = nullptr;
  Context to = nullptr;
  DLBRIDGE_TRY(QueueContext(producer, "producer", &from, error));
  DLBRIDGE_TRY(QueueContext(consumer, "consumer", &to, error));
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
  bool in_order = false;
  DLBRIDGE_TRY(CheckStream(stream, "stream", error));
  DLBRIDGE_TRY(IsInOrder(QueueOf(stream), &in_order, error));
  return in_order ? DLBRIDGE_OK : OrderWork(QueueOf(stream), error);
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStream(stream, "stream", error));
  return Check(g_opencl.call.clFinish(QueueOf(stream)), "clFinish", error);
}

DLBridgeStatus Mark(const DLBridgeStream& stream, const char* argument, StreamMark* out,
                    DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStream(stream, argument, error));
  return MarkWork(QueueOf(stream), out, error);
}

}  // namespace dlbridge::opencl
