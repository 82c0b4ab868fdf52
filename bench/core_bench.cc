// SPDX-License-Identifier: Apache-2.0
// Times the core's operations, malloc + free and tvm-ffi in one run. Names are
// operation/ndim/strides; report.py prints their ratios. Each batch is between two short ones of
// malloc + free, because a virtual machine's speed changes from one second to the next.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>

#include "clock.h"
#include "operations.h"

namespace {

using dlbridge_bench::CpuTime;
using dlbridge_bench::NameOf;
using dlbridge_bench::Shape;
using dlbridge_bench::Strides;

// CPU time of one malloc + free now: the median of a few batches.
double UnitNow() {
  constexpr int kCalls = 4000;
  dlbridge_bench::MallocFree operation{Shape()};
  std::array<double, 9> batches{};
  for (double& batch : batches) {
    const double start = CpuTime();
    for (int i = 0; i < kCalls; ++i) {
      operation();
      benchmark::ClobberMemory();
    }
    batch = (CpuTime() - start) / kCalls;
  }
  std::nth_element(batches.begin(), batches.begin() + batches.size() / 2, batches.end());
  return batches[batches.size() / 2];
}

template <typename Operation>
void Time(benchmark::State& state, Shape shape) {
  const double before = UnitNow();
  Operation operation(shape);
  for (auto _ : state) {
    operation();
    benchmark::ClobberMemory();
  }
  state.counters["unit"] = (before + UnitNow()) / 2;
}

struct Register {
  template <typename Class>
  void Operation(const char* name) {
    for (const int32_t ndim : {1, 4, 8}) {
      Add<Class>(name, {ndim, Strides::kGiven});
      Add<Class>(name, {ndim, Strides::kNull});
    }
    Add<Class>(name, {4, Strides::kPermuted});
    Add<Class>(name, {8, Strides::kPermuted});
  }

  template <typename Class>
  static void Add(const char* name, Shape shape) {
    const std::string full =
        std::string(name) + "/" + std::to_string(shape.ndim) + "/" + NameOf(shape.strides);
    benchmark::RegisterBenchmark(full.c_str(), Time<Class>, shape);
  }
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("malloc_free", Time<dlbridge_bench::MallocFree>, Shape());
  Register visitor;
  dlbridge_bench::VisitOperations(visitor);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
