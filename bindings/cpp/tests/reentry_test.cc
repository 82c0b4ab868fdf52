// SPDX-License-Identifier: Apache-2.0
// Release callbacks that call the library, release other tensors, wait for other threads, or run in
// a forked child.
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

// A tensor over the elements, whose last owner calls `release`.
template <class F>
db::tensor Lend(std::vector<float>& elements, F&& release) {
  return db::wrap_borrowed(elements, std::forward<F>(release)).value();
}

// One call of each kind: conversions, sharing, text, copies, the context table, deferred releases.
void UseTheLibrary() {
  Foreign legacy;
  Foreign versioned;
  {
    const db::tensor owned = db::import(legacy.as_legacy()).value();
    const db::tensor shared = db::share(owned).value();
    const db::tensor copied = db::copy(shared).value();
    EXPECT_EQ((copied.elements<const float, 2>().value()(1, 2)), 5);
    db::foreign_legacy down = db::downgrade(versioned.as_versioned()).value();
    EXPECT_FALSE(db::to_string(shared).empty());
    EXPECT_TRUE(db::diagnose(down).has_value());
    const db::stream host = db::stream::host();
    EXPECT_TRUE(db::release_after(std::move(down), db::span<const db::stream>(&host, 1)));
  }
  EXPECT_TRUE(db::collect());
  const db::context_entry entry = db::context_entry(db::backend::cuda, db::make_device(kDLCUDA, 9))
                                      .native_device(9)
                                      .context(4711);
  EXPECT_TRUE(db::context_register(entry, [] {}));
  EXPECT_EQ(legacy.deletes, 1);
  EXPECT_EQ(versioned.deletes, 1);
}

TEST(Reentry, ReleasesCallTheLibrary) {
  std::vector<float> elements(6);
  int calls = 0;
  Lend(elements, [&] {
    ++calls;
    UseTheLibrary();
  }).reset();
  EXPECT_EQ(calls, 1);
}

// Each callable owns the next tensor, and gives it up when it is called.
TEST(Reentry, ReleasesReleaseOthers) {
  std::vector<float> elements(6);
  int calls = 0;
  db::tensor last = Lend(elements, [&] { ++calls; });
  for (int i = 0; i < 1000; ++i) {
    auto next = std::make_shared<db::tensor>(std::move(last));
    last = Lend(elements, [&calls, next] {
      ++calls;
      next->reset();
    });
  }
  last.reset();
  EXPECT_EQ(calls, 1001);
}

// The owner that an assignment or a reset replaces is empty, or already the new tensor, when the
// callable runs.
TEST(Reentry, ReleasesSeeTheirOwnerEmptyOrNew) {
  std::vector<float> elements(6);
  db::tensor owner;
  int calls = 0;
  const auto look = [&] {
    ++calls;
    EXPECT_FALSE(owner);
    owner.reset();
  };
  owner = Lend(elements, look);
  owner.reset();
  EXPECT_EQ(calls, 1);
  owner = Lend(elements, [&] {
    ++calls;
    EXPECT_TRUE(!owner || owner.data() != nullptr);
    owner.reset();
  });
  int second = 0;
  owner = Lend(elements, [&] { ++second; });
  owner.reset();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(second, 1);
}

// No lock of the library is held while a callable runs: another thread gets all its work done.
TEST(Reentry, ReleasesWaitForOtherThreads) {
  std::vector<float> elements(6);
  std::mutex mutex;
  std::condition_variable changed;
  bool inside = false;
  bool done = false;
  db::tensor lent = Lend(elements, [&] {
    std::unique_lock<std::mutex> lock(mutex);
    inside = true;
    changed.notify_all();
    changed.wait(lock, [&] { return done; });
  });
  std::thread releasing([&] { lent.reset(); });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  UseTheLibrary();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  changed.notify_all();
  releasing.join();
}

#if defined(__unix__)
// Parent and child each have a copy of the tensor, and each releases it once.
TEST(Reentry, ReleasesRunAfterFork) {
  std::vector<float> elements(6);
  int calls = 0;
  db::tensor lent = Lend(elements, [&] {
    ++calls;
    UseTheLibrary();
  });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  lent.reset();
  if (child == 0) {
    _exit(calls == 1 && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(calls, 1);
}
#endif

}  // namespace
}  // namespace dlbridge_cpp_test
