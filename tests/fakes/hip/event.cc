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
  event->live = false;
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
  event->stream = stream;
  event->position = stream->enqueued();
  event->captured = stream->capture != hipStreamCaptureStatusNone;
  event->graph = stream->graph;
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
