// SPDX-License-Identifier: Apache-2.0
// Runs each operation many times under callgrind, which writes a dump for each, named
// operation/ndim/strides/extent. instructions.py and budget.py read the dumps.
#include <valgrind/callgrind.h>

#include <cstring>
#include <string>

#include "more_operations.h"
#include "operations.h"

namespace {

using dlbridge_bench::NameOf;
using dlbridge_bench::Shape;
using dlbridge_bench::Strides;

constexpr int kWarmUp = 16;  // binds symbols and fills the allocator's cache
constexpr int kTimes = 1000;
constexpr int kBatches = 20;  // of operations on 64 tensors

template <typename Operation>
void Count(const std::string& name, const Shape& shape) {
  Operation operation(shape);
  for (int i = 0; i < kWarmUp; ++i) {
    operation();
  }
  CALLGRIND_ZERO_STATS;
  const int times = name.find("_64") != std::string::npos ? kBatches : kTimes;
  for (int i = 0; i < times; ++i) {
    operation();
    dlbridge_bench::Keep(&operation);
  }
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

struct CountAll {
  template <typename Class>
  void Operation(const char* name) {
    for (const int32_t ndim : {1, 2, 4, 8, 16, 32, 52}) {
      Case<Class>(name, {ndim, Strides::kGiven, 2});
      Case<Class>(name, {ndim, Strides::kNull, 2});
    }
    for (const int32_t ndim : {4, 8}) {
      Case<Class>(name, {ndim, Strides::kPermuted, 2});
    }
    for (const int64_t extent : {30, 1000, 10000}) {
      Case<Class>(name, {4, Strides::kGiven, extent});
    }
  }

  template <typename Class>
  static void Case(const char* name, const Shape& shape) {
    Count<Class>(std::string(name) + "/" + std::to_string(shape.ndim) + "/" +
                     NameOf(shape.strides) + "/" + std::to_string(shape.extent),
                 shape);
  }
};

// For the budget: other strides at one ndim. A batch's cost depends on what the allocator has
// cached.
struct CountOtherStrides {
  template <typename Class>
  void Operation(const char* name) {
    if (std::strstr(name, "_64") == nullptr) {
      CountAll::Case<Class>(name, {4, Strides::kNull, 2});
      CountAll::Case<Class>(name, {4, Strides::kPermuted, 2});
    }
  }
};

// For the budget: compact strides at three ndim.
struct CountForBudget {
  template <typename Class>
  void Operation(const char* name) {
    for (const int32_t ndim : {1, 4, 8}) {
      CountAll::Case<Class>(name, {ndim, Strides::kGiven, 2});
    }
  }
  template <typename Class>
  void Single(const char* name) {
    Count<Class>(name, Shape());
  }
};

}  // namespace

int main(int count, char** words) {
  Count<dlbridge_bench::Nothing>("nothing", Shape());
  Count<dlbridge_bench::MallocFree>("malloc_free", Shape());
  if (count > 1 && std::strcmp(words[1], "--budget") == 0) {
    CountForBudget visitor;
    dlbridge_bench::VisitOperations(visitor);
    dlbridge_bench::VisitMoreOperations(visitor);
    CountOtherStrides others;
    dlbridge_bench::VisitOperations(others);
  } else {
    CountAll visitor;
    dlbridge_bench::VisitOperations(visitor);
  }
  return 0;
}
