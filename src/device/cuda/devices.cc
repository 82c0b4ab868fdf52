// SPDX-License-Identifier: Apache-2.0
// CUDA's devices and contexts: which context something belongs to, and the primary ones.
#include <cstring>

#include "device/cuda/internal.h"
#include "native/table.h"
#include "support/lock.h"
#include "support/text.h"

namespace dlbridge::cuda {
namespace {

// The primary context of a device, retained by the first operation that needs it. It is never
// released: releasing it could destroy the context while work of this library is still queued.
struct Primary {
  Context context;
  uint64_t id;
};

constexpr int kPrimaries = 64;
Primary g_primaries[kPrimaries];
Lock g_primaries_lock;  // never held during a call of the driver

Primary Remembered(int32_t ordinal) {
  const Locked locked(&g_primaries_lock);
  return ordinal < kPrimaries ? g_primaries[ordinal] : Primary{nullptr, 0};
}

// Returns false if another thread was faster or there is no room. The caller then has one reference
// too many.
bool Remember(int32_t ordinal, const Primary& primary) {
  const Locked locked(&g_primaries_lock);
  if (ordinal >= kPrimaries ||
      (g_primaries[ordinal].context == primary.context && g_primaries[ordinal].id == primary.id)) {
    return false;
  }
  g_primaries[ordinal] = primary;
  return true;
}

// A program may reset a device, which destroys the context no matter who retains it.
bool IsAlive(const Primary& primary) {
  uint64_t id = 0;
  return primary.context != nullptr && IdOf(primary.context, &id, nullptr) == DLBRIDGE_OK &&
         id == primary.id;
}

DLBridgeStatus RetainPrimary(int32_t ordinal, Context* out, DLBridgeError* error) {
  const Device device = g_cuda.devices[ordinal].handle;
  Primary primary = {nullptr, 0};
  DLBRIDGE_TRY(Check(g_cuda.driver.primary_ctx_retain(&primary.context, device),
                     "cuDevicePrimaryCtxRetain", error));
  DLBridgeStatus status = IdOf(primary.context, &primary.id, error);
  if (status != DLBRIDGE_OK || (ordinal < kPrimaries && !Remember(ordinal, primary))) {
    const Result released = g_cuda.driver.primary_ctx_release(device);
    status = status != DLBRIDGE_OK ? status : Check(released, "cuDevicePrimaryCtxRelease", error);
  }
  *out = primary.context;
  return status;
}

DLBridgeStatus PrimaryOf(int32_t ordinal, Context* out, DLBridgeError* error) {
  const Primary primary = Remembered(ordinal);
  if (IsAlive(primary)) {
    *out = primary.context;
    return DLBRIDGE_OK;
  }
  return RetainPrimary(ordinal, out, error);
}

DLBRIDGE_COLD DLBridgeStatus RejectOrdinal(int32_t ordinal, const char* argument,
                                           DLBridgeError* error) {
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("names device ")
      .Signed(ordinal)
      .String(": expected 0 to ")
      .Signed(g_cuda.device_count - 1)
      .String(", the devices that CUDA has in this process");
  return RejectArgument(error, argument, problem);
}

}  // namespace

DLBridgeStatus IdOf(Context context, uint64_t* out, DLBridgeError* error) {
  unsigned long long id = 0;
  if (DLBRIDGE_LIKELY(g_cuda.driver.ctx_get_id != nullptr)) {
    DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_id(context, &id), "cuCtxGetId", error));
  }
  *out = id;
  return DLBRIDGE_OK;
}

DLBridgeStatus ContextOfDevice(int32_t ordinal, const char* argument, Context* out,
                               DLBridgeError* error) {
  if (ordinal < 0 || ordinal >= g_cuda.device_count) {
    return RejectOrdinal(ordinal, argument, error);
  }
  Context current = nullptr;
  DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_current(&current), "cuCtxGetCurrent", error));
  if (current != nullptr) {
    Device device = -1;
    DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_device(&device), "cuCtxGetDevice", error));
    if (device == g_cuda.devices[ordinal].handle) {
      *out = current;
      return DLBRIDGE_OK;
    }
  }
  return PrimaryOf(ordinal, out, error);
}

DLBridgeStatus ContextOfStream(const DLBridgeStream& stream, const char* argument, Context* out,
                               DLBridgeError* error) {
  if (DLBRIDGE_UNLIKELY(IsSpecial(stream))) {
    return ContextOfDevice(stream.device.device_id, argument, out, error);
  }
  return Check(g_cuda.driver.stream_get_ctx(HandleOf(stream), out), "cuStreamGetCtx", error);
}

DLBridgeStatus Enumerate(int32_t /*device_type*/, DLBridgeError* error) {
  for (int i = 0; i < g_cuda.device_count; ++i) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_CUDA;
    entry.device = {kDLCUDA, i};
    entry.native_device = static_cast<uint64_t>(i);
    entry.properties = DLBRIDGE_CONTEXT_ENUMERATED;
    std::memcpy(entry.uuid, g_cuda.devices[i].uuid.bytes, sizeof entry.uuid);
    bool mine = false;
    DLBRIDGE_TRY(EnterDevice(entry, &mine, error));
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::cuda
