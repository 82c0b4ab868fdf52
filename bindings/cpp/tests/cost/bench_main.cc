// SPDX-License-Identifier: Apache-2.0
// Times the same operations in C and in C++, and malloc+free of 128 bytes, interleaved in one run:
// medians of many rounds, also as multiples of malloc+free (x).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cost.h"

namespace {

float data[120];
int64_t shape[4] = {2, 3, 4, 5};
int64_t strides[4] = {60, 20, 5, 1};
DLManagedTensor legacy = {
    {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0}, nullptr, nullptr};
DLManagedTensorVersioned* owned = nullptr;

int Malloc() {
  void* volatile memory = std::malloc(128);
  std::free(memory);
  return 1;
}

struct Operation {
  const char* name;
  int (*run)();
  std::vector<double> times;
};

double Nanoseconds(int (*run)()) {
  constexpr int kCalls = 2000;
  const auto start = std::chrono::steady_clock::now();
  int done = 0;
  for (int i = 0; i < kCalls; ++i) {
    done += run();
  }
  const auto end = std::chrono::steady_clock::now();
  if (done != kCalls) {
    std::abort();  // a failure would be measured
  }
  return std::chrono::duration<double, std::nano>(end - start).count() / kCalls;
}

double Median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

}  // namespace

int main() {
  DLManagedTensor other = legacy;
  if (dlbridge_upgrade(&other, nullptr, &owned, nullptr) != DLBRIDGE_OK) {
    return 1;
  }
  Operation operations[] = {
      {"malloc+free 128", Malloc, {}},
      {"validate, C", [] { return c_validate(&legacy); }, {}},
      {"validate, C++", [] { return cpp_validate(&legacy); }, {}},
      {"import+release, C", [] { return c_import(&legacy); }, {}},
      {"import+release, C++", [] { return cpp_import(&legacy); }, {}},
      {"upgrade+release, C", [] { return c_upgrade(&legacy); }, {}},
      {"upgrade+release, C++", [] { return cpp_upgrade(&legacy); }, {}},
      {"share+release, C", [] { return c_share(owned); }, {}},
      {"share+release, C++", [] { return cpp_share(owned); }, {}},
  };
  for (int round = 0; round < 501; ++round) {
    for (Operation& operation : operations) {
      operation.times.push_back(Nanoseconds(operation.run));
    }
  }
  const double unit = Median(operations[0].times);
  for (Operation& operation : operations) {
    const double time = Median(operation.times);
    std::printf("%-22s %7.2f ns %6.2f x\n", operation.name, time, time / unit);
  }
  dlbridge_release_versioned(owned);
  return 0;
}
