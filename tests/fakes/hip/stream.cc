// SPDX-License-Identifier: Apache-2.0
// Streams of the fake. Work runs only when a wait requires it, so that a missing wait shows as work
// that was not done.
#include "state.h"

#include <cstring>

namespace fake_hip {
namespace {

std::string Number(size_t index) { return std::to_string(index + 1); }

int IndexOf(const void* handle) {
  const auto& streams = TheState().streams;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].get() == handle) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Stream* AddStream(int device, bool of_library, bool is_default) {
  auto& streams = TheState().streams;
  streams.push_back(std::make_unique<Stream>());
  Stream* stream = streams.back().get();
  stream->name = is_default ? "default" + std::to_string(device) : "s" + Number(streams.size() - 1);
  stream->device = device;
  stream->of_library = of_library;
  stream->blocking = !of_library;
  stream->is_default = is_default;
  return stream;
}

Stream* DefaultStream(int device) {
  Stream*& stream = TheState().defaults[device];
  if (stream == nullptr) {
    stream = AddStream(device, false, true);
  }
  return stream;
}

Stream* OwnStream(int device) {
  Stream*& stream = TheThread().own_streams[device];
  if (stream == nullptr) {
    stream = AddStream(device, false, false);
  }
  return stream;
}

std::string NameOf(hipStream_t stream) {
  const auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle <= 2) {
    return handle == 0 ? "NULL" : std::to_string(handle);
  }
  const int index = IndexOf(stream);
  return index < 0 ? "?" : TheState().streams[static_cast<size_t>(index)]->name;
}

Stream* FindStream(hipStream_t handle, const char* function) {
  if (handle == nullptr) {
    return DefaultStream(TheThread().device);
  }
  if (handle == hipStreamPerThread) {
    return OwnStream(TheThread().device);
  }
  if (reinterpret_cast<uintptr_t>(handle) == 1) {
    if (TheState().version >= 60400000) {
      return DefaultStream(TheThread().device);
    }
    Violation(std::string(function) + ": the handle 1, which older runtimes follow");
    return nullptr;
  }
  const int index = IndexOf(handle);
  if (index < 0) {
    Violation(std::string(function) + ": no stream");
    return nullptr;
  }
  Stream* stream = TheState().streams[static_cast<size_t>(index)].get();
  if (!stream->live) {
    Violation(std::string(function) + ": a stream that was destroyed");
    return nullptr;
  }
  return stream;
}

void RunUntil(Stream* stream, uint64_t position) {
  while (stream->done < position && !stream->pending.empty()) {
    const Operation operation = stream->pending.front();
    stream->pending.pop_front();
    if (operation.other != nullptr) {
      RunUntil(operation.other, operation.position);
    } else {
      operation.work();
    }
    ++stream->done;
  }
}

void Enqueue(Stream* stream, std::function<void()> work) {
  stream->pending.push_back({std::move(work), nullptr, 0});
}

void DestroyStream(Stream* stream) {
  RunUntil(stream, stream->enqueued());
  stream->live = false;
}

bool IsAnyBlockingCapture() {
  for (const auto& stream : TheState().streams) {
    if (stream->live && stream->blocking && stream->capture == hipStreamCaptureStatusActive) {
      return true;
    }
  }
  return false;
}

bool WasDestroyed(hipStream_t handle) {
  const int index = IndexOf(handle);
  return index >= 0 && !TheState().streams[static_cast<size_t>(index)]->live;
}

namespace {

bool IsDefault(hipStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 1; }

// Runtimes before 6.1 reject waits during a capture in every mode, but keep the capture.
bool IgnoresModes() { return TheState().version >= 50300000 && TheState().version < 60100000; }

// Captures that a call of this thread must not disturb: its own ones, unless they are relaxed, and
// the global ones of all threads. `invalidate`: they are lost.
bool IsAnyOtherCapture(bool invalidate) {
  bool found = false;
  for (const auto& stream : TheState().streams) {
    const bool own = stream->thread == std::this_thread::get_id();
    const bool counts = stream->mode == hipStreamCaptureModeGlobal ||
                        (own && stream->mode == hipStreamCaptureModeThreadLocal);
    if (stream->live && stream->origin && counts && stream->capture != hipStreamCaptureStatusNone) {
      found = true;
      stream->capture = invalidate ? hipStreamCaptureStatusInvalidated : stream->capture;
    }
  }
  return found;
}

}  // namespace

int CheckWait(Stream* stream, const char* function) {
  if (stream != nullptr && stream->capture != hipStreamCaptureStatusNone) {
    stream->capture = hipStreamCaptureStatusInvalidated;
    Violation(std::string(function) + ": a stream that is capturing");
    return hipErrorStreamCaptureUnsupported;
  }
  if (IgnoresModes()) {
    return IsAnyOtherCapture(false) ? hipErrorStreamCaptureUnsupported : hipSuccess;
  }
  return CheckUnsafe(function);
}

int CheckUnsafe(const char* function) {
#if FAKE_HIP_LEVEL > 0
  if (TheThread().mode != hipStreamCaptureModeRelaxed && IsAnyOtherCapture(true)) {
    Violation(std::string(function) + ": during a capture, in a mode other than RELAXED");
    return hipErrorStreamCaptureUnsupported;
  }
#else
  static_cast<void>(function);  // a runtime without modes has no such rule
#endif
  return hipSuccess;
}

}  // namespace fake_hip

using fake_hip::FindStream;
using fake_hip::NameOf;
using fake_hip::Stream;

extern "C" {

FAKE_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  FAKE_CALL(hipStreamCreateWithFlags, std::to_string(flags))
  if (flags != hipStreamNonBlocking) {
    return call.Reject(hipErrorInvalidValue, "a stream that the default stream waits for");
  }
  FAKE_UNSAFE(hipStreamCreateWithFlags)
  *stream =
      reinterpret_cast<hipStream_t>(fake_hip::AddStream(fake_hip::TheThread().device, true, false));
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipStreamDestroy(hipStream_t handle) {
  FAKE_CALL(hipStreamDestroy, NameOf(handle))
  Stream* stream = FindStream(handle, "hipStreamDestroy");
  if (stream == nullptr || reinterpret_cast<uintptr_t>(handle) <= 2) {
    return call.Reject(hipErrorInvalidHandle, "nothing to destroy");
  }
  FAKE_UNSAFE(hipStreamDestroy)
  fake_hip::DestroyStream(stream);
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipStreamSynchronize(hipStream_t handle) {
  FAKE_CALL(hipStreamSynchronize, NameOf(handle))
  Stream* stream = FindStream(handle, "hipStreamSynchronize");
  if (stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  if (fake_hip::IsDefault(handle) && fake_hip::IsAnyBlockingCapture()) {
    return call.Reject(hipErrorStreamCaptureImplicit, "the default stream during a capture");
  }
  if (const int code = fake_hip::CheckWait(stream, "hipStreamSynchronize")) {
    return call.Return(code);
  }
  fake_hip::RunUntil(stream, stream->enqueued());
  return call.Return(hipSuccess);
}

#if FAKE_HIP_LEVEL >= 6
// The headers of 5.2 do not declare it.
FAKE_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device);
hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  FAKE_CALL(hipStreamGetDevice, NameOf(handle))
  if (reinterpret_cast<uintptr_t>(handle) == 1) {
    return call.Reject(hipErrorInvalidHandle, "the handle 1, which all runtimes follow here");
  }
  if (fake_hip::WasDestroyed(handle)) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  const Stream* stream = FindStream(handle, "hipStreamGetDevice");
  if (stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  *device = stream->device;
  return call.Return(hipSuccess);
}
#endif

#if FAKE_HIP_LEVEL > 0
FAKE_EXPORT int hipGetStreamDeviceId(hipStream_t handle) {
  const fake_hip::Call call("hipGetStreamDeviceId", NameOf(handle), true);
  if (call.fails() || fake_hip::WasDestroyed(handle)) {
    return -1;
  }
  const Stream* stream = FindStream(handle, "hipGetStreamDeviceId");
  return stream == nullptr ? -1 : stream->device;
}

FAKE_EXPORT hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  FAKE_CALL(hipStreamIsCapturing, NameOf(handle))
  const Stream* stream = FindStream(handle, "hipStreamIsCapturing");
  if (stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  if (fake_hip::IsDefault(handle) && fake_hip::IsAnyBlockingCapture()) {
    return call.Return(hipErrorStreamCaptureImplicit);
  }
  *status = static_cast<hipStreamCaptureStatus>(stream->capture);
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus* status,
                                               unsigned long long* graph) {
  FAKE_CALL(hipStreamGetCaptureInfo, NameOf(handle))
  const Stream* stream = FindStream(handle, "hipStreamGetCaptureInfo");
  if (stream == nullptr) {
    return call.Return(hipErrorContextIsDestroyed);
  }
  *status = static_cast<hipStreamCaptureStatus>(stream->capture);
  *graph = stream->graph;
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  FAKE_CALL(hipThreadExchangeStreamCaptureMode, std::to_string(*mode))
  const int previous = fake_hip::TheThread().mode;
  fake_hip::TheThread().mode = *mode;
  *mode = static_cast<hipStreamCaptureMode>(previous);
  return call.Return(hipSuccess);
}
#endif

}  // extern "C"
