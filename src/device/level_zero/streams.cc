// SPDX-License-Identifier: Apache-2.0
// Orders Level Zero's queues: the producer's barrier signals an event, the consumer's barrier waits
// for it. Lists may run out of order, so barriers are required on both sides.
#include "device/level_zero/events.h"

namespace dlbridge::level_zero {
namespace {

const char* const kSides[2] = {"producer", "consumer"};

Result AppendBarrier(List list, EventPair* pair, uint32_t side) {
  // The consumer's barrier waits for the producer's event, the producer's for all earlier work.
  return g_ze.zeCommandListAppendBarrier(list, pair->events[side], side,
                                         side != 0 ? pair->events : nullptr);
}

DLBridgeStatus FillList(List list, EventPair* pair, uint32_t side, DLBridgeError* error) {
  const Result result = AppendBarrier(list, pair, side);
  if (result != kSuccess) {
    return RejectCall(error, "zeCommandListAppendBarrier", result);
  }
  DLBRIDGE_ZE_TRY(zeCommandListClose, list);
  return DLBRIDGE_OK;
}

DLBridgeStatus MakeList(uint64_t context, EventPair* pair, uint32_t side, BarrierList* made,
                        DLBridgeError* error) {
  const ListDescT desc = {kListDesc, nullptr, made->ordinal, 0};
  DLBRIDGE_ZE_TRY(zeCommandListCreate, ToHandle<Context>(context), made->device, &desc,
                  &made->list);
  const DLBridgeStatus status = FillList(made->list, pair, side, error);
  if (status != DLBRIDGE_OK) {
    g_ze.zeCommandListDestroy(made->list);
  }
  return status;
}

// Prepares the list that a queue executes: the pair's, unless it is for a different device or
// group.
DLBridgeStatus PrepareQueue(const DLBridgeStream& stream, const char* argument, EventPair* pair,
                            uint32_t side, DLBridgeError* error) {
  BarrierList wanted = {nullptr, nullptr, 0};
  DLBRIDGE_TRY(NativeDevice(stream.device, stream.context, argument, &wanted.device, error));
  DLBRIDGE_TRY(OrdinalOf(ToHandle<Queue>(stream.handle), &wanted.ordinal, error));
  BarrierList* list = &pair->lists[side];
  if (list->list != nullptr && list->device == wanted.device && list->ordinal == wanted.ordinal) {
    return DLBRIDGE_OK;
  }
  if (list->list != nullptr) {
    DLBRIDGE_ZE_TRY(zeCommandListDestroy, list->list);
    list->list = nullptr;
  }
  DLBRIDGE_TRY(MakeList(stream.context, pair, side, &wanted, error));
  *list = wanted;
  return DLBRIDGE_OK;
}

DLBridgeStatus Prepare(const DLBridgeStream& stream, const char* argument, EventPair* pair,
                       uint32_t side, DLBridgeError* error) {
  return stream.kind == DLBRIDGE_STREAM_QUEUE ? PrepareQueue(stream, argument, pair, side, error)
                                              : DLBRIDGE_OK;
}

DLBridgeStatus Submit(const DLBridgeStream& stream, EventPair* pair, uint32_t side,
                      DLBridgeError* error) {
  if (stream.kind == DLBRIDGE_STREAM_QUEUE) {
    DLBRIDGE_ZE_TRY(zeCommandQueueExecuteCommandLists, ToHandle<Queue>(stream.handle), 1,
                    &pair->lists[side].list, nullptr);
    return DLBRIDGE_OK;
  }
  const Result result = AppendBarrier(ToHandle<List>(stream.handle), pair, side);
  return result == kSuccess ? DLBRIDGE_OK : RejectCall(error, "zeCommandListAppendBarrier", result);
}

// `*submitted` counts the events that will be signalled.
DLBridgeStatus Order(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                     EventPair* pair, uint32_t* submitted, DLBridgeError* error) {
  DLBRIDGE_TRY(Prepare(producer, kSides[0], pair, 0, error));
  DLBRIDGE_TRY(Prepare(consumer, kSides[1], pair, 1, error));
  DLBRIDGE_TRY(Submit(producer, pair, 0, error));
  *submitted = 1;
  DLBRIDGE_TRY(Submit(consumer, pair, 1, error));
  *submitted = 2;
  return DLBRIDGE_OK;
}

DLBridgeStatus WaitByEvent(const DLBridgeStream& stream, EventPair* pair, uint32_t* submitted,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(Submit(stream, pair, 0, error));
  *submitted = 1;
  DLBRIDGE_ZE_TRY(zeEventHostSynchronize, pair->events[0], UINT64_MAX);
  return DLBRIDGE_OK;
}

// For loaders and drivers that cannot wait for an immediate list.
DLBridgeStatus SynchronizeByEvent(const DLBridgeStream& stream, DLBridgeError* error) {
  DLBRIDGE_TRY(RequireContext(stream, "stream", error));
  EventPair* pair = nullptr;
  DLBRIDGE_TRY(
      TakePair(stream.context, OwnerOf(stream.device, stream.context).entry, &pair, error));
  uint32_t submitted = 0;
  const DLBridgeStatus status = WaitByEvent(stream, pair, &submitted, error);
  if (status != DLBRIDGE_OK) {
    ReturnPair(pair, submitted);
    return status;
  }
  return ReturnSignalled(pair, error);
}

DLBridgeStatus SynchronizeList(const DLBridgeStream& stream, DLBridgeError* error) {
  const Result result =
      g_ze.zeCommandListHostSynchronize != nullptr
          ? g_ze.zeCommandListHostSynchronize(ToHandle<List>(stream.handle), UINT64_MAX)
          : kUnsupportedFeature;
  if (result == kSuccess) {
    return DLBRIDGE_OK;
  }
  return IsLacking(result) ? SynchronizeByEvent(stream, error)
                           : RejectCall(error, "zeCommandListHostSynchronize", result);
}

}  // namespace

DLBridgeStatus RequireContext(const DLBridgeStream& stream, const char* argument,
                              DLBridgeError* error) {
  return stream.context != 0 ? DLBRIDGE_OK
                             : RejectArgument(error, argument,
                                              "has no context: expected the ze_context_handle_t of "
                                              "its queue, which the driver does not report");
}

DLBridgeStatus OrdinalOf(Queue queue, uint32_t* ordinal, DLBridgeError* error) {
  *ordinal = 0;
  if (g_ze.zeCommandQueueGetOrdinal == nullptr) {
    return DLBRIDGE_OK;
  }
  const Result result = g_ze.zeCommandQueueGetOrdinal(queue, ordinal);
  return result == kSuccess || IsLacking(result)
             ? DLBRIDGE_OK
             : RejectCall(error, "zeCommandQueueGetOrdinal", result);
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error) {
  DLBRIDGE_TRY(RequireContext(producer, kSides[0], error));
  DLBRIDGE_TRY(RequireContext(consumer, kSides[1], error));
  if (producer.context != consumer.context) {
    return (options & DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT) != 0
               ? Synchronize(producer, error)
               : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "producer and consumer",
                              "are queues of two contexts, which share no events: set "
                              "DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT to let the host wait");
  }
  EventPair* pair = nullptr;
  DLBRIDGE_TRY(
      TakePair(producer.context, OwnerOf(producer.device, producer.context).entry, &pair, error));
  uint32_t submitted = 0;
  const DLBridgeStatus status = Order(producer, consumer, pair, &submitted, error);
  ReturnPair(pair, submitted);
  return status;
}

DLBridgeStatus SignalEnd(const DLBridgeStream& stream, const char* argument, EventPair* pair,
                         DLBridgeError* error) {
  DLBRIDGE_TRY(Prepare(stream, argument, pair, 0, error));
  return Submit(stream, pair, 0, error);
}

// A queue executes a closed list, and executes it again only after the pair's event was signalled.
DLBridgeStatus Barrier(const DLBridgeStream& stream, DLBridgeError* error) {
  if (stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST) {
    DLBRIDGE_ZE_TRY(zeCommandListAppendBarrier, ToHandle<List>(stream.handle), nullptr, 0, nullptr);
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(RequireContext(stream, kSides[0], error));
  EventPair* pair = nullptr;
  DLBRIDGE_TRY(
      TakePair(stream.context, OwnerOf(stream.device, stream.context).entry, &pair, error));
  const DLBridgeStatus status = SignalEnd(stream, kSides[0], pair, error);
  ReturnPair(pair, status == DLBRIDGE_OK ? 1 : 0);
  return status;
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  if (stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST) {
    return SynchronizeList(stream, error);
  }
  DLBRIDGE_ZE_TRY(zeCommandQueueSynchronize, ToHandle<Queue>(stream.handle), UINT64_MAX);
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::level_zero
