// SPDX-License-Identifier: Apache-2.0
// CUDA's devices and contexts: which context something belongs to, and the primary ones.
#include <atomic>
#include <cstring>

#include "describe/device.h"
#include "device/cuda/internal.h"
#include "native/table.h"
#include "support/lock.h"
#include "support/text.h"

namespace dlbridge::cuda {
namespace {

// The devices whose primary context the library has retained. It is never released: releasing it
// could destroy the context while work of this library is still queued.
constexpr int kPrimaries = 64;
std::atomic<bool> g_retained[kPrimaries];

bool WasRetained(int32_t ordinal) {
  return ordinal < kPrimaries && g_retained[ordinal].exchange(true, std::memory_order_relaxed);
}

// Asks for the context each time: a program may reset a device, which destroys the context no
// matter who retains it. One reference is enough as long as the context is active.
DLBridgeStatus RetainPrimary(Device device, int32_t ordinal, Context* out, DLBridgeError* error) {
  unsigned flags = 0;
  int active = 0;
  DLBRIDGE_TRY(Check(g_cuda.driver.primary_ctx_get_state(device, &flags, &active),
                     "cuDevicePrimaryCtxGetState", error));
  DLBRIDGE_TRY(
      Check(g_cuda.driver.primary_ctx_retain(out, device), "cuDevicePrimaryCtxRetain", error));
  return WasRetained(ordinal) && active != 0
             ? Check(g_cuda.driver.primary_ctx_release(device), "cuDevicePrimaryCtxRelease", error)
             : DLBRIDGE_OK;
}

DLBridgeStatus PrimaryOf(int32_t ordinal, Context* out, DLBridgeError* error) {
  return WhileCapturing(
      error, [&] { return RetainPrimary(g_cuda.devices[ordinal].handle, ordinal, out, error); });
}

// The current context if it belongs to the device, else NULL.
DLBridgeStatus CurrentOf(int32_t ordinal, Context* out, DLBridgeError* error) {
  *out = nullptr;
  Context current = nullptr;
  DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_current(&current), "cuCtxGetCurrent", error));
  if (current != nullptr) {
    Device device = -1;
    DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_device(&device), "cuCtxGetDevice", error));
    *out = device == g_cuda.devices[ordinal].handle ? current : nullptr;
  }
  return DLBRIDGE_OK;
}

// The driver answers for pairs of two devices only.
Result CanAccess(int32_t device, int32_t owner, int* out) {
  *out = 1;
  return device == owner ? kSuccess
                         : g_cuda.driver.device_can_access_peer(out, g_cuda.devices[device].handle,
                                                                g_cuda.devices[owner].handle);
}

DLBridgeStatus AskPeers(int32_t owner, uint64_t* capable, DLBridgeError* error) {
  for (int i = 0; i < g_cuda.device_count && i < 64; ++i) {
    int can = 0;
    DLBRIDGE_TRY(Check(CanAccess(i, owner, &can), "cuDeviceCanAccessPeer", error));
    *capable |= uint64_t{can != 0} << i;
  }
  return DLBRIDGE_OK;
}

// The witnesses of contexts, by handle. An entry may be that of an earlier context with the handle.
struct ContextWitness {
  Context context;
  Witness witness;
};
constexpr int kWitnesses = 64;
ContextWitness g_witnesses[kWitnesses];
Lock g_witnesses_lock;  // never held during a call of the driver

// Not const, because the driver's prototype lacks it.
uint32_t g_buffer_attributes[] = {kPointerMemoryType, kPointerBufferId};

// The number of the buffer at an address, or 0.
Result BufferAt(Address address, uint64_t* out) {
  uint32_t type = 0;
  uint64_t buffer = 0;
  void* values[] = {&type, &buffer};
  const Result result =
      g_cuda.driver.pointer_get_attributes(2, g_buffer_attributes, values, address);
  *out = type == kMemoryDevice ? buffer : 0;
  return result;
}

// If the query fails, the witness counts as live: replacing it would need another allocation.
bool IsLive(const Witness& witness) {
  uint64_t buffer = 0;
  return witness.address != 0 &&
         (BufferAt(witness.address, &buffer) != kSuccess || buffer == witness.buffer);
}

ContextWitness ReadWitness(int index) {
  const Locked locked(&g_witnesses_lock);
  return g_witnesses[index];
}

// The index of the context's entry, else of one that can be used for it, else -1.
int FindWitness(Context context) {
  int unused = -1;
  for (int i = 0; i < kWitnesses; ++i) {
    const ContextWitness entry = ReadWitness(i);
    if (entry.context == context) {
      return i;
    }
    unused = unused < 0 && entry.context == nullptr ? i : unused;
  }
  for (int i = 0; i < kWitnesses && unused < 0; ++i) {
    unused = IsLive(ReadWitness(i).witness) ? -1 : i;
  }
  return unused;
}

Witness MakeWitness() {
  Witness witness = {0, 0};
  if (g_cuda.driver.mem_alloc(&witness.address, 1) != kSuccess) {
    return {0, 0};
  }
  if (BufferAt(witness.address, &witness.buffer) != kSuccess || witness.buffer == 0) {
    if (g_cuda.driver.mem_free != nullptr) {
      g_cuda.driver.mem_free(witness.address);
    }
    return {0, 0};
  }
  return witness;
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

// -1 for a device that is no device of this process.
int32_t OrdinalOf(Device device) {
  for (int i = 0; i < g_cuda.device_count; ++i) {
    if (g_cuda.devices[i].handle == device) {
      return i;
    }
  }
  return -1;
}

bool Exists(int32_t ordinal) { return ordinal >= 0 && ordinal < g_cuda.device_count; }

}  // namespace

DLBridgeStatus IdOf(Context context, uint64_t* out, DLBridgeError* error) {
  unsigned long long id = 0;
  if (DLBRIDGE_LIKELY(g_cuda.driver.ctx_get_id != nullptr)) {
    DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_id(context, &id), "cuCtxGetId", error));
  }
  *out = id;
  return DLBRIDGE_OK;
}

// Without memory for it, or in more contexts than there are entries, a context has no witness.
Witness WitnessOf(Context context) {
  const int index = FindWitness(context);
  if (index < 0) {
    return {0, 0};
  }
  const ContextWitness known = ReadWitness(index);
  if (known.context == context && IsLive(known.witness)) {
    return known.witness;
  }
  const Witness made = MakeWitness();
  const Locked locked(&g_witnesses_lock);
  g_witnesses[index] = {context, made};
  return made;
}

DLBridgeStatus AskAlive(const Witness& witness, bool* alive, DLBridgeError* error) {
  uint64_t buffer = witness.buffer;
  if (witness.address != 0) {
    DLBRIDGE_TRY(Check(BufferAt(witness.address, &buffer), "cuPointerGetAttributes", error));
  }
  *alive = buffer == witness.buffer;
  return DLBRIDGE_OK;
}

DLBridgeStatus ContextOfDevice(int32_t ordinal, const char* argument, Context* out,
                               DLBridgeError* error) {
  if (!Exists(ordinal)) {
    return RejectOrdinal(ordinal, argument, error);
  }
  DLBRIDGE_TRY(CurrentOf(ordinal, out, error));
  return *out != nullptr ? DLBRIDGE_OK : PrimaryOf(ordinal, out, error);
}

DLBridgeStatus ExistingContextOf(int32_t ordinal, Context* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CurrentOf(ordinal, out, error));
  if (*out != nullptr) {
    return DLBRIDGE_OK;
  }
  unsigned flags = 0;
  int active = 0;
  DLBRIDGE_TRY(WhileCapturing(error, [&] {
    return Check(
        g_cuda.driver.primary_ctx_get_state(g_cuda.devices[ordinal].handle, &flags, &active),
        "cuDevicePrimaryCtxGetState", error);
  }));
  return active != 0 ? PrimaryOf(ordinal, out, error) : DLBRIDGE_OK;
}

DLBridgeStatus ContextOfStream(const DLBridgeStream& stream, const char* argument, Context* out,
                               DLBridgeError* error) {
  if (DLBRIDGE_UNLIKELY(IsSpecial(stream))) {
    return ContextOfDevice(stream.device.device_id, argument, out, error);
  }
  DLBRIDGE_TRY(CheckLabel(stream, argument, error));
  return Check(g_cuda.driver.stream_get_ctx(HandleOf(stream), out), "cuStreamGetCtx", error);
}

DLBridgeStatus CheckLabel(const DLBridgeStream& stream, const char* argument,
                          DLBridgeError* error) {
  const int32_t ordinal = stream.device.device_id;
  return TypeOf(stream.device) != kDLCUDA || Exists(ordinal)
             ? DLBRIDGE_OK
             : RejectOrdinal(ordinal, argument, error);
}

// The only device needs no question, and the context of a special stream was chosen by the label.
DLBridgeStatus CheckDevice(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  if (g_cuda.device_count == 1 || IsSpecial(stream) || TypeOf(stream.device) != kDLCUDA) {
    return DLBRIDGE_OK;
  }
  Device device = -1;
  const int32_t ordinal = stream.device.device_id;
  DLBRIDGE_TRY(Check(g_cuda.driver.ctx_get_device(&device), "cuCtxGetDevice", error));
  if (DLBRIDGE_LIKELY(device == g_cuda.devices[ordinal].handle)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("names device ")
      .Signed(ordinal)
      .String(", but its queue runs on device ")
      .Signed(OrdinalOf(device));
  return RejectArgument(error, argument, problem);
}

DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error) {
  if (!Exists(native_device)) {
    return RejectOrdinal(native_device, "native_device", error);
  }
  *capable = 0;
  return WhileCapturing(error, [&] { return AskPeers(native_device, capable, error); });
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
