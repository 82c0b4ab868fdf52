// SPDX-License-Identifier: Apache-2.0
// Long runs: memory stays flat, and every tensor and entry ends. Each test is short here; `./run
// soak` sets DLBRIDGE_SOAK_SECONDS, for minutes of the timed ones and the full numbers of the
// others.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/every_function.h"
#include "support/scale.h"
#include "support/tensors.h"

#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace dlbridge_test {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// A sanitizer or valgrind keeps freed memory.
bool ShowsMemory() { return !kSanitized && Scale() == 1; }

const char* Asked(const char* variable) { return std::getenv(variable); }
bool IsLong() { return Asked("DLBRIDGE_SOAK_SECONDS") != nullptr; }

std::chrono::duration<double> SoakTime() {
  return std::chrono::duration<double>(
      IsLong() ? std::strtod(Asked("DLBRIDGE_SOAK_SECONDS"), nullptr) : 0.2);
}
size_t Number(size_t full, size_t quick) { return IsLong() ? full : Scaled(quick); }

// The memory of this process in KiB; 0 where it is not known.
int64_t ResidentKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t kib = 0;
    if (std::sscanf(line.c_str(), "VmRSS: %lld", reinterpret_cast<long long*>(&kib)) == 1) {
      return kib;
    }
  }
  return 0;
}

// --------------------------------------------------------------------------- mixed operations

// A producer whose tensors all share one struct's arrays. Its deleter counts.
struct Cheap {
  int64_t shape[3] = {2, 2, 1};
  int64_t strides[3] = {2, 1, 1};
  alignas(64) float data[4] = {};
  uint64_t deletions = 0;
  DLManagedTensor legacy = {};
  DLManagedTensorVersioned versioned = {};

  Cheap() {
    const DLTensor tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    legacy = {tensor, this, [](DLManagedTensor* self) { Count(self->manager_ctx); }};
    versioned = {
        {1, 3}, this, [](DLManagedTensorVersioned* self) { Count(self->manager_ctx); }, 0, tensor};
  }
  static void Count(void* self) { ++static_cast<Cheap*>(self)->deletions; }
};

// One round; returns its number of calls. Every tensor that it makes ends in it.
size_t MixedRound(Cheap* cheap, uint64_t round) {
  DLManagedTensorVersioned* first = nullptr;
  DLManagedTensorVersioned* second = nullptr;
  DLManagedTensor* legacy = nullptr;
  size_t calls = 0;
  const auto count = [&](DLBridgeStatus status) {
    ++calls;
    if (status != DLBRIDGE_OK) {
      ADD_FAILURE() << status;
    }
  };
  const auto release = [&](DLManagedTensorVersioned* tensor) {
    tensor->deleter(tensor);
    ++calls;
  };
  count(dlbridge_validate_legacy(&cheap->legacy, nullptr, nullptr));
  count(dlbridge_validate_versioned(&cheap->versioned, nullptr, nullptr));
  count(dlbridge_upgrade(&cheap->legacy, nullptr, &first, nullptr));
  count(dlbridge_share(first, &second, nullptr));
  release(first);
  release(second);
  count(dlbridge_import(&cheap->versioned, DLBRIDGE_KIND_VERSIONED, nullptr, &first, nullptr));
  count(dlbridge_share(first, &second, nullptr));
  release(first);
  count(dlbridge_downgrade(second, nullptr, &legacy, nullptr));
  count(dlbridge_upgrade(legacy, nullptr, &first, nullptr));
  release(first);
  count(dlbridge_downgrade(&cheap->versioned, nullptr, &legacy, nullptr));
  count(dlbridge_upgrade(legacy, nullptr, &first, nullptr));
  release(first);
  if (round % 16 == 0) {
    const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    count(dlbridge_copy(&cheap->legacy.dl_tensor, 0, &spec, &first, nullptr));
    release(first);
    DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
    count(dlbridge_import(&cheap->legacy, DLBRIDGE_KIND_UNKNOWN, nullptr, &first, nullptr));
    count(dlbridge_view(first, &view, &second, nullptr));
    release(first);
    release(second);
  }
  return calls;
}

// DLBRIDGE_SOAK_OPERATIONS: the number of calls, instead of a time.
TEST(Soak, MixedOperationsKeepMemoryFlat) {
  Cheap cheap;
  const char* asked = Asked("DLBRIDGE_SOAK_OPERATIONS");
  const uint64_t most = asked != nullptr ? std::strtoull(asked, nullptr, 10) : UINT64_MAX;
  const auto begin = Clock::now();
  uint64_t calls = 0;
  uint64_t round = 0;
  uint64_t expected = 0;
  int64_t before = 0;
  while (calls < most && (asked != nullptr || Clock::now() - begin < SoakTime()) && !HasFailure()) {
    for (int i = 0; i < 256; ++i, ++round) {
      calls += MixedRound(&cheap, round);
      expected += round % 16 == 0 ? 4 : 3;
    }
    before = before == 0 ? ResidentKib() : before;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const int64_t after = ResidentKib();
  std::printf("%llu calls, %.0f per second; %lld KiB, then %lld KiB\n",
              static_cast<unsigned long long>(calls), static_cast<double>(calls) / seconds,
              static_cast<long long>(before), static_cast<long long>(after));
  EXPECT_EQ(cheap.deletions, expected);
  if (ShowsMemory()) {
    EXPECT_LE(after, before + 1024);
  }
}

// ------------------------------------------------------------------------------- large numbers

// Of four kinds in turn: upgraded, imported, shares and views.
TEST(Soak, ManyTensorsLive) {
  const size_t number = Number(1000000, 20000);
  std::vector<DLManagedTensorVersioned*> tensors;
  tensors.reserve(number);
  while (tensors.size() < number && !HasFailure()) {
    DLManagedTensorVersioned* out = nullptr;
    DLBridgeStatus status = DLBRIDGE_OK;
    DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
    switch (tensors.size() % 4) {
      case 0:
        status = dlbridge_upgrade(NewLegacy(), nullptr, &out, nullptr);
        break;
      case 1:
        out = NewOwned();
        break;
      case 2:
        status = dlbridge_share(tensors[tensors.size() / 2], &out, nullptr);
        break;
      default:
        status = dlbridge_view(tensors[tensors.size() / 3], &view, &out, nullptr);
    }
    ASSERT_EQ(status, DLBRIDGE_OK);
    tensors.push_back(out);
  }
  EXPECT_EQ(g_foreign_tensors, static_cast<int64_t>((number + 1) / 4 + (number + 2) / 4));
  // In an order without a pattern.
  Random random(3);
  while (!tensors.empty()) {
    const auto at =
        static_cast<size_t>(random.Between(0, static_cast<int64_t>(tensors.size()) - 1));
    dlbridge_release_versioned(tensors[at]);
    tensors[at] = tensors.back();
    tensors.pop_back();
  }
  EXPECT_EQ(g_foreign_tensors, 0);
}

TEST(Soak, ManyRegistrationsWith64Live) {
  static std::atomic<size_t> released{0};
  released = 0;
  const size_t number = Number(1000000, 20000);
  uint64_t live[64] = {};
  int64_t before = 0;
  for (size_t i = 0; i < number && !HasFailure(); ++i) {
    uint64_t& id = live[i % 64];
    if (id != 0) {
      ASSERT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
    }
    DLBridgeContextEntry entry = NewEntry();
    entry.release = [](void*, const DLBridgeContextEntry*) { ++released; };
    id = Registered(entry);
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    ASSERT_EQ(dlbridge_context_find(entry.device, 0, &found, nullptr), DLBRIDGE_OK);
    ASSERT_EQ(found.id, id);
    before = i == number / 10 ? ResidentKib() : before;
  }
  if (ShowsMemory()) {
    EXPECT_LE(ResidentKib(), before + 1024);
  }
  for (const uint64_t id : live) {
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  }
  EXPECT_EQ(released, number);
}

// --------------------------------------------------------------------------------------- threads

// Calls functions of EveryFunction() that it draws, until `stop`.
class RandomCaller {
 public:
  explicit RandomCaller(uint64_t seed) : random_(seed) {}

  void Run(const std::atomic<bool>& stop, DLManagedTensorVersioned* shared) {
    const Caller plainly = [this](const Calling& call) {
      call();
      ++calls_;
    };
    while (!stop.load(std::memory_order_relaxed) && !testing::Test::HasFailure()) {
      random_.Pick(EveryFunction()).run(plainly);
      DLManagedTensorVersioned* mine = nullptr;
      EXPECT_EQ(dlbridge_share(shared, &mine, nullptr), DLBRIDGE_OK);
      EXPECT_EQ(dlbridge_validate_versioned(mine, nullptr, nullptr), DLBRIDGE_OK);
      dlbridge_release_versioned(mine);
    }
  }
  uint64_t calls() const { return calls_; }

 private:
  Random random_;
  uint64_t calls_ = 0;
};

constexpr size_t kThreads = 8;

// Runs `work` while eight threads call all functions. Returns the number of their calls.
template <class Work>
uint64_t WhileThreadsCall(Work work) {
  DLManagedTensorVersioned* shared = NewOwned();
  std::atomic<bool> stop{false};
  // A child that is forked during the initialisation of a static variable, or while a thread has
  // the loader's lock, would wait for ever: the variable and the context table are there before.
  EXPECT_FALSE(EveryFunction().empty());
  uint64_t cursor = 0;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_EQ(dlbridge_context_next(&cursor, &entry, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  std::vector<RandomCaller> callers;
  for (size_t i = 0; i < kThreads; ++i) {
    callers.emplace_back(i + 1);
  }
  std::vector<std::thread> threads;
  threads.reserve(callers.size());
  for (RandomCaller& caller : callers) {
    threads.emplace_back([&] { caller.Run(stop, shared); });
  }
  work(shared);
  stop = true;
  uint64_t calls = 0;
  for (size_t i = 0; i < kThreads; ++i) {
    threads[i].join();
    calls += callers[i].calls();
  }
  dlbridge_release_versioned(shared);
  EXPECT_EQ(g_foreign_tensors, 0);
  return calls;
}

TEST(Soak, EightThreadsOverAllFunctions) {
  const uint64_t calls = WhileThreadsCall(
      [](DLManagedTensorVersioned* /*shared*/) { std::this_thread::sleep_for(SoakTime()); });
  std::printf("%llu calls\n", static_cast<unsigned long long>(calls));
  EXPECT_GT(calls, 0U);
}

#ifdef __linux__

// The sanitizers' allocators do not survive a fork while other threads allocate, and valgrind
// reports their memory as leaked in the child.
TEST(Soak, ForksInTheMiddle) {
  if (kSanitized || Scale() < 1) {
    GTEST_SKIP() << "a fork of a process with threads needs the system's allocator";
  }
  const size_t number = Number(1000, 10);
  WhileThreadsCall([number](DLManagedTensorVersioned* shared) {
    for (size_t i = 0; i < number && !testing::Test::HasFailure(); ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        // A tensor of before the fork, and every function.
        DLManagedTensorVersioned* mine = nullptr;
        bool fine = dlbridge_share(shared, &mine, nullptr) == DLBRIDGE_OK;
        dlbridge_release_versioned(mine);
        for (const FunctionRow& row : EveryFunction()) {
          row.run([](const Calling& call) { call(); });
          fine = fine && !testing::Test::HasFailure();
        }
        _exit(fine ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << " of fork " << i;
    }
  });
}

#endif

}  // namespace
}  // namespace dlbridge_test
