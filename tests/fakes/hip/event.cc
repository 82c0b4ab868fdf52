// SPDX-License-Identifier: Apache-2.0
// Events of the fake. Each belongs to one device; an event recorded in a graph cannot be recorded
// again.
#include "state.h"

namespace fake_hip {

std::string NameOf(hipEvent_t event) {
  for (const auto& known : TheState().events) {
    if (reinterpret_cast<hipEvent_t>(known.get()) == event) {
      return known->name;
    }
  }
  return "?";
}

Event* FindEvent(hipEvent_t handle, const char* function) {
  for (const auto& event : TheState().events) {
    if (reinterpret_cast<hipEvent_t>(event.get()) == handle) {
      if (event->live) {
        return event.get();
      }
      Violation(std::string(function) + ": an event that was destroyed");
      return nullptr;
    }
  }
  Violation(std::string(function) + ": no event");
  return nullptr;
}

namespace {

// A wait for an event of a graph: adds an edge, or makes the waiting stream join the graph.
int WaitInGraph(const Event& event, Stream* stream) {
  if (stream->capture == hipStreamCaptureStatusNone) {
    stream->capture = hipStreamCaptureStatusActive;
    stream->graph = event.graph;
  }
  if (stream->graph != event.graph) {
    Violation("hipStreamWaitEvent: an event of another graph");
    return hipErrorStreamCaptureMerge;
  }
  return hipSuccess;
}

int Wait(const Event& event, Stream* stream) {
  if (event.captured) {
    return WaitInGraph(event, stream);
  }
  if (stream->capture != hipStreamCaptureStatusNone) {
    Violation("hipStreamWaitEvent: a graph that waits for what is outside");
    return hipErrorStreamCaptureIsolation;
  }
  stream->pending.push_back({nullptr, event.stream, event.position});
  return hipSuccess;
}

// The check of a query or a wait, which reads the stream that the event was recorded on.
int CheckEvent(const Event& event, bool waits, const char* function) {
  if (event.stream == nullptr) {
    Violation(std::string(function) + ": an event that was never recorded");
    return hipErrorInvalidHandle;
  }
  if (!event.stream->live) {
    Violation(std::string(function) + ": an event of a stream that was destroyed");
    return hipErrorContextIsDestroyed;
  }
  if (event.captured || event.stream->capture == hipStreamCaptureStatusActive) {
    event.stream->capture = hipStreamCaptureStatusInvalidated;
    Violation(std::string(function) + ": an event of a stream that is capturing");
    return hipErrorCapturedEvent;
  }
  return waits ? CheckWait(event.stream, function) : CheckUnsafe(function);
}

}  // namespace
}  // namespace fake_hip

using fake_hip::Event;
using fake_hip::FindEvent;
using fake_hip::FindStream;
using fake_hip::NameOf;
using fake_hip::Stream;

extern "C" {

FAKE_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  FAKE_CALL(hipEventCreateWithFlags, std::to_string(flags))
  if (flags != hipEventDisableTiming) {
    return call.Reject(hipErrorInvalidValue, "an event that keeps time");
  }
  FAKE_UNSAFE(hipEventCreateWithFlags)
  auto& events = fake_hip::TheState().events;
  events.push_back(std::make_unique<Event>());
  events.back()->name = "e" + std::to_string(events.size());
  events.back()->device = fake_hip::TheThread().device;
  *event = reinterpret_cast<hipEvent_t>(events.back().get());
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipEventDestroy(hipEvent_t handle) {
  FAKE_CALL(hipEventDestroy, NameOf(handle))
  Event* event = FindEvent(handle, "hipEventDestroy");
  if (event == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  FAKE_UNSAFE(hipEventDestroy)
  event->live = false;
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipEventQuery(hipEvent_t handle) {
  FAKE_CALL(hipEventQuery, NameOf(handle))
  const Event* event = FindEvent(handle, "hipEventQuery");
  if (event == nullptr) {
    return call.Return(hipErrorInvalidHandle);
  }
  if (const int code = fake_hip::CheckEvent(*event, false, "hipEventQuery")) {
    return call.Return(code);
  }
  const bool over = event->stream->done >= event->position;
  if (fake_hip::TheState().run_after_queries) {
    fake_hip::RunUntil(event->stream, event->position);
  }
  return call.Return(over ? hipSuccess : hipErrorNotReady);
}

FAKE_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle) {
  FAKE_CALL(hipEventSynchronize, NameOf(handle))
  const Event* event = FindEvent(handle, "hipEventSynchronize");
  if (event == nullptr) {
    return call.Return(hipErrorInvalidHandle);
  }
  if (const int code = fake_hip::CheckEvent(*event, true, "hipEventSynchronize")) {
    return call.Return(code);
  }
  fake_hip::RunUntil(event->stream, event->position);
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipEventRecord(hipEvent_t handle, hipStream_t stream_handle) {
  FAKE_CALL(hipEventRecord, NameOf(handle), NameOf(stream_handle))
  Event* event = FindEvent(handle, "hipEventRecord");
  Stream* stream = FindStream(stream_handle, "hipEventRecord");
  if (event == nullptr || stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  if (event->device != stream->device) {
    return call.Reject(hipErrorInvalidHandle, "event and stream are of two devices");
  }
  if (event->captured) {
    return call.Reject(hipErrorInvalidHandle, "an event that a graph has seen");
  }
  event->captured = stream->capture != hipStreamCaptureStatusNone;
  event->graph = stream->graph;
  if (!event->captured) {
    fake_hip::Enqueue(stream, [] {});  // the runtime enqueues a marker, even on an idle stream
  }
  event->stream = stream;
  event->position = stream->enqueued();
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream_handle, hipEvent_t handle,
                                          unsigned int flags) {
  FAKE_CALL(hipStreamWaitEvent, NameOf(stream_handle), NameOf(handle), std::to_string(flags))
  const Event* event = FindEvent(handle, "hipStreamWaitEvent");
  Stream* stream = FindStream(stream_handle, "hipStreamWaitEvent");
  if (event == nullptr || stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  if (flags != 0) {
    return call.Reject(hipErrorInvalidValue, "flags");
  }
  if (event->stream == nullptr) {
    return call.Reject(hipSuccess, "an event that was never recorded: nothing waits");
  }
  return call.Return(fake_hip::Wait(*event, stream));
}

}  // extern "C"
