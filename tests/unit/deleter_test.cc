// SPDX-License-Identifier: Apache-2.0
// Deleters that do more than free memory: they call the library, release other tensors, block while
// other threads go on, and run in a forked child. No function holds a lock while a deleter runs.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

#ifndef _WIN32
#include "support/child.h"
#endif

namespace dlbridge_test {
namespace {

using Managed = DLManagedTensorVersioned;

// Uses what a program uses: conversions, another owner, validation, the context table, collect.
void UseTheLibrary() {
  LegacySource other;
  Managed* up = MustUpgrade(other.get(), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  Managed* share = MustShare(up);
  dlbridge_release_versioned(up);
  DLManagedTensor* down = MustDowngrade(share);
  EXPECT_EQ(dlbridge_validate_legacy(down, nullptr, nullptr), DLBRIDGE_OK);
  dlbridge_release_legacy(down);
  EXPECT_EQ(other.deletions(), 1);
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = Device(kDLCUDA, 5);
  entry.native_device = 5;
  entry.context = reinterpret_cast<uintptr_t>(&entry);
  uint64_t id = 0;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_collect(0, nullptr, nullptr), DLBRIDGE_OK);
}

// Each way on which the library calls a deleter.
TEST(Deleter, MayCallTheLibrary) {
  const auto released = [](auto* source, auto release) {
    int runs = 0;
    source->OnDelete([&] {
      ++runs;
      UseTheLibrary();
    });
    release();
    EXPECT_EQ(runs, 1);
  };
  LegacySource upgraded;
  Managed* up = MustUpgrade(upgraded.get());
  released(&upgraded, [&] { dlbridge_release_versioned(up); });
  VersionedSource imported;
  Managed* mine = MustAdopt(imported.get());
  released(&imported, [&] { EXPECT_EQ(dlbridge_release(mine, DLBRIDGE_KIND_VERSIONED), 0); });
  VersionedSource downgraded;
  DLManagedTensor* down = MustDowngrade(downgraded.get());
  released(&downgraded, [&] { down->deleter(down); });
  // A copy releases its source inside the conversion.
  LegacySource copied;
  Managed* copy = nullptr;
  released(&copied, [&] { copy = MustUpgrade(copied.get(), DLBRIDGE_CONVERT_COPY); });
  dlbridge_release_versioned(copy);
}

TEST(Deleter, MayReleaseOtherTensors) {
  constexpr int kTensors = 1000;
  // Each deleter releases the tensor that was made before: a chain through all of them.
  std::vector<std::unique_ptr<LegacySource>> sources;
  std::vector<Managed*> tensors;
  for (int i = 0; i < kTensors; ++i) {
    sources.push_back(std::make_unique<LegacySource>());
    tensors.push_back(MustUpgrade(sources.back()->get()));
    if (i > 0) {
      Managed* before = tensors[static_cast<size_t>(i) - 1];
      sources.back()->OnDelete([before] { dlbridge_release_versioned(before); });
    }
  }
  dlbridge_release_versioned(tensors.back());
  for (const auto& source : sources) {
    EXPECT_EQ(source->deletions(), 1);
  }
}

// The deleter of the data releases the other owner of another tensor, and the reverse.
TEST(Deleter, MayReleaseTheOtherOwnerOfAnotherTensor) {
  LegacySource first;
  LegacySource second;
  Managed* one = MustUpgrade(first.get());
  Managed* other = MustUpgrade(second.get());
  Managed* share = MustShare(other);
  first.OnDelete([&] { dlbridge_release_versioned(share); });
  dlbridge_release_versioned(other);
  EXPECT_EQ(second.deletions(), 0);
  dlbridge_release_versioned(one);
  EXPECT_EQ(second.deletions(), 1);
}

// A gate that a deleter waits at.
class Gate {
 public:
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitVisitor() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool waiting_ = false;
};

TEST(Deleter, MayBlockWhileOtherThreadsGoOn) {
  LegacySource source;
  Managed* tensor = MustUpgrade(source.get());
  Gate gate;
  source.OnDelete([&] { gate.Pass(); });
  std::thread blocked([&] { dlbridge_release_versioned(tensor); });
  gate.AwaitVisitor();
  UseTheLibrary();
  std::thread([] { UseTheLibrary(); }).join();
  gate.Open();
  blocked.join();
  EXPECT_EQ(source.deletions(), 1);
}

// The release callback of a context may block too: the context leaves the table before it runs.
TEST(Deleter, OfAContextMayBlockWhileOtherThreadsGoOn) {
  Gate gate;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = Device(kDLCUDA, 6);
  entry.native_device = 6;
  entry.context = 99;
  entry.release = [](void* context, const DLBridgeContextEntry* /*entry*/) {
    static_cast<Gate*>(context)->Pass();
  };
  entry.release_context = &gate;
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  std::thread blocked([&] { EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK); });
  gate.AwaitVisitor();
  UseTheLibrary();
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_NE(dlbridge_context_find(entry.device, 99, &found, nullptr), DLBRIDGE_OK);
  gate.Open();
  blocked.join();
}

#ifndef _WIN32

// Parent and child each release their own copy; a child may also fork inside a deleter.
TEST(Deleter, MayRunAfterFork) {
  LegacySource source;
  Managed* tensor = MustUpgrade(source.get());
  Managed* share = MustShare(tensor);
  const auto release_both = [&] {
    source.OnDelete(UseTheLibrary);
    dlbridge_release_versioned(tensor);
    EXPECT_EQ(source.deletions(), 0);
    dlbridge_release_versioned(share);
    EXPECT_EQ(source.deletions(), 1);
  };
  EXPECT_TRUE(InChild(release_both));
  EXPECT_EQ(source.deletions(), 0) << "the child has its own memory";
  release_both();
}

TEST(Deleter, MayFork) {
  LegacySource source;
  Managed* tensor = MustUpgrade(source.get());
  source.OnDelete([] { EXPECT_TRUE(InChild(UseTheLibrary)); });
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(source.deletions(), 1);
}

// The child gets a lock-free library, even if another thread is inside a deleter at that moment.
TEST(Deleter, OfAnotherThreadDoesNotBlockAForkedChild) {
  LegacySource source;
  Managed* tensor = MustUpgrade(source.get());
  Gate gate;
  source.OnDelete([&] { gate.Pass(); });
  std::thread blocked([&] { dlbridge_release_versioned(tensor); });
  gate.AwaitVisitor();
  EXPECT_TRUE(InChild(UseTheLibrary));
  gate.Open();
  blocked.join();
}

#endif

}  // namespace
}  // namespace dlbridge_test
