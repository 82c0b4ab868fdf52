// SPDX-License-Identifier: Apache-2.0
// The context table: the cost of a look-up and of retaining an entry, by the number of entries.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace {

DLDevice Cuda(int64_t id) { return {kDLCUDA, static_cast<int32_t>(id)}; }

// Registers the given number of devices, with two contexts each.
class Registered {
 public:
  explicit Registered(int64_t devices) {
    for (int64_t i = 0; i < 2 * devices; ++i) {
      DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
      entry.backend = DLBRIDGE_BACKEND_CUDA;
      entry.device = Cuda(i / 2);
      entry.native_device = static_cast<uint64_t>(i / 2);
      entry.context = static_cast<uint64_t>(i) + 1;
      uint64_t id = 0;
      if (dlbridge_context_register(&entry, &id, nullptr) == DLBRIDGE_OK) {
        ids_.push_back(id);
      }
    }
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    for (const uint64_t id : ids_) {
      dlbridge_context_unregister(id, nullptr);
    }
  }
  uint64_t last() const { return ids_.back(); }

 private:
  std::vector<uint64_t> ids_;
};

// The least that a look-up must do: the reference for the others on a machine under load.
void CopyEntry(benchmark::State& state) {
  const DLBridgeContextEntry from = DLBRIDGE_CONTEXT_ENTRY_INIT;
  DLBridgeContextEntry entry;
  const DLBridgeContextEntry* source = &from;
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(source);
    entry = *source;
    benchmark::DoNotOptimize(entry);
  }
}
BENCHMARK(CopyEntry);

void LookupDefault(benchmark::State& state) {
  const Registered registered(state.range(0));
  const DLDevice device = Cuda(state.range(0) - 1);
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(dlbridge_context_find(device, 0, &entry, nullptr));
    benchmark::DoNotOptimize(entry);
  }
}
BENCHMARK(LookupDefault)->Arg(1)->Arg(8)->Arg(64);

void LookupContext(benchmark::State& state) {
  const Registered registered(state.range(0));
  const DLDevice device = Cuda(state.range(0) - 1);
  const auto context = static_cast<uint64_t>(2 * state.range(0));
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(dlbridge_context_find(device, context, &entry, nullptr));
    benchmark::DoNotOptimize(entry);
  }
}
BENCHMARK(LookupContext)->Arg(1)->Arg(8)->Arg(64);

void RetainRelease(benchmark::State& state) {
  const Registered registered(state.range(0));
  const uint64_t id = registered.last();
  for ([[maybe_unused]] const auto _ : state) {
    benchmark::DoNotOptimize(dlbridge_context_retain(id, nullptr));
    benchmark::DoNotOptimize(dlbridge_context_release(id, nullptr));
  }
}
BENCHMARK(RetainRelease)->Arg(1)->Arg(64);

// With entries that stay registered, so that memory would grow if ended entries kept theirs.
void RegisterUnregister(benchmark::State& state) {
  const Registered registered(state.range(0));
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = Cuda(state.range(0));
  entry.native_device = static_cast<uint64_t>(state.range(0));
  entry.context = 1;
  for ([[maybe_unused]] const auto _ : state) {
    uint64_t id = 0;
    benchmark::DoNotOptimize(dlbridge_context_register(&entry, &id, nullptr));
    benchmark::DoNotOptimize(dlbridge_context_unregister(id, nullptr));
  }
}
BENCHMARK(RegisterUnregister)->Arg(1)->Arg(32)->Arg(10000);

}  // namespace

BENCHMARK_MAIN();
