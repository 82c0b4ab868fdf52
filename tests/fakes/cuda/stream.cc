// SPDX-License-Identifier: Apache-2.0
// Streams, events and captures of the fake. Work stays in its stream until a wait requires it, so
// that a missing wait shows as work that was not done.
#include <algorithm>
#include <utility>

#include "state.h"

namespace fake_cuda {
namespace {

bool IsActive(const Stream& stream) { return stream.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE; }

template <class Visit>
void ForAllStreams(const Visit& visit) {
  for (Stream& stream : TheState().streams) {
    visit(&stream);
  }
  for (Context& context : TheState().contexts) {
    for (auto& stream : context.per_thread) {
      visit(&stream.second);
    }
  }
}

void Run(Stream* stream, const Marker* until) {
  while (!stream->work.empty() && (until == nullptr || !until->done)) {
    const Work work = std::move(stream->work.front());
    stream->work.pop_front();
    if (work.wait != nullptr && !work.wait->done) {
      Run(work.wait->stream, work.wait.get());
    }
    if (work.run) {
      work.run();
    }
    if (work.reached != nullptr) {
      work.reached->done = true;
    }
  }
}

std::shared_ptr<Marker> Mark(Stream* stream) {
  auto marker = std::make_shared<Marker>();
  marker->stream = stream;
  stream->work.push_back({nullptr, marker, nullptr});
  return marker;
}

// Orders the legacy stream and the blocking streams of its context with each other.
void TakeTurns(Stream* stream) {
  if (stream->legacy) {
    for (Stream& other : TheState().streams) {
      if (other.context == stream->context && other.blocking) {
        stream->work.push_back({Mark(&other), nullptr, nullptr});
      }
    }
  } else if (stream->blocking && !stream->context->legacy.work.empty()) {
    stream->work.push_back({Mark(&stream->context->legacy), nullptr, nullptr});
  }
}

bool HasBlockingCapture(const Context* context) {
  bool found = false;
  ForAllStreams([&](const Stream* stream) {
    found = found || (stream->context == context && stream->blocking && IsActive(*stream));
  });
  return found;
}

void Invalidate(uint64_t capture) {
  ForAllStreams([&](Stream* stream) {
    if (IsActive(*stream) && stream->capture_id == capture) {
      stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    }
  });
}

// Does the capture that began in this stream forbid unsafe calls of the calling thread?
bool Forbids(const Stream& stream) {
  const CUstreamCaptureMode mode = ThisThread().mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
    return false;
  }
  if (stream.capture_thread == std::this_thread::get_id()) {
    return stream.capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         stream.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// Work on the legacy stream has an implicit dependency on the blocking streams.
void InvalidateBlocking(const Context* context) {
  std::vector<uint64_t> captures;
  ForAllStreams([&](const Stream* stream) {
    if (stream->context == context && stream->blocking && IsActive(*stream)) {
      captures.push_back(stream->capture_id);
    }
  });
  for (const uint64_t capture : captures) {
    Invalidate(capture);
  }
}

// Checks that a stream accepts work: a capture may forbid it.
CUresult CheckEnqueue(Stream* stream, const char* function) {
  if (stream->legacy && HasBlockingCapture(stream->context)) {
    InvalidateBlocking(stream->context);
    return Violation(
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        std::string(function) + " on the legacy stream while a blocking one is capturing");
  }
  FAKE_REQUIRE(stream->capture != CU_STREAM_CAPTURE_STATUS_INVALIDATED,
               CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
               std::string(function) + " on a stream whose capture has failed");
  return CUDA_SUCCESS;
}

CUresult WaitInCapture(Stream* stream, Event* event) {
  if (event->capture_id == 0) {
    Invalidate(stream->capture_id);
    return Violation(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                     "cuStreamWaitEvent makes a capture wait for work outside of it");
  }
  if (event->capture_id != stream->capture_id) {
    Invalidate(stream->capture_id);
    return Violation(CUDA_ERROR_STREAM_CAPTURE_MERGE, "cuStreamWaitEvent joins two captures");
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CheckUnsafe(const char* function) {
  std::vector<uint64_t> captures;
  ForAllStreams([&](const Stream* stream) {
    if (IsActive(*stream) && stream->origin && Forbids(*stream)) {
      captures.push_back(stream->capture_id);
    }
  });
  for (const uint64_t capture : captures) {
    Invalidate(capture);
  }
  FAKE_REQUIRE(captures.empty(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
               std::string(function) + " while a capture forbids it");
  return CUDA_SUCCESS;
}

void Enqueue(Stream* stream, std::function<void()> run) {
  if (IsActive(*stream)) {
    return;  // recorded in the graph, which is never launched
  }
  TakeTurns(stream);
  stream->work.push_back({nullptr, nullptr, std::move(run)});
}

void Finish(Stream* stream) { Run(stream, nullptr); }

Stream* FindStream(CUstream handle, const char* function) {
  const std::string name = function;
  if (handle == nullptr) {
    Violation(CUDA_ERROR_INVALID_HANDLE, name + " with a NULL stream, which is ambiguous");
    return nullptr;
  }
  if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    Context* context = Current();
    if (context == nullptr) {
      Violation(CUDA_ERROR_INVALID_CONTEXT, name + " with a special stream but no context");
      return nullptr;
    }
    if (handle == CU_STREAM_LEGACY) {
      return &context->legacy;
    }
    Stream* stream = &context->per_thread[std::this_thread::get_id()];
    stream->context = context;
    return stream;
  }
  for (Stream& stream : TheState().streams) {
    if (reinterpret_cast<CUstream>(&stream) == handle) {
      return &stream;
    }
  }
  Violation(CUDA_ERROR_INVALID_HANDLE, name + " with no live stream");
  return nullptr;
}

Event* FindEvent(CUevent handle, const char* function) {
  for (Event& event : TheState().events) {
    if (reinterpret_cast<CUevent>(&event) == handle) {
      return &event;
    }
  }
  Violation(CUDA_ERROR_INVALID_HANDLE, std::string(function) + " with no live event");
  return nullptr;
}

// Checks that an event can be asked or waited for.
CUresult CheckAsked(CUevent handle, const char* function) {
  FAKE_UNSAFE(function);
  const Event* event = FindEvent(handle, function);
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const std::string name = function;
  if (event->capture_id != 0) {
    Invalidate(event->capture_id);
    return Violation(CUDA_ERROR_CAPTURED_EVENT, name + " of an event that a capture recorded");
  }
  FAKE_REQUIRE(event->context == Current(), CUDA_ERROR_INVALID_CONTEXT,
               name + " of an event of another context than the current one");
  FAKE_REQUIRE(event->marker != nullptr || event->imported, CUDA_ERROR_INVALID_VALUE,
               name + " of an event that was never recorded");
  return CUDA_SUCCESS;
}

void RunUntil(const std::shared_ptr<Marker>& marker) {
  if (!marker->done) {
    Run(marker->stream, marker.get());
  }
}

}  // namespace fake_cuda

using fake_cuda::Event;
using fake_cuda::Stream;
using fake_cuda::TheState;

#define FAKE_STREAM(name, function)                                     \
  Stream* name = fake_cuda::FindStream(handle, function);               \
  if ((name) == nullptr) {                                              \
    return handle == nullptr || reinterpret_cast<uintptr_t>(handle) > 2 \
               ? CUDA_ERROR_INVALID_HANDLE                              \
               : CUDA_ERROR_INVALID_CONTEXT;                            \
  }

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* out, unsigned flags) {
  FAKE_CALL("cuStreamCreate", kContext);
  FAKE_UNSAFE("cuStreamCreate");
  TheState().streams.emplace_back();
  Stream* stream = &TheState().streams.back();
  stream->context = fake_cuda::Current();
  stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  *out = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle) {
  FAKE_CALL("cuStreamDestroy_v2", kInit);
  FAKE_STREAM(stream, "cuStreamDestroy");
  FAKE_REQUIRE(reinterpret_cast<uintptr_t>(handle) > 2, CUDA_ERROR_INVALID_HANDLE,
               "cuStreamDestroy of a special stream");
  FAKE_UNSAFE("cuStreamDestroy");
  fake_cuda::Finish(stream);
  TheState().streams.remove_if([&](const Stream& other) { return &other == stream; });
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  FAKE_CALL("cuStreamSynchronize", kContext);
  FAKE_STREAM(stream, "cuStreamSynchronize");
  if (fake_cuda::IsActive(*stream)) {
    fake_cuda::Invalidate(stream->capture_id);
    return fake_cuda::Violation(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                "cuStreamSynchronize while the stream is capturing");
  }
  FAKE_UNSAFE("cuStreamSynchronize");
  const CUresult result = fake_cuda::CheckEnqueue(stream, "cuStreamSynchronize");
  if (result == CUDA_SUCCESS) {
    fake_cuda::TakeTurns(stream);
    fake_cuda::Finish(stream);
  }
  return result;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext* out) {
  if (fake_cuda::g_fast) {
    *out = reinterpret_cast<CUcontext>(handle);
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuStreamGetCtx", kInit);
  FAKE_STREAM(stream, "cuStreamGetCtx");
  *out = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  if (fake_cuda::g_fast) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuStreamIsCapturing", kInit);
  FAKE_STREAM(stream, "cuStreamIsCapturing");
  if (stream->legacy && fake_cuda::HasBlockingCapture(stream->context)) {
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  *status = stream->capture;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  FAKE_CALL("cuStreamBeginCapture_v2", kContext);
  FAKE_STREAM(stream, "cuStreamBeginCapture");
  FAKE_REQUIRE(!stream->legacy && stream->capture == CU_STREAM_CAPTURE_STATUS_NONE,
               CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
               "cuStreamBeginCapture on the legacy stream or during a capture");
  stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  stream->origin = true;
  stream->capture_mode = mode;
  stream->capture_thread = std::this_thread::get_id();
  stream->capture_id = TheState().next_id++;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  FAKE_CALL("cuStreamEndCapture", kContext);
  FAKE_STREAM(stream, "cuStreamEndCapture");
  FAKE_REQUIRE(stream->capture != CU_STREAM_CAPTURE_STATUS_NONE, CUDA_ERROR_ILLEGAL_STATE,
               "cuStreamEndCapture without a capture");
  FAKE_REQUIRE(stream->origin, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
               "cuStreamEndCapture on a stream that did not begin the capture");
  FAKE_REQUIRE(stream->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                   stream->capture_thread == std::this_thread::get_id(),
               CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "cuStreamEndCapture in another thread");
  const uint64_t capture = stream->capture_id;
  const bool failed = stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  fake_cuda::ForAllStreams([&](Stream* other) {
    if (other->capture_id == capture) {
      other->capture = CU_STREAM_CAPTURE_STATUS_NONE;
      other->capture_id = 0;
      other->origin = false;
    }
  });
  *graph = nullptr;
  return failed ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuThreadExchangeStreamCaptureMode", kHost);
  FAKE_REQUIRE(*mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED,
               CUDA_ERROR_INVALID_VALUE, "cuThreadExchangeStreamCaptureMode with no mode");
  std::swap(*mode, fake_cuda::ThisThread().mode);
  return CUDA_SUCCESS;
}

// Runs a test's function when the stream reaches it; it stands for a kernel.
CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  FAKE_CALL("cuLaunchHostFunc", kContext);
  FAKE_STREAM(stream, "cuLaunchHostFunc");
  const CUresult result = fake_cuda::CheckEnqueue(stream, "cuLaunchHostFunc");
  if (result == CUDA_SUCCESS) {
    fake_cuda::Enqueue(stream, [=] { function(data); });
  }
  return result;
}

CUresult CUDAAPI cuEventCreate(CUevent* out, unsigned flags) {
  FAKE_CALL("cuEventCreate", kContext);
  FAKE_UNSAFE("cuEventCreate");
  FAKE_REQUIRE((flags & ~unsigned{CU_EVENT_INTERPROCESS}) == CU_EVENT_DISABLE_TIMING,
               CUDA_ERROR_INVALID_VALUE, "cuEventCreate of an event that takes the time");
  TheState().events.emplace_back();
  TheState().events.back().context = fake_cuda::Current();
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    fake_cuda::MakeShared(&TheState().events.back());
  }
  ++TheState().events_created;
  *out = reinterpret_cast<CUevent>(&TheState().events.back());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent handle) {
  FAKE_CALL("cuEventDestroy_v2", kInit);
  FAKE_UNSAFE("cuEventDestroy");
  Event* event = fake_cuda::FindEvent(handle, "cuEventDestroy");
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(!event->exported, CUDA_SUCCESS,
               "cuEventDestroy of an event that another process may open");
  TheState().events.remove_if([&](const Event& other) { return &other == event; });
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent handle) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuEventQuery", kContext);
  const CUresult checked = fake_cuda::CheckAsked(handle, "cuEventQuery");
  if (checked != CUDA_SUCCESS) {
    return checked;
  }
  const Event* event = fake_cuda::FindEvent(handle, "cuEventQuery");
  const bool done =
      event->imported ? event->shared->done >= event->shared->recorded : event->marker->done;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuEventSynchronize", kContext);
  const CUresult checked = fake_cuda::CheckAsked(handle, "cuEventSynchronize");
  if (checked != CUDA_SUCCESS) {
    return checked;
  }
  const Event* event = fake_cuda::FindEvent(handle, "cuEventSynchronize");
  if (event->imported) {
    fake_cuda::WaitForShared(event->shared, event->shared->recorded);
  } else {
    fake_cuda::RunUntil(event->marker);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event_handle, CUstream handle) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuEventRecord", kContext);
  FAKE_STREAM(stream, "cuEventRecord");
  Event* event = fake_cuda::FindEvent(event_handle, "cuEventRecord");
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE,
               "cuEventRecord of an event of another context than the stream's");
  const CUresult result = fake_cuda::CheckEnqueue(stream, "cuEventRecord");
  if (result != CUDA_SUCCESS) {
    return result;
  }
  event->capture_id = fake_cuda::IsActive(*stream) ? stream->capture_id : 0;
  if (event->capture_id == 0) {
    fake_cuda::TakeTurns(stream);
    event->marker = fake_cuda::Mark(stream);
    fake_cuda::RecordShared(event, stream);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuStreamWaitEvent", kContext);
  FAKE_STREAM(stream, "cuStreamWaitEvent");
  Event* event = fake_cuda::FindEvent(event_handle, "cuStreamWaitEvent");
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE, "cuStreamWaitEvent with flags");
  FAKE_REQUIRE(event->marker != nullptr || event->capture_id != 0 || event->imported,
               CUDA_ERROR_INVALID_VALUE, "cuStreamWaitEvent for an event that was never recorded");
  const CUresult result = fake_cuda::CheckEnqueue(stream, "cuStreamWaitEvent");
  if (result != CUDA_SUCCESS) {
    return result;
  }
  if (fake_cuda::IsActive(*stream)) {
    return fake_cuda::WaitInCapture(stream, event);
  }
  if (event->capture_id != 0) {
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;  // the stream joins the graph
    stream->capture_id = event->capture_id;
    return CUDA_SUCCESS;
  }
  fake_cuda::TakeTurns(stream);
  if (event->imported) {
    fake_cuda::SharedEvent* shared = event->shared;
    const uint64_t record = shared->recorded;
    stream->work.push_back({nullptr, nullptr, [=] { fake_cuda::WaitForShared(shared, record); }});
  } else {
    stream->work.push_back({event->marker, nullptr, nullptr});
  }
  return CUDA_SUCCESS;
}
}

extern "C" void fake_cuda_run() {
  const std::lock_guard<std::recursive_mutex> guard(TheState().lock);
  fake_cuda::ForAllStreams([](Stream* stream) { fake_cuda::Finish(stream); });
  for (fake_cuda::Context& context : TheState().contexts) {
    fake_cuda::Finish(&context.legacy);
  }
}

#ifndef FAKE_CUDA_OLD
extern "C" CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle,
                                                      CUstreamCaptureStatus* status, cuuint64_t* id,
                                                      CUgraph* graph,
                                                      const CUgraphNode** dependencies,
                                                      size_t* count) {
  FAKE_CALL("cuStreamGetCaptureInfo_v2", kInit);
  FAKE_STREAM(stream, "cuStreamGetCaptureInfo");
  FAKE_REQUIRE(graph == nullptr && dependencies == nullptr && count == nullptr,
               CUDA_ERROR_INVALID_VALUE, "cuStreamGetCaptureInfo asked for more than the id");
  *status = stream->capture;
  *id = stream->capture_id;
  return CUDA_SUCCESS;
}
#endif
