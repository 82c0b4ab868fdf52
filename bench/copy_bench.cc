// SPDX-License-Identifier: Apache-2.0
// Times copies, one contestant at a time, as copy_report.py asks for them: each line of the input
// is
//
//   CONTESTANT ITERATIONS ITEM NDIM EXTENT... STRIDE...
//
// with the bytes of an element and the source's layout in elements. The arguments are the sizes of
// source and target in MiB, 160 and 80 without them. The answer is the CPU time of one iteration in
// nanoseconds. Contestants:
//
//   memcpy       the bytes of the result, from contiguous memory
//   into         dlbridge_upgrade with COPY, to memory that is already mapped
//   copy         the same, but the library allocates, and the result is released
//   malloc_free  128 bytes
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "clock.h"
#include "operations.h"

namespace {

using dlbridge_bench::Keep;
using dlbridge_bench::Require;

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kMiB = 1 << 20;

// Mapped as in copy_peer.py: huge pages, all touched.
char* MapWarm(size_t bytes) {
  void* pages =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Require(pages != MAP_FAILED, "mmap");
  const auto start = reinterpret_cast<uintptr_t>(pages) + kHugePage - 1;
  auto* aligned = reinterpret_cast<char*>(start / kHugePage * kHugePage);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  std::memset(aligned, 1, bytes);
  return aligned;
}

struct Job {
  std::string contestant;
  int64_t iterations = 0;
  int64_t item = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  size_t Bytes() const {
    int64_t bytes = item;
    for (const int64_t extent : shape) {
      bytes *= extent;
    }
    return static_cast<size_t>(bytes);
  }
  // Offset of the first element if the lowest is at 0.
  int64_t Start() const {
    int64_t start = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      start -= std::min<int64_t>(0, (shape[i] - 1) * strides[i] * item);
    }
    return start;
  }
};

Job Parse(const std::string& line) {
  Job job;
  size_t ndim = 0;
  std::istringstream in(line);
  in >> job.contestant >> job.iterations >> job.item >> ndim;
  job.shape.resize(ndim);
  job.strides.resize(ndim);
  for (auto* list : {&job.shape, &job.strides}) {
    for (int64_t& value : *list) {
      in >> value;
    }
  }
  Require(!in.fail(), "a line of the input");
  return job;
}

class Copy {
 public:
  Copy(Job& job, char* source, void* target) {
    options_.options = DLBRIDGE_CONVERT_COPY;
    if (target != nullptr) {
      hook_.context = target;
      hook_.allocate = [](void* context, DLDevice, uint64_t, uint64_t,
                          const DLBridgeStream* /*stream*/) { return context; };
      hook_.deallocate = [](void*, DLDevice, void*, uint64_t, uint64_t,
                            const DLBridgeStream* /*stream*/) {};
      options_.allocator = &hook_;
    }
    DLTensor& tensor = source_.dl_tensor;
    tensor.data = source + job.Start();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(job.shape.size());
    tensor.dtype = {kDLUInt, static_cast<uint8_t>(8 * job.item), 1};
    tensor.shape = job.shape.data();
    tensor.strides = job.strides.data();
  }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(dlbridge_upgrade(&source_, &options_, &out, &error_) == DLBRIDGE_OK, error_.message);
    Keep(out->dl_tensor.data);
    out->deleter(out);
  }

 private:
  DLManagedTensor source_ = {};
  DLBridgeAllocator hook_ = DLBRIDGE_ALLOCATOR_INIT;
  DLBridgeConvertOptions options_ = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeError error_;
};

double Now() { return dlbridge_bench::Now(CLOCK_THREAD_CPUTIME_ID); }

// The first call is not counted: it loads what other contestants have driven out of the caches.
template <class Operation>
double Time(int64_t iterations, Operation operation) {
  operation();
  const double start = Now();
  for (int64_t i = 0; i < iterations; ++i) {
    operation();
  }
  return (Now() - start) / static_cast<double>(iterations);
}

double Run(Job job, char* source, char* target, size_t target_bytes) {
  if (job.contestant == "malloc_free") {
    return Time(job.iterations, dlbridge_bench::MallocFree(dlbridge_bench::Shape()));
  }
  const size_t bytes = job.Bytes();
  Require(bytes <= target_bytes, "a result that fits the target");
  if (job.contestant == "memcpy") {
    return Time(job.iterations, [&] {
      std::memcpy(target, source, bytes);
      Keep(target);
    });
  }
  return Time(job.iterations, Copy(job, source, job.contestant == "into" ? target : nullptr));
}

}  // namespace

int main(int count, char** arguments) {
  const size_t source_bytes = kMiB * (count > 2 ? std::stoul(arguments[1]) : 160);
  const size_t target_bytes = kMiB * (count > 2 ? std::stoul(arguments[2]) : 80);
  char* source = MapWarm(source_bytes);
  char* target = MapWarm(target_bytes);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Run(Parse(line), source, target, target_bytes) << std::endl;
  }
  return 0;
}
