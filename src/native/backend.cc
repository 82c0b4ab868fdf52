// SPDX-License-Identifier: Apache-2.0
#include "native/backend.h"

#include <atomic>
#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "native/fork.h"
#include "support/lock.h"
#include "support/text.h"

namespace dlbridge {

std::atomic<uint32_t> g_ready[6];

namespace {

constexpr const Backend* kBackends[] = {nullptr,      &kCpuBackend,       &kCudaBackend,
                                        &kHipBackend, &kLevelZeroBackend, &kOpenClBackend};
constexpr uint32_t kBackendCount = sizeof(kBackends) / sizeof(kBackends[0]);

// The state of a backend in this process. `info` is written before `state` and is constant
// afterwards.
struct Slot {
  std::atomic<int32_t> state{0};      // 0: not started
  std::atomic<bool> starting{false};  // also read by a child that was forked during the start
  uint32_t generation = 0;            // of the process that started it
  DLBridgeBackendInfo info = {};
  Lock lock;
};

Slot g_slots[kBackendCount];
static_assert(sizeof(g_ready) / sizeof(g_ready[0]) == kBackendCount, "one for each");

void Start(const Backend& backend, Slot* slot) {
  std::memset(&slot->info, 0, sizeof slot->info);
  slot->info.struct_size = sizeof slot->info;
  slot->info.backend = backend.id;
  slot->generation = ForkGeneration();
  slot->starting.store(true, std::memory_order_relaxed);
  const int32_t state = backend.start(&slot->info);
  slot->info.state = state;
  slot->starting.store(false, std::memory_order_relaxed);
  slot->state.store(state, std::memory_order_release);
  if (state == DLBRIDGE_STATE_READY) {
    g_ready[backend.id].store(slot->generation + 1, std::memory_order_release);
  }
}

// A driver that was absent at the first request is not searched for again: the search is expensive,
// and results must not depend on when a framework loads a library.
DLBridgeStatus Started(const Backend& backend, const Slot** out, DLBridgeError* error) {
  Slot* slot = &g_slots[backend.id];
  if (slot->state.load(std::memory_order_acquire) == 0) {
    if (!WatchForks()) {
      return RejectMemory(error);
    }
    const Locked locked(&slot->lock);
    if (slot->state.load(std::memory_order_relaxed) == 0) {
      Start(backend, slot);
    }
  }
  // A driver that is absent or failed to start holds nothing that a fork could break.
  if (slot->generation != ForkGeneration() && slot->info.state == DLBRIDGE_STATE_READY &&
      backend.id != DLBRIDGE_BACKEND_CPU) {
    return RejectStatus(error, DLBRIDGE_ERROR_FORKED, backend.name,
                        "was started before this process was forked: start it only in the child");
  }
  *out = slot;
  return DLBRIDGE_OK;
}

// A message shows the start of a longer reason; dlbridge_backend_info has all of it.
constexpr size_t kReasonRoom = 156;

DLBRIDGE_COLD DLBridgeStatus RejectUnavailable(const Backend& backend, const Slot& slot,
                                               DLBridgeError* error) {
  char start[kReasonRoom];
  TextWriter reason(start, sizeof start);
  reason.String(slot.info.reason);
  char problem[220];
  TextWriter(problem, sizeof problem)
      .String("is not available: ")
      .String(start)
      .String(reason.fits() ? "" : "...")
      .String(" (details: dlbridge_backend_info)");
  return RejectStatus(error, DLBRIDGE_ERROR_UNAVAILABLE, backend.name, problem);
}

}  // namespace

const Backend* FindBackend(DLBridgeBackend id) {
  return static_cast<uint32_t>(id) < kBackendCount ? kBackends[static_cast<uint32_t>(id)] : nullptr;
}

BackendList BackendsOf(int32_t device_type) {
  switch (device_type) {
    case kDLCPU:
      return {{&kCpuBackend, nullptr}, 1};
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged:
      return {{&kCudaBackend, nullptr}, 1};
    case kDLROCM:
    case kDLROCMHost:
      return {{&kHipBackend, nullptr}, 1};
    case kDLOneAPI:
      return {{&kLevelZeroBackend, &kOpenClBackend}, 2};
    case kDLOpenCL:
      return {{&kOpenClBackend, nullptr}, 1};
    default:
      return {{nullptr, nullptr}, 0};
  }
}

bool IsBackendOf(DLBridgeBackend id, int32_t device_type) {
  const BackendList list = BackendsOf(device_type);
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.backends[i]->id == id) {
      return true;
    }
  }
  return id == DLBRIDGE_BACKEND_NONE;
}

DLBridgeStatus RejectBackend(DLBridgeError* error, const char* argument, const DLDevice& device,
                             DLBridgeBackend found) {
  const BackendList list = BackendsOf(TypeOf(device));
  char problem[120];
  TextWriter text(problem, sizeof problem);
  text.String("must be NONE (0)");
  for (uint32_t i = 0; i < list.count; ++i) {
    text.String(" or ").String(list.backends[i]->name).String(" (");
    text.Signed(list.backends[i]->id).Character(')');
  }
  text.String(" for ");
  WriteDevice(device, &text);
  return RejectEnum(error, argument, problem, found, DLBRIDGE_BACKEND_OPENCL);
}

DLBridgeStatus StartSlowly(const Backend& backend, DLBridgeError* error) {
  const Slot* slot = nullptr;
  DLBRIDGE_TRY(Started(backend, &slot, error));
  return DLBRIDGE_LIKELY(slot->info.state == DLBRIDGE_STATE_READY)
             ? DLBRIDGE_OK
             : RejectUnavailable(backend, *slot, error);
}

void ResetBackendsInChild() {
#ifndef _WIN32
  for (Slot& slot : g_slots) {
    slot.lock.ResetInChild();
    if (slot.starting.load(std::memory_order_relaxed)) {
      slot.starting.store(false, std::memory_order_relaxed);
      slot.info.state = DLBRIDGE_STATE_READY;
      slot.state.store(DLBRIDGE_STATE_READY, std::memory_order_relaxed);
    }
  }
#endif
}

DLBridgeStatus RejectDriver(DLBridgeError* error, const char* call, int64_t code,
                            const char* name) {
  char problem[160];
  TextWriter text(problem, sizeof problem);
  text.String("failed with ").Signed(code);
  if (name != nullptr) {
    text.String(" (").String(name).Character(')');
  }
  const DLBridgeStatus status = RejectStatus(error, DLBRIDGE_ERROR_DRIVER, call, problem);
  if (error != nullptr) {
    error->native_code = static_cast<int32_t>(code);
  }
  return status;
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_backend_info(DLBridgeBackend backend, DLBridgeBackendInfo* out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckOut(out, "out", error));
  const dlbridge::Backend* found = dlbridge::FindBackend(backend);
  if (found == nullptr) {
    return dlbridge::RejectEnum(error, "backend", "must be one of CPU (1) to OPENCL (5)", backend,
                                DLBRIDGE_BACKEND_OPENCL);
  }
  const dlbridge::Slot* slot = nullptr;
  DLBRIDGE_TRY(dlbridge::Started(*found, &slot, error));
  dlbridge::WriteOut(slot->info, out);
  return DLBRIDGE_OK;
}

}  // extern "C"
