// SPDX-License-Identifier: Apache-2.0
// The hooks themselves: they see only the calls of the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

#include "faults/attempt.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// Of the C library and the compiler: functions that report no failure, or none that can occur.
bool CannotFail(const std::string& name) {
  static const std::set<std::string> known = {
      "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "strncmp", "strrchr",
      "strchr", "__memcpy_chk", "__memmove_chk", "__memset_chk", "__stack_chk_fail",
      "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
      "_ITM_registerTMCloneTable", "abort",
      // The mutexes are of the default kind, and each is unlocked by the thread that locked it.
      "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_mutex_init", "dl_iterate_phdr",
      "dlclose", "dlerror", "close", "getpid", "sysconf", "getenv", "secure_getenv",
      "__errno_location", "sched_yield",
      // A pause may end early.
      "nanosleep"};
  return known.count(name) != 0;
}

// A call of the library that no hook knows would never fail in these tests.
TEST(Hooks, KnowEachFunctionThatCanFail) {
  std::vector<char> text(1 << 15);
  ASSERT_LT(faults_unhooked(CLibrary::kModule, text.data(), text.size()), text.size());
  std::istringstream names(text.data());
  size_t count = 0;
  for (std::string name; names >> name; ++count) {
    const bool of_sanitizer = name.rfind("__asan", 0) == 0 || name.rfind("__ubsan", 0) == 0 ||
                              name.rfind("__tsan", 0) == 0 || name.rfind("__interceptor", 0) == 0;
    EXPECT_TRUE(of_sanitizer || CannotFail(name)) << name << ": add it to hooks.c or to CannotFail";
  }
  EXPECT_GT(count, 5U) << "the imports are not read";
}

TEST(Hooks, SeeOnlyTheLibrary) {
  const CLibrary library;
  const VersionedSource source;
  DLManagedTensorVersioned* out = nullptr;
  faults_arm(1, 1);
  void* (*volatile allocate)(size_t) = std::malloc;
  void* mine = allocate(10);
  EXPECT_EQ(faults_seen(), 0);
  EXPECT_EQ(dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, nullptr, &out, nullptr),
            DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(faults_seen(), 1);
  EXPECT_STREQ(faults_last(), "malloc");
  std::thread([&] { out = MustAdopt(source.get()); }).join();
  EXPECT_EQ(faults_seen(), 1) << "the calls of another thread do not fail";
  EXPECT_EQ(faults_disarm(), 1);
  EXPECT_NE(mine, nullptr);
  std::free(mine);
  dlbridge_release_versioned(out);
}

TEST(Hooks, CountWhatIsHeld) {
  const CLibrary library;
  const VersionedSource source;
  const Held before = Held::Now();
  DLManagedTensorVersioned* out = MustAdopt(source.get());
  EXPECT_EQ(Held::Now().blocks, before.blocks + 1);
  dlbridge_release_versioned(out);
  ExpectSame(Held::Now(), before);
}

}  // namespace
}  // namespace dlbridge_test
