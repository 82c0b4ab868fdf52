// SPDX-License-Identifier: Apache-2.0
// Streams of CUDA: hand-offs, waiting, and captures in progress. docs/streams.md lists the calls.
#include "device/cuda/events.h"
#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

// The capture state of a stream. The id identifies the capture; it is 0 if it was not requested or
// the driver cannot report it.
struct Capture {
  uint32_t state;
  uint64_t id;
};

// While another stream of its context is capturing, a legacy stream returns an error: it cannot be
// used until the capture ends.
DLBridgeStatus AskCapture(Stream stream, uint32_t* out, DLBridgeError* error) {
  *out = kCaptureNone;
  return Check(g_cuda.driver.stream_is_capturing(stream, out), "cuStreamIsCapturing", error);
}

DLBridgeStatus AskCaptureId(Stream stream, uint64_t* out, DLBridgeError* error) {
  uint32_t state = kCaptureNone;
  if (g_cuda.driver.stream_get_capture_info == nullptr) {
    return DLBRIDGE_OK;
  }
  return Check(
      g_cuda.driver.stream_get_capture_info(stream, &state, out, nullptr, nullptr, nullptr),
      "cuStreamGetCaptureInfo", error);
}

DLBRIDGE_COLD DLBridgeStatus RejectCapture(DLBridgeError* error, const char* argument,
                                           const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_CAPTURE, argument, problem);
}

DLBRIDGE_COLD DLBridgeStatus JudgeCaptures(const Capture& producer, const Capture& consumer,
                                           uint32_t options, DLBridgeError* error) {
  if (producer.state > kCaptureActive || consumer.state > kCaptureActive) {
    return RejectCapture(error, producer.state > kCaptureActive ? "producer" : "consumer",
                         "has a capture that failed: end it first (cuStreamEndCapture)");
  }
  if (producer.state == kCaptureNone) {
    return RejectCapture(error, "consumer",
                         "is capturing a graph, which cannot wait for work outside of it: hand "
                         "over before the capture begins, or capture the producer as well");
  }
  if (consumer.state == kCaptureNone) {
    return (options & DLBRIDGE_HANDOFF_ALLOW_CAPTURE) != 0
               ? DLBRIDGE_OK
               : RejectCapture(error, "producer",
                               "is capturing a graph, and a wait would add the consumer to it: "
                               "hand over after the capture, or set DLBRIDGE_HANDOFF_ALLOW_CAPTURE "
                               "and join both streams again");
  }
  return producer.id == consumer.id && producer.id != 0
             ? DLBRIDGE_OK
             : RejectCapture(error, "producer and consumer",
                             "are not known to capture the same graph, and streams of two captures "
                             "cannot be ordered: end one of the captures first");
}

// A hand-off in progress. The contexts of producer and consumer are often the same.
struct Transfer {
  const DLBridgeStream& from;
  Stream producer;
  Stream consumer;
  uint32_t options;
  Context producer_context;
  Capture consumer_capture;
  EventLoan loan;
};

DLBridgeStatus AskConsumer(Transfer* transfer, DLBridgeError* error) {
  Capture* capture = &transfer->consumer_capture;
  DLBRIDGE_TRY(AskCapture(transfer->consumer, &capture->state, error));
  return DLBRIDGE_LIKELY(capture->state != kCaptureActive)
             ? DLBRIDGE_OK
             : AskCaptureId(transfer->consumer, &capture->id, error);
}

DLBridgeStatus CheckCaptures(const Transfer& transfer, DLBridgeError* error) {
  Capture producer = {kCaptureNone, 0};
  DLBRIDGE_TRY(AskCapture(transfer.producer, &producer.state, error));
  const Capture& consumer = transfer.consumer_capture;
  if (DLBRIDGE_LIKELY(producer.state == kCaptureNone && consumer.state == kCaptureNone)) {
    return DLBRIDGE_OK;
  }
  if (producer.state == kCaptureActive && consumer.state == kCaptureActive) {
    DLBRIDGE_TRY(AskCaptureId(transfer.producer, &producer.id, error));
  }
  return JudgeCaptures(producer, consumer, transfer.options, error);
}

// The producer's context is current.
DLBridgeStatus Record(Transfer* transfer, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckDevice(transfer->from, "producer", error));
  DLBRIDGE_TRY(CheckCaptures(*transfer, error));
  DLBRIDGE_TRY(TakeEvent(transfer->producer_context, &transfer->loan, error));
  return Check(g_cuda.driver.event_record(transfer->loan.event, transfer->producer),
               "cuEventRecord", error);
}

DLBridgeStatus Wait(const Transfer& transfer, DLBridgeError* error) {
  return Check(g_cuda.driver.stream_wait_event(transfer.consumer, transfer.loan.event, 0),
               "cuStreamWaitEvent", error);
}

// `context` is current: the consumer's if the consumer is a special stream, else the producer's.
DLBRIDGE_INLINE DLBridgeStatus Move(Transfer* transfer, Context context, DLBridgeError* error) {
  DLBRIDGE_TRY(AskConsumer(transfer, error));
  if (DLBRIDGE_LIKELY(context == transfer->producer_context)) {
    DLBRIDGE_TRY(Record(transfer, error));
  } else {
    DLBRIDGE_TRY(
        InContext(transfer->producer_context, error, [&] { return Record(transfer, error); }));
  }
  return Wait(*transfer, error);
}

}  // namespace

// A special stream belongs to the current context; any other stream knows its own.
DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error) {
  Transfer transfer = {producer, HandleOf(producer), HandleOf(consumer), options,
                       nullptr,  {kCaptureNone, 0},  {nullptr, nullptr}};
  DLBRIDGE_TRY(CheckLabel(consumer, "consumer", error));
  DLBRIDGE_TRY(ContextOfStream(producer, "producer", &transfer.producer_context, error));
  Context context = transfer.producer_context;
  if (IsSpecial(consumer)) {
    DLBRIDGE_TRY(ContextOfStream(consumer, "consumer", &context, error));
  }
  const DLBridgeStatus status =
      InContext(context, error, [&] { return Move(&transfer, context, error); });
  if (DLBRIDGE_UNLIKELY(transfer.loan.event == nullptr)) {
    return status;
  }
  const DLBridgeStatus given = GiveEvent(transfer.loan, status == DLBRIDGE_OK ? error : nullptr);
  return status != DLBRIDGE_OK ? status : given;
}

DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  uint32_t state = kCaptureNone;
  DLBRIDGE_TRY(CheckDevice(stream, argument, error));
  DLBRIDGE_TRY(AskCapture(HandleOf(stream), &state, error));
  return state == kCaptureNone
             ? DLBRIDGE_OK
             : RejectCapture(error, argument,
                             "is capturing a graph, and no wait for it is allowed until the "
                             "capture ends: end the capture first");
}

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(ContextOfStream(stream, "stream", &context, error));
  return InContext(context, error, [&] {
    DLBRIDGE_TRY(CheckStream(stream, "stream", error));
    return WhileCapturing(error, [&] {
      return Check(g_cuda.driver.stream_synchronize(HandleOf(stream)), "cuStreamSynchronize",
                   error);
    });
  });
}

}  // namespace dlbridge::cuda
