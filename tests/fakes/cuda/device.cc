// SPDX-License-Identifier: Apache-2.0
// The fake's initialisation, devices and contexts.
#include <algorithm>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

int Setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct Name {
  CUresult code;
  const char* text;
};
constexpr Name kNames[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

Device* FindDevice(CUdevice device) {
  State& state = TheState();
  return device >= 0 && device < static_cast<int>(state.devices.size())
             ? &state.devices[static_cast<size_t>(device)]
             : nullptr;
}

}  // namespace

// Reuses the handle of a destroyed context, as the driver does.
Context* NewContext(int device) {
  State& state = TheState();
  auto found = std::find_if(state.contexts.begin(), state.contexts.end(),
                            [](const Context& context) { return !context.alive; });
  if (found == state.contexts.end()) {
    state.contexts.emplace_back();
    found = std::prev(state.contexts.end());
  }
  Context* context = &*found;
  context->device = device;
  context->alive = true;
  context->id = state.next_id++;
  context->legacy = {};
  context->legacy.context = context;
  context->legacy.legacy = true;
  context->per_thread.clear();
  return context;
}

void EndContext(Context* context) {
  State& state = TheState();
  for (Stream& stream : state.streams) {
    if (stream.context == context) {
      Finish(&stream);
    }
  }
  Finish(&context->legacy);
  for (auto& stream : context->per_thread) {
    Finish(&stream.second);
  }
  context->alive = false;
  if (state.faulted == context) {
    state.faulted = nullptr;
    state.fault = CUDA_SUCCESS;
  }
  for (auto event = state.events.begin(); event != state.events.end();) {
    const bool gone = event->context == context;
    event = gone ? state.events.erase(event) : std::next(event);
  }
  for (auto stream = state.streams.begin(); stream != state.streams.end();) {
    stream = stream->context == context ? state.streams.erase(stream) : std::next(stream);
  }
  for (auto memory = state.memory.begin(); memory != state.memory.end();) {
    const auto next = std::next(memory);
    if (memory->second.context == context) {
      FreeMemory(&memory->second);
    }
    memory = next;
  }
}

Context* FindContext(CUcontext handle, const char* function) {
  for (Context& context : TheState().contexts) {
    if (reinterpret_cast<CUcontext>(&context) == handle) {
      return &context;
    }
  }
  Violation(CUDA_ERROR_INVALID_CONTEXT, std::string(function) + ": no such context");
  return nullptr;
}

}  // namespace fake_cuda

using fake_cuda::Context;
using fake_cuda::Current;
using fake_cuda::Device;
using fake_cuda::TheState;
using fake_cuda::ThisThread;

extern "C" {

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  FAKE_CALL("cuDriverGetVersion", kNothing);
  *version = fake_cuda::Setting("FAKE_CUDA_VERSION", 12020);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned flags) {
  FAKE_CALL("cuInit", kNothing);
  fake_cuda::State& state = TheState();
  FAKE_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE, "cuInit with flags");
  FAKE_REQUIRE(state.pid == 0, CUDA_SUCCESS, "cuInit more than once");
  const int code = fake_cuda::Setting("FAKE_CUDA_INIT", 0);
  if (code != 0) {
    return static_cast<CUresult>(code);
  }
  state.pid = getpid();
  state.version = fake_cuda::Setting("FAKE_CUDA_VERSION", 12020);
  state.no_uuid = fake_cuda::Setting("FAKE_CUDA_NO_UUID", 0) != 0;
  const int count = fake_cuda::Setting("FAKE_CUDA_DEVICES", 2);
  const bool reversed = fake_cuda::Setting("FAKE_CUDA_REVERSED", 0) != 0;
  for (int i = 0; i < count; ++i) {
    Device device;
    device.physical = reversed ? count - 1 - i : i;
    state.devices.push_back(device);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
  const char* stub = std::getenv("FAKE_CUDA_STUB");
  if (stub != nullptr && stub[0] == '1') {
    return CUDA_ERROR_STUB_LIBRARY;
  }
  for (const fake_cuda::Name& name : fake_cuda::kNames) {
    if (name.code == error) {
      *text = name.text;
      return CUDA_SUCCESS;
    }
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  FAKE_CALL("cuDeviceGetCount", kInit);
  FAKE_UNSAFE("cuDeviceGetCount");
  *count = static_cast<int>(TheState().devices.size());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_CALL("cuDeviceGet", kInit);
  FAKE_UNSAFE("cuDeviceGet");
  FAKE_REQUIRE(fake_cuda::FindDevice(ordinal) != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDeviceGet of a device that does not exist");
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  FAKE_CALL("cuDeviceGetAttribute", kInit);
  FAKE_UNSAFE("cuDeviceGetAttribute");
  FAKE_REQUIRE(fake_cuda::FindDevice(device) != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDeviceGetAttribute of a device that does not exist");
  FAKE_REQUIRE(attribute == CU_DEVICE_ATTRIBUTE_MAX_PITCH, CUDA_ERROR_INVALID_VALUE,
               "cuDeviceGetAttribute of something else than MAX_PITCH");
  *value = fake_cuda::kMaxPitch;
  return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  FAKE_CALL("cuDeviceGetUuid_v2", kInit);
  FAKE_UNSAFE("cuDeviceGetUuid");
  const Device* found = fake_cuda::FindDevice(device);
  FAKE_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDeviceGetUuid of a device that does not exist");
  if (TheState().no_uuid) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  std::memset(uuid->bytes, 0x40 + found->physical, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (fake_cuda::g_fast) {
    *id = 1;
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuCtxGetId", kInit);
  FAKE_UNSAFE("cuCtxGetId");
  const Context* found =
      context == nullptr ? Current() : fake_cuda::FindContext(context, "cuCtxGetId");
  if (found == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!found->alive) {
    *id = ~found->id;
    return fake_cuda::Violation(
        TheState().garbage_ids ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED,
        "cuCtxGetId of a destroyed context");
  }
  *id = found->id;
  return CUDA_SUCCESS;
}
#endif

// Device i can access the next device, and the last one the first.
CUresult CUDAAPI cuDeviceCanAccessPeer(int* out, CUdevice device, CUdevice peer) {
  FAKE_CALL("cuDeviceCanAccessPeer", kInit);
  FAKE_UNSAFE("cuDeviceCanAccessPeer");
  FAKE_REQUIRE(fake_cuda::FindDevice(device) != nullptr && fake_cuda::FindDevice(peer) != nullptr,
               CUDA_ERROR_INVALID_DEVICE, "cuDeviceCanAccessPeer of a device that does not exist");
  FAKE_REQUIRE(device != peer, CUDA_ERROR_INVALID_DEVICE,
               "cuDeviceCanAccessPeer of a device and itself");
  *out = (device + 1) % static_cast<int>(TheState().devices.size()) == peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned, CUdevice device) {
  FAKE_CALL("cuCtxCreate_v4", kInit);
  FAKE_UNSAFE("cuCtxCreate");
  FAKE_REQUIRE(fake_cuda::FindDevice(device) != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuCtxCreate on a device that does not exist");
  Context* context = fake_cuda::NewContext(device);
  ThisThread().contexts.push_back(context);
  *out = reinterpret_cast<CUcontext>(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext handle) {
  FAKE_CALL("cuCtxDestroy_v2", kHost);
  FAKE_UNSAFE("cuCtxDestroy");
  Context* context = fake_cuda::FindContext(handle, "cuCtxDestroy");
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  FAKE_REQUIRE(context->alive, CUDA_ERROR_INVALID_CONTEXT, "cuCtxDestroy of no live context");
  if (Current() == context) {
    ThisThread().contexts.pop_back();
  }
  fake_cuda::EndContext(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* out) {
  FAKE_CALL("cuCtxGetCurrent", kHost);
  *out = reinterpret_cast<CUcontext>(Current());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  if (fake_cuda::g_fast) {
    *device = 0;
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuCtxGetDevice", kContext);
  *device = Current()->device;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext handle) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuCtxPushCurrent_v2", kHost);
  Context* context = fake_cuda::FindContext(handle, "cuCtxPushCurrent");
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  FAKE_REQUIRE(context->alive, CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent of no live context");
  ThisThread().contexts.push_back(context);
  return CUDA_SUCCESS;
}

// A planned failure pops the context all the same: otherwise the context stack of every later test
// would be off by one. A real pop fails only for a context that was destroyed.
CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* out) {
  if (fake_cuda::g_fast) {
    return CUDA_SUCCESS;
  }
  const fake_cuda::Call call("cuCtxPopCurrent_v2", fake_cuda::Call::kHost);
  FAKE_REQUIRE(Current() != nullptr, CUDA_ERROR_INVALID_CONTEXT,
               "cuCtxPopCurrent without a pushed context");
  if (out != nullptr && !call.refused()) {
    *out = reinterpret_cast<CUcontext>(Current());
  }
  ThisThread().contexts.pop_back();
  return call.result();
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  FAKE_CALL("cuDevicePrimaryCtxGetState", kInit);
  FAKE_UNSAFE("cuDevicePrimaryCtxGetState");
  const Device* found = fake_cuda::FindDevice(device);
  FAKE_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDevicePrimaryCtxGetState of a device that does not exist");
  *flags = 0;
  *active = found->primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  FAKE_CALL("cuDevicePrimaryCtxRetain", kInit);
  FAKE_UNSAFE("cuDevicePrimaryCtxRetain");
  Device* found = fake_cuda::FindDevice(device);
  FAKE_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDevicePrimaryCtxRetain of a device that does not exist");
  if (found->primary == nullptr) {
    found->primary = fake_cuda::NewContext(device);
    ++TheState().primary_created;
  }
  ++found->retained;
  *out = reinterpret_cast<CUcontext>(found->primary);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  FAKE_CALL("cuDevicePrimaryCtxRelease_v2", kInit);
  FAKE_UNSAFE("cuDevicePrimaryCtxRelease");
  Device* found = fake_cuda::FindDevice(device);
  FAKE_REQUIRE(found != nullptr && found->retained > 0, CUDA_ERROR_INVALID_CONTEXT,
               "cuDevicePrimaryCtxRelease of what is not retained");
  if (--found->retained == 0 && found->primary != nullptr) {
    fake_cuda::EndContext(found->primary);
    found->primary = nullptr;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device) {
  FAKE_CALL("cuDevicePrimaryCtxReset_v2", kInit);
  FAKE_UNSAFE("cuDevicePrimaryCtxReset");
  Device* found = fake_cuda::FindDevice(device);
  FAKE_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_DEVICE,
               "cuDevicePrimaryCtxReset of a device that does not exist");
  if (found->primary != nullptr) {
    fake_cuda::EndContext(found->primary);
    found->primary = nullptr;
  }
  return CUDA_SUCCESS;
}
}
