// SPDX-License-Identifier: Apache-2.0
// How much stack each function needs. docs/platforms.md has a bound for each, which holds for every
// supported compiler; the test reads that table. A sanitizer makes frames larger, so nothing is
// measured under one, but every function runs on 64 KiB.
#include <gtest/gtest.h>

#ifndef _WIN32

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "support/every_function.h"
#include "support/pages.h"
#include "support/scale.h"

namespace dlbridge_test {
namespace {

constexpr size_t kSmallStack = size_t{64} << 10;
constexpr unsigned char kPaint = 0xa5;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif
// Sanitizers put their own data and larger frames on a thread's stack, and the C library of aarch64
// accepts no less than 128 KiB.
size_t ThreadStack() {
  const auto least = static_cast<size_t>(std::max(sysconf(_SC_THREAD_STACK_MIN), 0L));
  return std::max(kSanitized ? 16 * kSmallStack : kSmallStack, least);
}

// A thread's stack between two unreadable pages.
class Stack {
 public:
  Stack() : page_(std::max(PageSize(), size_t{4096})), size_(ThreadStack()) {
    base_ = static_cast<unsigned char*>(MapPages(size_ + 2 * page_, Access::kWrite));
    EXPECT_NE(base_, nullptr);
    EXPECT_TRUE(ProtectPages(base_, page_, Access::kNone));
    EXPECT_TRUE(ProtectPages(base_ + page_ + size_, page_, Access::kNone));
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() { UnmapPages(base_, size_ + 2 * page_); }

  unsigned char* lowest() const { return base_ + page_; }

  // Runs `work` on a thread with this stack.
  void Run(const Calling& work) const {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstack(&attributes, lowest(), size_), 0);
    pthread_t thread;
    const auto start = [](void* given) -> void* {
      (*static_cast<const Calling*>(given))();
      return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, start, const_cast<Calling*>(&work)), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
  }

 private:
  size_t page_;
  size_t size_;
  unsigned char* base_;
};

// The bytes below this frame that `call` writes to, at least a kilobyte: this function's own calls
// use a part of the first one.
__attribute__((noinline)) size_t Measure(unsigned char* lowest, const Calling& call) {
  auto* here = static_cast<unsigned char*>(__builtin_frame_address(0)) - 1024;
  for (volatile unsigned char* at = lowest; at < here; ++at) {
    *at = kPaint;
  }
  call();
  const unsigned char* at = lowest;
  while (at < here && *const_cast<const volatile unsigned char*>(at) == kPaint) {
    ++at;
  }
  return static_cast<size_t>(here - at) + 1024;
}

// The most that the calls of a row need.
size_t NeedOf(const FunctionRow& row) {
  const Stack stack;
  size_t most = 0;
  const Caller measure = [&](const Calling& call) {
    if (!kSanitized && Scale() == 1) {  // valgrind reports writes below the stack pointer
      most = std::max(most, Measure(stack.lowest(), call));
    } else {
      call();
    }
  };
  stack.Run([&] { row.run(measure); });
  return most;
}

// The rows "| 1024 | `a`, `b` |" of the table in docs/platforms.md.
std::map<std::string, size_t> Documented() {
  std::ifstream file(DLBRIDGE_STACK_TABLE);
  std::map<std::string, size_t> bounds;
  for (std::string line; std::getline(file, line);) {
    size_t bytes = 0;
    if (std::sscanf(line.c_str(), "| %zu bytes |", &bytes) != 1) {
      continue;
    }
    for (size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at)) {
      const size_t end = line.find('`', at + 1);
      bounds[line.substr(at + 1, end - at - 1)] = bytes;
      at = end + 1;
    }
  }
  return bounds;
}

std::vector<std::string> NamesOf(const FunctionRow& row) {
  std::istringstream words(row.name);
  std::vector<std::string> names;
  for (std::string name; words >> name;) {
    names.push_back("dlbridge_" + name);
  }
  return names;
}

TEST(Stack, EachFunctionNeedsNoMoreThanDocumented) {
  const std::map<std::string, size_t> bounds = Documented();
  ASSERT_FALSE(bounds.empty());
  const Caller plainly = [](const Calling& call) { call(); };
  for (const FunctionRow& row : EveryFunction()) {
    row.run(plainly);  // so that no function is bound to its name when it is measured
    const size_t need = NeedOf(row);
    for (const std::string& name : NamesOf(row)) {
      ASSERT_TRUE(bounds.count(name) == 1)
          << name << " is not in the table of docs/platforms.md; measured " << need;
      EXPECT_LE(need, bounds.at(name)) << name << ": `stack` in facts/functions.toml";
      std::printf("%6zu of %6zu %s\n", need, bounds.at(name), name.c_str());
    }
  }
  EXPECT_EQ(g_foreign_tensors, 0);
}

#ifdef __linux__
// Each exported function has a row.
TEST(Stack, TheTableHasEveryFunction) {
  std::ifstream file(DLBRIDGE_SYMBOLS);
  const std::map<std::string, size_t> bounds = Documented();
  std::set<std::string> rows;
  for (const FunctionRow& row : EveryFunction()) {
    for (const std::string& name : NamesOf(row)) {
      rows.insert(name);
    }
  }
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(0, line.find('@'));
    EXPECT_EQ(bounds.count(name), 1U) << name << " is not in the table of docs/platforms.md";
    EXPECT_EQ(rows.count(name), 1U) << name << " is not in support/every_function.h";
    ++count;
  }
  EXPECT_GT(count, 50U);
}
#endif

}  // namespace
}  // namespace dlbridge_test

#endif
