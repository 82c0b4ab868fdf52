// SPDX-License-Identifier: Apache-2.0
// Memory and growth: bytes of live tensors, many tensors, many registrations, look-ups among many
// entries, releases on other threads, and the first call after dlopen. Prints one JSON object for
// each row. Times are CPU time: the median of short batches, and their
// quartiles.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"
#include "operations.h"

namespace {

using dlbridge_bench::CpuTime;
using dlbridge_bench::Now;
using dlbridge_bench::Require;
using dlbridge_bench::Shape;
using dlbridge_bench::Source;

using Tensors = std::vector<DLManagedTensorVersioned*>;

void Print(const std::string& name, const char* unit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  std::printf(
      "{\"name\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, \"low\": %.6g, \"high\": %.6g}\n",
      name.c_str(), unit, at(2), at(1), at(3));
  std::fflush(stdout);
}

size_t BytesInUse() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void UpgradeAll(Source* source, Tensors* out) {
  for (DLManagedTensorVersioned*& tensor : *out) {
    Require(dlbridge_upgrade(source->legacy(), nullptr, &tensor, nullptr) == DLBRIDGE_OK,
            "upgrade");
  }
}

void ReleaseAll(const Tensors& tensors) {
  for (DLManagedTensorVersioned* tensor : tensors) {
    tensor->deleter(tensor);
  }
}

// ------------------------------------------------------------------------------------- tensors

void BytesPerTensor() {
  for (const int32_t ndim : {0, 1, 2, 4, 8, 16, 32, 64}) {
    Source source(Shape{ndim, dlbridge_bench::Strides::kGiven, 2 - (ndim > 62)});
    Tensors tensors(1000);
    const size_t before = BytesInUse();
    UpgradeAll(&source, &tensors);
    // Whole bytes: the allocator may split a larger block for the first one.
    const auto bytes = static_cast<double>((BytesInUse() - before) / 1000);
    ReleaseAll(tensors);
    Print("bytes_per_tensor/" + std::to_string(ndim), "bytes", {bytes});
  }
}

// The cost of each tensor while many are alive. The first round maps the memory.
void LiveTensors(size_t count) {
  Source source(Shape{4, dlbridge_bench::Strides::kGiven, 2});
  std::vector<double> made;
  std::vector<double> released;
  for (int round = 0; round < 4; ++round) {
    Tensors tensors(count);
    const double begin = CpuTime();
    UpgradeAll(&source, &tensors);
    const double middle = CpuTime();
    ReleaseAll(tensors);
    const double end = CpuTime();
    if (round != 0) {
      made.push_back((middle - begin) / static_cast<double>(count));
      released.push_back((end - middle) / static_cast<double>(count));
    }
  }
  Print("live_tensors_made/" + std::to_string(count), "ns", made);
  Print("live_tensors_released/" + std::to_string(count), "ns", released);
}

// ------------------------------------------------------------------------------- context table

DLBridgeContextEntry Entry(size_t i) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = {kDLCUDA, static_cast<int32_t>(i)};
  entry.native_device = i;
  entry.context = i + 1;
  return entry;
}

std::vector<uint64_t> Register(size_t count) {
  std::vector<uint64_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    const DLBridgeContextEntry entry = Entry(i);
    Require(dlbridge_context_register(&entry, &ids[i], nullptr) == DLBRIDGE_OK, "register");
  }
  return ids;
}

void Unregister(const std::vector<uint64_t>& ids) {
  for (const uint64_t id : ids) {
    Require(dlbridge_context_unregister(id, nullptr) == DLBRIDGE_OK, "unregister");
  }
}

double LookUp(size_t count) {
  constexpr int kTimes = 20000;
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t random = 1;
  const double begin = CpuTime();
  for (int i = 0; i < kTimes; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const DLDevice device = {kDLCUDA, static_cast<int32_t>((random >> 33) % count)};
    Require(dlbridge_context_find(device, 0, &found, nullptr) == DLBRIDGE_OK, "find");
  }
  return (CpuTime() - begin) / kTimes;
}

// Registrations and look-ups. The first round is the one in which the table grows.
void ContextTable(size_t count) {
  const std::string suffix = "/" + std::to_string(count);
  const size_t bytes = BytesInUse();
  const double begin = CpuTime();
  const std::vector<uint64_t> ids = Register(count);
  Print("registrations" + suffix, "ms", {(CpuTime() - begin) / 1e6});
  Print("registrations_bytes" + suffix, "bytes", {static_cast<double>(BytesInUse() - bytes)});
  std::vector<double> times(15);
  for (double& time : times) {
    time = LookUp(count);
  }
  Print("look_up" + suffix, "ns", times);
  Unregister(ids);
}

// ------------------------------------------------------------------------------------ threads

// Each thread makes tensors and releases those that its neighbour made.
struct Ring {
  static constexpr size_t kTensors = 4000;
  explicit Ring(size_t threads) : made(threads, Tensors(kTensors)) {
    for (size_t i = 0; i < threads; ++i) {
      sources.push_back(std::make_unique<Source>(Shape{4, dlbridge_bench::Strides::kGiven, 2}));
    }
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { pthread_barrier_destroy(&barrier); }

  double Run(size_t self) {
    double spent = 0;
    for (int round = 0; round < 10; ++round) {
      const double begin = Now(CLOCK_THREAD_CPUTIME_ID);
      UpgradeAll(sources[self].get(), &made[self]);
      spent += Now(CLOCK_THREAD_CPUTIME_ID) - begin;
      pthread_barrier_wait(&barrier);
      const double middle = Now(CLOCK_THREAD_CPUTIME_ID);
      ReleaseAll(made[(self + 1) % made.size()]);
      spent += Now(CLOCK_THREAD_CPUTIME_ID) - middle;
      pthread_barrier_wait(&barrier);
    }
    return spent / 10 / kTensors;
  }

  std::vector<std::unique_ptr<Source>> sources;
  std::vector<Tensors> made;
  pthread_barrier_t barrier;
};

void ReleasesOnOtherThreads(size_t count) {
  Ring ring(count);
  std::vector<double> times(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { times[i] = ring.Run(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Print("release_on_other_thread/" + std::to_string(count), "ns", times);
}

// Threads share and release one tensor: they contend for its count of owners.
void SharesOfOneTensor(size_t count) {
  constexpr int kTimes = 20000;
  Source source(Shape{4, dlbridge_bench::Strides::kGiven, 2});
  DLManagedTensorVersioned* root = nullptr;
  Require(dlbridge_upgrade(source.legacy(), nullptr, &root, nullptr) == DLBRIDGE_OK, "upgrade");
  std::vector<double> times(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const double begin = Now(CLOCK_THREAD_CPUTIME_ID);
      for (int n = 0; n < kTimes; ++n) {
        DLManagedTensorVersioned* share = nullptr;
        Require(dlbridge_share(root, &share, nullptr) == DLBRIDGE_OK, "share");
        share->deleter(share);
      }
      times[i] = (Now(CLOCK_THREAD_CPUTIME_ID) - begin) / kTimes;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  root->deleter(root);
  Print("share_of_one_tensor/" + std::to_string(count), "ns", times);
}

// The reader of a tensor's fields and the count of owners are in one block, so they can be in one
// cache line: of 1000 tensors, how many have them so?
void LinesOfOneTensor() {
  constexpr size_t kOwners = 0x68;  // as in src/tensor/node.h
  constexpr size_t kLine = 64;
  Source source(Shape{4, dlbridge_bench::Strides::kGiven, 2});
  Tensors tensors(1000);
  UpgradeAll(&source, &tensors);
  size_t together = 0;
  for (DLManagedTensorVersioned* tensor : tensors) {
    const auto address = reinterpret_cast<uintptr_t>(tensor);
    const uintptr_t last_read = reinterpret_cast<uintptr_t>(&tensor->dl_tensor.byte_offset);
    together += (address + kOwners) / kLine == last_read / kLine;
  }
  ReleaseAll(tensors);
  Print("owners_in_a_line_with_the_tensor", "of 1000", {static_cast<double>(together)});
}

// ------------------------------------------------------------------------------- the first call

// dlopen and one call, in a process that does nothing else; a library without functions is only
// loaded. The file is in the page cache. Prints CPU time, and the time that passed, in
// microseconds.
int PrintFirstCall(const char* library) {
  Source source(Shape{4, dlbridge_bench::Strides::kGiven, 2});
  const double begin = Now(CLOCK_MONOTONIC);
  const double cpu = CpuTime();
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Require(handle != nullptr, "dlopen");
  auto* validate =
      reinterpret_cast<decltype(&dlbridge_validate)>(dlsym(handle, "dlbridge_validate"));
  if (validate != nullptr) {
    Require(validate(&source.tensor(), 0, nullptr, nullptr) == DLBRIDGE_OK, "validate");
  }
  std::printf("%f %f\n", (CpuTime() - cpu) / 1000, (Now(CLOCK_MONOTONIC) - begin) / 1000);
  return 0;
}

// CPU time, and the time that passed.
struct FirstCalls {
  std::vector<double> cpu;
  std::vector<double> passed;

  // One process that loads `library`.
  void Add(const char* self, const char* library) {
    const std::string command = std::string("'") + self + "' first '" + library + "'";
    FILE* process = popen(command.c_str(), "r");
    Require(process != nullptr, "popen");
    double times[2] = {};
    Require(std::fscanf(process, "%lf %lf", &times[0], &times[1]) == 2, "the first call");
    Require(pclose(process) == 0, "the process of the first call");
    cpu.push_back(times[0]);
    passed.push_back(times[1]);
  }
};

// `library` must not be loaded in the process: it is a copy of the file. What is left of its time
// beside that of an empty library is its own; both are measured in turn.
void CompareFirstCalls(const char* self, const char* library) {
  FirstCalls own;
  FirstCalls empty;
  for (int i = 0; i < 51; ++i) {
    own.Add(self, library);
    empty.Add(self, EMPTY_LIBRARY);
  }
  Print("dlopen_and_first_call", "us", own.cpu);
  Print("dlopen_and_first_call_passed", "us", own.passed);
  Print("dlopen_of_an_empty_library", "us", empty.cpu);
}

}  // namespace

int main(int count, char** words) {
  if (count > 2) {
    return PrintFirstCall(words[2]);
  }
  BytesPerTensor();
  for (const size_t tensors : {1000U, 1000000U}) {
    LiveTensors(tensors);
  }
  for (const size_t entries : {1U, 10U, 100U, 1000U, 10000U}) {
    ContextTable(entries);
  }
  for (const size_t threads : {1U, 2U, 4U, 8U}) {
    ReleasesOnOtherThreads(threads);
    SharesOfOneTensor(threads);
  }
  LinesOfOneTensor();
  if (count > 1) {
    CompareFirstCalls(words[0], words[1]);
  }
  return 0;
}
