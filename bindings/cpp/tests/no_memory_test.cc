// SPDX-License-Identifier: Apache-2.0
// Each allocation of the binding, and each call that the library makes of the C library, fails once
// and once for good under the functions whose failures the corpus (conformance_test.cc) does not
// reach: those that hold callables, containers, lists and file descriptors.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "faults/hooks.h"
#include "foreign.h"

namespace {

// operator new of the whole program fails where the next test wants it to.
std::atomic<std::int64_t> live_blocks{0};
bool armed = false;
bool forever = false;
std::int64_t until_failure = 0;
std::int64_t failed_news = 0;

bool NewFails() {
  if (!armed || (failed_news != 0 && !forever) || --until_failure > 0) {
    return false;
  }
  ++failed_news;
  return true;
}

void* Allocate(std::size_t size) {
  void* memory = NewFails() ? nullptr : std::malloc(size != 0 ? size : 1);
  live_blocks += memory != nullptr ? 1 : 0;
  return memory;
}

void Free(void* memory) {
  live_blocks -= memory != nullptr ? 1 : 0;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = Allocate(size);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return Allocate(size);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { Free(memory); }

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

enum class Source { kNew, kLibrary };

// One run of a scenario, which makes its one call through this object.
class Attempt {
 public:
  Attempt(Source source, std::int64_t nth, bool for_good)
      : source_(source), nth_(nth), for_good_(for_good) {}

  // Returns what the call returned; nothing if it threw std::bad_alloc or returned an error.
  template <class Call>
  auto operator()(Call call) -> std::optional<std::decay_t<decltype(*call())>> {
    Arm();
    try {
      auto made = call();
      Disarm();
      if (made) {
        return *std::move(made);
      }
      EXPECT_NE(failed_, 0) << made.error().message();
      EXPECT_EQ(made.error().rule(), db::rule_code::none);
      EXPECT_STRNE(made.error().message(), "");
    } catch (const std::bad_alloc&) {
      Disarm();
      EXPECT_NE(failed_, 0);
    }
    return std::nullopt;
  }

  std::int64_t failed() const { return failed_; }

 private:
  void Arm() {
    if (source_ == Source::kLibrary) {
      faults_arm(nth_, for_good_ ? 1 : 0);
      return;
    }
    failed_news = 0;
    until_failure = nth_;
    forever = for_good_;
    armed = nth_ != 0;
  }
  void Disarm() {
    armed = false;
    failed_ = source_ == Source::kLibrary ? faults_disarm() : failed_news;
  }

  Source source_;
  std::int64_t nth_;
  bool for_good_;
  std::int64_t failed_ = 0;
};

// What the program holds: blocks of the binding, blocks and mappings of the library, files.
struct Held {
  std::int64_t blocks;
  FaultsLive library;
  std::ptrdiff_t files;

  static Held Now() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    Held held{0, {}, std::distance(begin(files), end(files))};
    faults_live(&held.library);
    held.blocks = live_blocks;
    return held;
  }
};

void ExpectSame(const Held& now, const Held& before) {
  EXPECT_EQ(now.blocks, before.blocks) << "the binding keeps memory";
  EXPECT_EQ(now.library.blocks, before.library.blocks) << "the library keeps memory";
  EXPECT_EQ(now.library.mappings, before.library.mappings);
  EXPECT_EQ(now.files, before.files);
}

// `scenario(attempt)` returns whether its call succeeded. Returns the number of failures.
template <class Scenario>
std::int64_t FailEach(Source source, bool for_good, Scenario scenario) {
  std::int64_t all = 0;
  for (std::int64_t nth = 1, failed = 1; failed != 0; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth) + (for_good ? " and all later ones" : ""));
    const Held before = Held::Now();
    {
      Attempt attempt(source, nth, for_good);
      const bool done = scenario(attempt);
      failed = attempt.failed();
      EXPECT_TRUE(done || failed != 0);
    }
    {
      Attempt without(source, 0, false);
      EXPECT_TRUE(scenario(without)) << "the next call";
    }
    ExpectSame(Held::Now(), before);
    all += failed;
    if (testing::Test::HasFailure() || nth == 1000) {
      ADD_FAILURE() << "the other calls are not tried";
      return all;
    }
  }
  return all;
}

// False under valgrind, whose functions take the place of this program's operators.
bool OperatorNewIsOurs() {
  const std::int64_t before = live_blocks;
  void* memory = ::operator new(1);
  const bool counted = live_blocks == before + 1;
  ::operator delete(memory);
  return counted;
}

// Fails each allocation of the binding (`news` at least) and each call of the library.
template <class Scenario>
void FailEachCall(std::int64_t news, std::int64_t calls, Scenario scenario) {
  if (!OperatorNewIsOurs()) {
    GTEST_SKIP() << "another operator new takes the place of this program's";
  }
  ASSERT_GT(faults_install("libdlbridge.so"), 10) << "the library's calls are not seen";
  Attempt first(Source::kNew, 0, false);
  ASSERT_TRUE(scenario(first));
  for (const bool for_good : {false, true}) {
    EXPECT_GE(FailEach(Source::kNew, for_good, scenario), news);
    EXPECT_GE(FailEach(Source::kLibrary, for_good, scenario), calls);
  }
}

TEST(NoMemory, WrapOwnedLeavesTheContainer) {
  FailEachCall(1, 1, [](Attempt& attempt) {
    std::vector<float> values = {1, 2, 3};
    const float* elements = values.data();
    const auto made = attempt([&] { return db::wrap_owned(std::move(values)); });
    EXPECT_EQ(made ? made->data() : values.data(), elements);
    return made.has_value();
  });
}

// A callable that counts its calls and shows whether it still exists.
struct Callable {
  int calls = 0;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  // More than a pointer, so that no small-object optimisation could avoid the heap.
  auto Make() {
    return [this, kept = alive] { ++calls; };
  }
};

// Wraps with a callable; it is called only if the tensor was made.
template <class Wrap>
auto Wrapping(Wrap wrap) {
  return [wrap](Attempt& attempt) {
    std::vector<float> values(3);
    const std::int64_t shape[1] = {3};
    const db::wrap_spec spec(db::buffer_of(values.data()), db::make_device(kDLCPU),
                             db::dtype_of<float>::value, shape);
    Callable callable;
    auto made = attempt([&] { return wrap(spec, values, callable.Make()); });
    EXPECT_EQ(callable.calls, 0);
    EXPECT_EQ(callable.alive.use_count(), made ? 2 : 1);
    const bool done = made.has_value();
    made.reset();
    EXPECT_EQ(callable.calls, done ? 1 : 0);
    EXPECT_EQ(callable.alive.use_count(), 1);
    return done;
  };
}

TEST(NoMemory, WrapDestroysTheCallableUncalled) {
  FailEachCall(1, 1, Wrapping([](const db::wrap_spec& spec, auto& /*values*/, auto release) {
                 return db::wrap(spec, std::move(release));
               }));
  FailEachCall(1, 1, Wrapping([](const db::wrap_spec& spec, auto& /*values*/, auto release) {
                 return db::wrap_legacy(spec, std::move(release));
               }));
  FailEachCall(1, 1, Wrapping([](const db::wrap_spec& /*spec*/, auto& values, auto release) {
                 return db::wrap_borrowed(values, std::move(release));
               }));
}

// The table seldom grows, so the library's calls are left to the corpus.
TEST(NoMemory, RegistrationDestroysTheCallableUncalled) {
  FailEachCall(1, 0, [](Attempt& attempt) {
    const db::context_entry entry =
        db::context_entry(db::backend::cuda, db::make_device(kDLCUDA)).native_device(5).context(91);
    Callable callable;
    auto made = attempt([&] { return db::context_register(entry, callable.Make()); });
    EXPECT_EQ(callable.calls, 0);
    const bool done = made.has_value();
    made.reset();
    EXPECT_EQ(callable.calls, done ? 1 : 0);
    EXPECT_EQ(callable.alive.use_count(), 1);
    return done;
  });
}

// A tensor with more findings than the first list has room for, and with a long name.
class ManyAxes {
 public:
  ManyAxes() {
    for (int axis = 0; axis < kAxes; ++axis) {
      shape_[axis] = -1000000000 - axis;
    }
  }
  db::foreign_ref ref() { return db::foreign_ref(&tensor_); }

 private:
  static constexpr int kAxes = 40;
  std::int64_t shape_[kAxes] = {};
  std::int64_t strides_[kAxes] = {};
  DLTensor tensor_ = {nullptr, {kDLCPU, 0}, kAxes, {kDLFloat, 32, 1}, shape_, strides_, 0};
};

TEST(NoMemory, Diagnose) {
  FailEachCall(2, 0, [](Attempt& attempt) {
    ManyAxes tensor;
    const auto found = attempt([&] { return db::diagnose(tensor.ref()); });
    EXPECT_TRUE(!found || found->size() >= 40);
    return found.has_value();
  });
}

TEST(NoMemory, Text) {
  FailEachCall(1, 0, [](Attempt& attempt) {
    ManyAxes tensor;
    const auto text = attempt([&] { return db::result<std::string>(db::to_string(tensor.ref())); });
    EXPECT_TRUE(!text || text->size() > 256);
    return text.has_value();
  });
}

db::tensor Shareable() {
  const std::int64_t shape[] = {3};
  return db::allocate(db::allocate_spec(db::dtype_of<float>::value, shape).shareable()).value();
}

TEST(NoMemory, Messages) {
  FailEachCall(2, 1, [](Attempt& attempt) {
    const db::tensor shared = Shareable();
    const auto made = attempt([&] { return db::ipc_export(shared); });
    EXPECT_TRUE((shared.elements<float, 1>()));
    return made.has_value();
  });
  FailEachCall(0, 1, [](Attempt& attempt) {
    const db::tensor shared = Shareable();
    const db::ipc_message message = db::ipc_export(shared).value();
    return attempt([&] { return db::ipc_import(message); }).has_value();
  });
}

// The descriptors stay with the sender until the message exists.
TEST(NoMemory, ReceivedMessages) {
  FailEachCall(2, 0, [](Attempt& attempt) {
    const db::tensor shared = Shareable();
    const db::ipc_message sent = db::ipc_export(shared).value();
    db::unique_fd fds[1];
    fds[0] = db::unique_fd(::dup(sent.fds()[0].get()));
    const auto made =
        attempt([&] { return db::result<db::ipc_message>(db::ipc_message(sent.bytes(), fds)); });
    EXPECT_NE(static_cast<bool>(fds[0]), made.has_value());
    return made.has_value();
  });
}

// A pool whose own bookkeeping allocates: what it throws is "no memory".
struct Ledger {
  void* allocate(db::device /*on*/, std::uint64_t bytes, std::uint64_t alignment) {
    entries.push_back(std::make_unique<char[]>(bytes + alignment));
    const auto start = reinterpret_cast<std::uintptr_t>(entries.back().get());
    return reinterpret_cast<void*>((start + alignment - 1) / alignment * alignment);
  }
  void deallocate(db::device /*on*/, void* /*memory*/, std::uint64_t /*bytes*/,
                  std::uint64_t /*alignment*/) {
    entries.pop_back();
  }
  std::vector<std::unique_ptr<char[]>> entries;
};

TEST(NoMemory, AllocatorsThatAllocate) {
  FailEachCall(2, 1, [](Attempt& attempt) {
    Foreign source;
    Ledger ledger;
    const db::allocator memory(ledger);
    const auto how = db::convert_options().copy().allocator(memory);
    db::foreign_legacy owner = source.as_legacy();
    auto made = attempt([&] { return db::upgrade(std::move(owner), how); });
    EXPECT_EQ(source.deletes, made ? 1 : 0);
    EXPECT_NE(static_cast<bool>(owner), made.has_value());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(ledger.entries.size(), made ? 1U : 0U);
    const bool done = made.has_value();
    made.reset();
    EXPECT_TRUE(ledger.entries.empty());
    return done;
  });
}

TEST(NoMemory, Arguments) {
  FailEachCall(0, 1, [](Attempt& attempt) {
    Foreign source;
    using Matrix = db::arg<const float, db::shape<-1, 3>>;
    auto made = attempt([&] { return Matrix::import(&source.versioned); });
    EXPECT_EQ(source.deletes, 0);
    const bool done = made.has_value();
    made.reset();
    EXPECT_EQ(source.deletes, done ? 1 : 0);
    return done;
  });
}

}  // namespace
}  // namespace dlbridge_cpp_test
