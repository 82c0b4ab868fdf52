// SPDX-License-Identifier: Apache-2.0
#include "native/backend.h"

#include <atomic>
#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/fork.h"
#include "support/lock.h"
#include "support/text.h"

namespace dlbridge {

std::atomic<uint32_t> g_ready[kLastBackend + 1];

namespace {

#define DLBRIDGE_ADDRESS(id, table, name, shares) , &(table)
constexpr const Backend* kBackends[] = {nullptr, &kCpuBackend DLBRIDGE_DRIVERS(DLBRIDGE_ADDRESS)};
#undef DLBRIDGE_ADDRESS
constexpr uint32_t kBackendCount = sizeof(kBackends) / sizeof(kBackends[0]);
static_assert(kBackendCount == kLastBackend + 1,
              "DLBRIDGE_DRIVERS needs one row for each BACKEND of facts/enums.toml");
#define DLBRIDGE_CHECK_ID(id, table, name, shares) \
  static_assert(kBackends[DLBRIDGE_BACKEND_##id] == &(table), "rows are in the order of the ids");
DLBRIDGE_DRIVERS(DLBRIDGE_CHECK_ID)
#undef DLBRIDGE_CHECK_ID

// The outcome of a start.
struct Report {
  DLBridgeBackendInfo info;
  uint32_t generation;  // of the process that started it
  bool about_foreign;   // about a copy that this library did not load
};

// The state of a backend in this process. A report is constant once `report` points to it, so
// readers need no lock.
struct Slot {
  std::atomic<const Report*> report{nullptr};  // NULL: not started
  Lock lock;
  LibrarySearch search;
  // At most three, in this order: no library was found, or the copy that dlbridge loaded failed; a
  // copy that was already in the process failed; a copy is READY.
  Report reports[3] = {};
  uint32_t count = 0;                 // of reports that were published
  std::atomic<bool> starting{false};  // also read by a child that was forked meanwhile
  std::atomic<bool> lost{false};      // this process is such a child
};

Slot g_slots[kBackendCount];

bool IsReady(const Report& report) { return report.info.state == DLBRIDGE_STATE_READY; }

void Prepare(const Backend& backend, const char* file, Report* out) {
  std::memset(out, 0, sizeof *out);
  out->info.struct_size = sizeof out->info;
  out->info.backend = backend.id;
  out->generation = ForkGeneration();
  TextWriter(out->info.file, sizeof out->info.file).String(file);
}

// Starts one copy of the driver.
void Try(const Backend& backend, const LibraryCopy& copy, Slot* slot, Report* out) {
  Prepare(backend, copy.file, out);
  slot->starting.store(copy.handle != nullptr, std::memory_order_relaxed);
  out->info.state = backend.start(copy.handle, &out->info);
}

void Publish(const Backend& backend, const Report& report, Slot* slot) {
  Report* kept = &slot->reports[slot->count++];
  *kept = report;
  slot->report.store(kept, std::memory_order_release);
  if (IsReady(report)) {
    g_ready[backend.id].store(report.generation + 1, std::memory_order_release);
  }
  slot->starting.store(false, std::memory_order_relaxed);
}

// Tries the copies that are in the process, in the order in which they were loaded. The report is
// about the one that is ready, else about the first.
void TryLoaded(const Backend& backend, Slot* slot, Report* out) {
  LibraryCopy copy;
  while (!IsReady(*out) && slot->search.FindLoaded(backend.library, &copy)) {
    Report report;
    Try(backend, copy, slot, &report);
    slot->search.AddTried(copy.handle);
    report.about_foreign = true;
    if (out->info.state == 0 || IsReady(report)) {
      *out = report;
    }
  }
}

// Loads a copy and tries it. A report that exists is only replaced by success.
void TryOwn(const Backend& backend, Slot* slot, Report* out) {
  Report report;
  Prepare(backend, "", &report);
  TextWriter reason(report.info.reason, sizeof report.info.reason);
  LibraryCopy copy;
  if (slot->search.Load(backend.library, &copy, &reason)) {
    Try(backend, copy, slot, &report);
    slot->search.AddTried(copy.handle);
  } else {
    report.info.state = DLBRIDGE_STATE_ABSENT;
  }
  if (out->info.state == 0 || IsReady(report)) {
    *out = report;
  }
}

// The first start. The lock is held.
DLBridgeStatus Start(const Backend& backend, Slot* slot, DLBridgeError* error) {
  if (!slot->search.Begin(backend.library)) {
    return RejectMemory(error);
  }
  const uint64_t loads = LoadCount();
  Report report;
  Prepare(backend, "", &report);
  if (!kHasDrivers || backend.library.count == 0) {
    Try(backend, {nullptr, ""}, slot, &report);
  } else {
    TryLoaded(backend, slot, &report);
    if (!IsReady(report)) {
      TryOwn(backend, slot, &report);
    }
  }
  Publish(backend, report, slot);
  slot->search.FoundNoMore(loads);
  return DLBRIDGE_OK;
}

DLBridgeStatus StartFirst(const Backend& backend, Slot* slot, DLBridgeError* error) {
  if (!WatchForks()) {
    return RejectMemory(error);
  }
  const Locked locked(&slot->lock);
  return slot->report.load(std::memory_order_relaxed) == nullptr ? Start(backend, slot, error)
                                                                 : DLBRIDGE_OK;
}

// Tries a copy that was found after the first start, unless another thread was faster.
void StartCopy(const Backend& backend, const LibraryCopy& copy, Slot* slot) {
  const Locked locked(&slot->lock);
  const Report& last = *slot->report.load(std::memory_order_relaxed);
  if (IsReady(last) || slot->search.IsTried(copy.handle)) {
    return;
  }
  Report report;
  Try(backend, copy, slot, &report);
  report.about_foreign = true;
  if (IsReady(report) || !last.about_foreign) {
    Publish(backend, report, slot);
  }
  slot->search.AddTried(copy.handle);  // after the report: threads that find no copy return that
  slot->starting.store(false, std::memory_order_relaxed);
}

// A framework may bring its own copy of a driver at any time. The result must not depend on whether
// that was before or after the first request. No lock is held during the search: it waits for the
// loader, which in turn may wait for a constructor that calls this library.
void StartLater(const Backend& backend, Slot* slot) {
  const uint64_t loads = LoadCount();
  LibraryCopy copy;
  if (!slot->search.MayHaveMore(loads)) {
    return;
  }
  while (!IsReady(*slot->report.load(std::memory_order_acquire)) &&
         slot->search.FindLoaded(backend.library, &copy)) {
    StartCopy(backend, copy, slot);
  }
  slot->search.FoundNoMore(loads);
}

DLBRIDGE_COLD DLBridgeStatus RejectForked(const Backend& backend, DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_FORKED, backend.name,
                      "was started before this process was forked: start it only in the child");
}

DLBridgeStatus Started(const Backend& backend, const Report** out, DLBridgeError* error) {
  Slot* slot = &g_slots[backend.id];
  if (slot->lost.load(std::memory_order_relaxed)) {
    return RejectForked(backend, error);
  }
  const Report* report = slot->report.load(std::memory_order_acquire);
  if (report == nullptr) {
    DLBRIDGE_TRY(StartFirst(backend, slot, error));
    report = slot->report.load(std::memory_order_acquire);
  }
  // Also after the first start: another thread may have begun it before a copy was loaded.
  if (kHasDrivers && !IsReady(*report) && backend.library.count != 0) {
    StartLater(backend, slot);
    report = slot->report.load(std::memory_order_acquire);
  }
  *out = report;
  // A driver that is absent or failed to start holds nothing that a fork could break.
  const bool inherited = IsReady(*report) && report->generation != ForkGeneration();
  return inherited && backend.id != DLBRIDGE_BACKEND_CPU ? RejectForked(backend, error)
                                                         : DLBRIDGE_OK;
}

// A message shows the start of a longer reason; dlbridge_backend_info has all of it.
constexpr size_t kReasonRoom = 156;

DLBRIDGE_COLD DLBridgeStatus RejectUnavailable(const Backend& backend, const Report& report,
                                               DLBridgeError* error) {
  if (error == nullptr) {
    return DLBRIDGE_ERROR_UNAVAILABLE;  // for kDLOneAPI every request may come here
  }
  char start[kReasonRoom];
  TextWriter reason(start, sizeof start);
  reason.String(report.info.reason);
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
  return RejectEnum(error, argument, problem, found, kLastBackend);
}

DLBridgeStatus StartSlowly(const Backend& backend, DLBridgeError* error) {
  const Report* report = nullptr;
  DLBRIDGE_TRY(Started(backend, &report, error));
  return DLBRIDGE_LIKELY(IsReady(*report)) ? DLBRIDGE_OK
                                           : RejectUnavailable(backend, *report, error);
}

void ResetBackendsInChild() {
#ifndef _WIN32
  for (Slot& slot : g_slots) {
    slot.lock.ResetInChild();
    if (slot.starting.load(std::memory_order_relaxed)) {
      slot.starting.store(false, std::memory_order_relaxed);
      slot.lost.store(true, std::memory_order_relaxed);
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
    return dlbridge::RejectEnum(error, "backend", "must be one of " DLBRIDGE_LIST_BACKEND, backend,
                                dlbridge::kLastBackend);
  }
  const dlbridge::Report* report = nullptr;
  DLBRIDGE_TRY(dlbridge::Started(*found, &report, error));
  dlbridge::WriteOut(report->info, out);
  return DLBRIDGE_OK;
}

}  // extern "C"
