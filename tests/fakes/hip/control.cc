// SPDX-License-Identifier: Apache-2.0
// The table with which tests control the fake.
#include <cstring>

#include "state.h"

namespace fake_hip {

// Names for the log, which must not depend on addresses.
std::string NameOf(const void* pointer) {
  uintptr_t base = 0;
  if (FindAllocation(pointer, &base) == nullptr) {
    return pointer == nullptr ? "NULL" : "unknown";
  }
  const auto offset = reinterpret_cast<uintptr_t>(pointer) - base;
  return offset == 0 ? "base" : "base+" + std::to_string(offset);
}

namespace {

using Guard = std::lock_guard<std::recursive_mutex>;

size_t CountLiveEvents() {
  size_t count = 0;
  for (const auto& event : TheState().events) {
    count += event->live ? 1 : 0;
  }
  return count;
}

void CheckCount(const char* what, size_t found, size_t allowed) {
  if (found > allowed) {
    Violation(std::string(what) + ": " + std::to_string(found) + " are left, " +
              std::to_string(allowed) + " may be");
  }
}

void Settle(size_t events, size_t streams, size_t mappings) {
  const Guard guard(TheState().mutex);
  size_t live_streams = 0;
  for (const auto& stream : TheState().streams) {
    live_streams += stream->live && stream->of_library ? 1 : 0;
  }
  size_t mapped = 0;
  for (const auto& allocation : TheState().memory) {
    mapped += allocation.second.mapped ? 1 : 0;
  }
  CheckCount("events", CountLiveEvents(), events);
  CheckCount("streams", live_streams, streams);
  CheckCount("mappings", mapped, mappings);
  if (TheThread().device != TheThread().application_device) {
    Violation("device: the thread's is not the application's any more");
  }
  if (TheThread().mode != TheThread().application_mode) {
    Violation("capture mode: the thread's is not the application's any more");
  }
  if (TheThread().last_error != hipSuccess && TheState().fault == hipSuccess) {
    Violation("last error: " + std::to_string(TheThread().last_error) + " is left behind");
  }
}

Stream* StreamAt(void* stream, int device) {
  if (stream == nullptr) {
    return DefaultStream(device);
  }
  return stream == hipStreamPerThread ? OwnStream(device) : static_cast<Stream*>(stream);
}

void CaptureAs(void* handle, int state, int mode, unsigned long long graph) {
  const Guard guard(TheState().mutex);
  auto* stream = static_cast<Stream*>(handle);
  stream->capture = state;
  stream->graph = graph;
  stream->origin = state != hipStreamCaptureStatusNone;
  stream->thread = std::this_thread::get_id();
  stream->mode = mode;
}

void Run(void* handle, int device) {
  const Guard guard(TheState().mutex);
  Stream* stream = StreamAt(handle, device);
  RunUntil(stream, stream->enqueued());
}

void SetMode(int mode) {
  TheThread().mode = mode;
  TheThread().application_mode = mode;
}

void* Allocate(FakeHipMemory kind, int device, size_t size) {
  const Guard guard(TheState().mutex);
  return AddAllocation(kind, device, size, SharedBytes(size), false);
}

void* Bytes(void* pointer) {
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(pointer, &base);
  return found == nullptr ? nullptr : found->bytes + (reinterpret_cast<uintptr_t>(pointer) - base);
}

void HideRange(void* pointer) {
  uintptr_t base = 0;
  FindAllocation(pointer, &base)->hidden_range = true;
}

void Fail(const char* function, int code, int nth) {
  const Guard guard(TheState().mutex);
  if (nth == 0) {
    TheState().failures.clear();
  } else {
    TheState().failures.push_back({function, code, nth});
  }
}

const char* FailAny(int code, int nth, bool for_good) {
  const Guard guard(TheState().mutex);
  auto& any = TheState().any;
  any.reported = any.failed;
  any.failed.clear();
  any.code = code;
  any.nth = nth;
  any.for_good = for_good;
  return any.reported.c_str();
}

void SetDevice(int device) {
  TheThread().device = device;
  TheThread().application_device = device;
}

const FakeHip kTable = {
    [](int version) { TheState().version = version; },
    [](int count) { TheState().device_count = count; },
    [](bool available) { TheState().uuids = available; },
    [] { TheState().reversed = true; },
    [](int device, int peer, bool accessible) {
      if (accessible) {
        TheState().no_peers.erase({device, peer});
      } else {
        TheState().no_peers.insert({device, peer});
      }
    },
    Fail,
    [] { return TheState().log.c_str(); },
    [] { TheState().log.clear(); },
    [] { return TheState().violations.c_str(); },
    [] { TheState().violations.clear(); },
    Settle,
    SetDevice,
    [] { return TheThread().last_error; },
    [](int code) { TheThread().last_error = code; },
    [](int device) -> void* {
      const Guard guard(TheState().mutex);
      return AddStream(device, false, false);
    },
    [](int device) -> void* {
      const Guard guard(TheState().mutex);
      Stream* stream = AddStream(device, false, false);
      stream->blocking = false;
      return stream;
    },
    [](void* stream) {
      const Guard guard(TheState().mutex);
      DestroyStream(static_cast<Stream*>(stream));
    },
    [](void* stream, int state, unsigned long long graph) {
      CaptureAs(stream, state, hipStreamCaptureModeGlobal, graph);
    },
    [](void* stream, int mode, unsigned long long graph) {
      CaptureAs(stream, hipStreamCaptureStatusActive, mode, graph);
    },
    [](void* stream) {
      const Guard guard(TheState().mutex);
      return static_cast<Stream*>(stream)->capture;
    },
    [] { return TheThread().mode; },
    SetMode,
    [](int code) { TheState().fault = code; },
    [](void* stream, int device, void (*work)(void*), void* context) {
      const Guard guard(TheState().mutex);
      Enqueue(StreamAt(stream, device), [work, context] { work(context); });
    },
    Run,
    [] { TheState().run_after_queries = true; },
    Allocate,
    Bytes,
    HideRange,
    [](void* pointer) {
      uintptr_t base = 0;
      FindAllocation(pointer, &base)->unshareable = true;
    },
    [](void* pointer) { RemoveAllocation(reinterpret_cast<uintptr_t>(pointer)); },
    [] { return CountLiveEvents(); },
    FailAny,
};

}  // namespace
}  // namespace fake_hip

extern "C" FAKE_EXPORT const FakeHip* fake_hip_table();
const FakeHip* fake_hip_table() { return &fake_hip::kTable; }
