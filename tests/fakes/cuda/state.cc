// SPDX-License-Identifier: Apache-2.0
// The records of the fake: calls, violations, and failures planned by a test.
#include "state.h"

#include <cstring>

namespace fake_cuda {

bool g_fast = false;

// Never destroyed: a library may call the driver until the process ends.
State& TheState() {
  static auto* const state = new State;
  return *state;
}

Thread& ThisThread() { return TheState().threads[std::this_thread::get_id()]; }

Context* Current() {
  Thread& thread = ThisThread();
  return thread.contexts.empty() ? nullptr : thread.contexts.back();
}

CUresult Violation(CUresult code, const std::string& text) {
  TheState().violations.push_back(text);
  return code;
}

namespace {

CUresult PlannedForAny(const char* function) {
  auto& any = TheState().any;
  if (any.nth == 0 || --any.nth != 0) {
    return CUDA_SUCCESS;
  }
  any.nth = any.for_good ? 1 : 0;
  any.failed.append(function).append(" ");
  return static_cast<CUresult>(any.code);
}

CUresult Planned(const char* function) {
  State& state = TheState();
  if (const CUresult code = PlannedForAny(function); code != CUDA_SUCCESS) {
    return code;
  }
  for (auto failure = state.failures.begin(); failure != state.failures.end(); ++failure) {
    if (failure->function == function && --failure->nth == 0) {
      const auto code = static_cast<CUresult>(failure->code);
      state.failures.erase(failure);
      return code;
    }
  }
  return CUDA_SUCCESS;
}

CUresult CheckState(const std::string& function, Call::Needs needs) {
  State& state = TheState();
  const char* stub = std::getenv("FAKE_CUDA_STUB");
  if (stub != nullptr && stub[0] == '1') {
    return CUDA_ERROR_STUB_LIBRARY;
  }
  if (needs == Call::kNothing) {
    return CUDA_SUCCESS;
  }
  if (state.pid == 0) {
    return Violation(CUDA_ERROR_NOT_INITIALIZED, function + " before cuInit");
  }
  if (state.pid != getpid()) {
    return Violation(CUDA_ERROR_NOT_INITIALIZED, function + " in a forked child");
  }
  if (needs != Call::kHost && state.fault != CUDA_SUCCESS) {
    return state.fault;
  }
  if (needs == Call::kContext && Current() == nullptr) {
    return Violation(CUDA_ERROR_INVALID_CONTEXT, function + " without a current context");
  }
  if (needs == Call::kContext && !Current()->alive) {
    return Violation(CUDA_ERROR_CONTEXT_IS_DESTROYED, function + " in a destroyed context");
  }
  return CUDA_SUCCESS;
}

}  // namespace

Call::Call(const char* function, Needs needs) : guard_(TheState().lock) {
  TheState().log.append(function).append(" ");
  result_ = CheckState(function, needs);
  if (result_ == CUDA_SUCCESS) {
    result_ = Planned(function);
  }
}

}  // namespace fake_cuda

using fake_cuda::TheState;
using Guard = std::lock_guard<std::recursive_mutex>;

extern "C" {

void fake_cuda_fail(const char* function, int code, int nth) {
  const Guard guard(TheState().lock);
  TheState().failures.push_back({function, code, nth});
}

int fake_cuda_failures_left() {
  const Guard guard(TheState().lock);
  return static_cast<int>(TheState().failures.size());
}

void fake_cuda_forget_failures() {
  const Guard guard(TheState().lock);
  TheState().failures.clear();
}

const char* fake_cuda_fail_any(int code, int nth, int for_good) {
  const Guard guard(TheState().lock);
  auto& any = TheState().any;
  any.reported = any.failed;
  any.failed.clear();
  any.code = code;
  any.nth = nth;
  any.for_good = for_good != 0;
  return any.reported.c_str();
}

int fake_cuda_violations() {
  const Guard guard(TheState().lock);
  return static_cast<int>(TheState().violations.size());
}

const char* fake_cuda_violation_texts() {
  const Guard guard(TheState().lock);
  std::string& texts = TheState().violation_texts;
  texts.clear();
  for (const std::string& violation : TheState().violations) {
    texts.append(violation).append("\n");
  }
  return texts.c_str();
}

void fake_cuda_forgive() {
  const Guard guard(TheState().lock);
  TheState().violations.clear();
}

const char* fake_cuda_log() {
  const Guard guard(TheState().lock);
  return TheState().log.c_str();
}

void fake_cuda_clear_log() {
  const Guard guard(TheState().lock);
  TheState().log.clear();
}

void fake_cuda_counts(FakeCudaCounts* out) {
  const Guard guard(TheState().lock);
  const fake_cuda::State& state = TheState();
  *out = {};
  out->context_depth = static_cast<int>(fake_cuda::ThisThread().contexts.size());
  out->capture_mode = fake_cuda::ThisThread().mode;
  out->live_events = static_cast<int>(state.events.size());
  out->events_created = state.events_created;
  out->live_streams = static_cast<int>(state.streams.size());
  out->primary_created = state.primary_created;
  for (const fake_cuda::Device& device : state.devices) {
    out->primary_retained += device.retained;
  }
  for (const auto& memory : state.memory) {
    out->live_mappings += memory.second.opened;
    out->live_chunks += memory.second.reservation != nullptr ? 1 : 0;
  }
  for (const fake_cuda::Pool& pool : state.pools) {
    out->live_pools += pool.is_default ? 0 : 1;
  }
  for (const fake_cuda::Allocation& allocation : state.allocations) {
    out->live_allocations += allocation.handles;
  }
  out->live_reservations = static_cast<int>(state.reservations.size());
}

void fake_cuda_fault(CUcontext context, int code) {
  const Guard guard(TheState().lock);
  TheState().faulted = code != 0 ? reinterpret_cast<fake_cuda::Context*>(context) : nullptr;
  TheState().fault = static_cast<CUresult>(code);
}

void fake_cuda_garbage_ids(int on) { TheState().garbage_ids = on != 0; }
void fake_cuda_hide_unmapped(int on) { TheState().hide_unmapped = on != 0; }

void fake_cuda_fast(int on) { fake_cuda::g_fast = on != 0; }
}
