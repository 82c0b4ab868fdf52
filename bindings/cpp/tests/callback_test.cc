// SPDX-License-Identifier: Apache-2.0
// C++ callables as C callbacks: called once, on any thread; no exception leaves them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

std::atomic<int> reported{0};
std::string last;  // NOLINT(bugprone-throwing-static-initialization): of a test

// Sets the exception handler for the duration of a test.
class Reports {
 public:
  Reports() : before_(db::set_exception_handler(&Note)) { reported = 0; }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() { db::set_exception_handler(before_); }

 private:
  static void Note() noexcept {
    ++reported;
    try {
      throw;
    } catch (const std::exception& error) {
      last = error.what();
    } catch (...) {
      last = "something else";
    }
  }
  db::exception_handler before_;
};

db::wrap_spec SpecOf(std::vector<float>& values, const std::int64_t (&shape)[1]) {
  return db::wrap_spec(db::buffer_of(values.data()), db::make_device(kDLCPU),
                       db::dtype_of<float>::value, shape);
}

TEST(Release, GetsTheBufferOrNothing) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  std::uint64_t handle = 0;
  int calls = 0;
  db::wrap(SpecOf(values, shape), [&](const db::buffer& buffer) { handle = buffer.handle; })
      .value()
      .reset();
  EXPECT_EQ(handle, reinterpret_cast<std::uintptr_t>(values.data()));
  db::wrap_legacy(SpecOf(values, shape), [&] { ++calls; }).value().reset();
  EXPECT_EQ(calls, 1);
}

// The callback that a wrap gives to the library.
template <class F>
using Held = db::detail::held_release<F>;

TEST(Release, GetsTheStream) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  const db::stream* seen = nullptr;
  int calls = 0;
  const auto note = [&](const db::buffer& /*memory*/, const db::stream* queue) {
    ++calls;
    seen = queue;
  };
  db::wrap(SpecOf(values, shape), note).value().reset();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, nullptr);  // no work is pending
  const db::stream queue = db::stream::queue(db::backend::cuda, db::make_device(kDLCUDA), 77);
  const DLBridgeBuffer memory = db::buffer_of(values.data());
  std::uint64_t handle = 0;
  const auto keep = [&](const db::buffer&, const db::stream* on) { handle = on->handle(); };
  Held<decltype(keep)>::run(new Held<decltype(keep)>{keep}, &memory, queue.raw());
  EXPECT_EQ(handle, 77U);
}

TEST(Release, WithoutAStreamWaits) {
  float value = 0;
  const DLBridgeBuffer memory = db::buffer_of(&value);
  int calls = 0;
  const auto count = [&] { ++calls; };
  const db::stream unset;  // dlbridge cannot wait for it
  auto* held = new Held<decltype(count)>{count};
  Held<decltype(count)>::run(held, &memory, unset.raw());
  EXPECT_EQ(calls, 0);
  Held<decltype(count)>::run(held, &memory, db::stream::host().raw());
  EXPECT_EQ(calls, 1);
}

TEST(Release, OnFailureIsDestroyedUncalled) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {-3};
  int calls = 0;
  auto alive = std::make_shared<int>(0);
  const auto rejected = db::wrap(SpecOf(values, shape), [&calls, alive] { ++calls; });
  EXPECT_EQ(rejected.error().rule(), db::rule_code::extent_negative);
  EXPECT_EQ(rejected.error().axis(), 0);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Release, ThrowIsReportedAndDropped) {
  const Reports handler;
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  auto alive = std::make_shared<int>(0);
  db::tensor lent = db::wrap(SpecOf(values, shape), [alive] {
                      throw std::runtime_error("from a release");
                    }).value();
  EXPECT_NO_THROW(lent.reset());
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(last, "from a release");
  EXPECT_EQ(alive.use_count(), 1);  // the callable is destroyed nevertheless
  db::wrap(SpecOf(values, shape), [] { throw 1; }).value().reset();
  EXPECT_EQ(last, "something else");
}

TEST(Release, ThrowDuringUnwinding) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  const auto use = [&] {
    const db::tensor lent =
        db::wrap(SpecOf(values, shape), [] { throw std::logic_error("second"); }).value();
    throw std::runtime_error("first");
  };
  try {
    use();
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "first");  // without a handler the second is dropped
  }
}

TEST(Release, OnAnotherThread) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  std::atomic<int> calls{0};
  db::tensor lent = db::wrap(SpecOf(values, shape), [&] { ++calls; }).value();
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([shared = db::share(lent).value()]() mutable {
      for (int i = 0; i < 100; ++i) {
        shared = db::share(shared).value();
      }
    });
  }
  lent.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(calls, 1);
}

struct Pool {
  void* allocate(db::device /*on*/, std::uint64_t bytes, std::uint64_t alignment) {
    if (throws) {
      throw std::bad_alloc();
    }
    ++live;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(db::device /*on*/, void* memory, std::uint64_t /*bytes*/,
                  std::uint64_t /*alignment*/) {
    --live;
    std::free(memory);
    if (throws) {
      throw std::runtime_error("from a deallocate");
    }
  }
  bool throws = false;
  int live = 0;
};

TEST(Allocator, ThrowIsOutOfMemory) {
  const Reports handler;
  Pool pool;
  const db::allocator memory(pool);
  const std::int64_t shape[] = {2, 2};
  const auto spec = db::allocate_spec(db::dtype_of<double>::value, shape).allocator(memory);
  db::tensor made = db::allocate(spec).value();
  EXPECT_EQ(pool.live, 1);
  pool.throws = true;
  EXPECT_EQ(db::allocate(spec).error().status(), db::status_code::out_of_memory);
  EXPECT_EQ(reported, 1);
  made.reset();
  EXPECT_EQ(pool.live, 0);
  EXPECT_EQ(reported, 2);
  EXPECT_EQ(last, "from a deallocate");
}

// An allocator that takes the queue by which its memory is ordered.
struct QueuePool {
  void* allocate(db::device /*on*/, std::uint64_t bytes, std::uint64_t alignment,
                 const db::stream* queue) {
    allocated_on = queue != nullptr ? queue->handle() : 0;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(db::device /*on*/, void* memory, std::uint64_t /*bytes*/,
                  std::uint64_t /*alignment*/, const db::stream* queue) {
    deallocated_on = queue != nullptr ? queue->handle() : 0;
    std::free(memory);
  }
  std::uint64_t allocated_on = 1;
  std::uint64_t deallocated_on = 1;
};

TEST(Allocator, GetsTheStream) {
  QueuePool pool;
  const db::allocator memory(pool);
  const DLBridgeAllocator* raw = memory.raw();
  const db::stream queue = db::stream::queue(db::backend::cuda, db::make_device(kDLCUDA), 77);
  void* block = raw->allocate(raw->context, db::make_device(kDLCPU), 64, 64, queue.raw());
  EXPECT_EQ(pool.allocated_on, 77U);
  raw->deallocate(raw->context, db::make_device(kDLCPU), block, 64, 64, queue.raw());
  EXPECT_EQ(pool.deallocated_on, 77U);
  const std::int64_t shape[] = {2};
  EXPECT_TRUE(db::allocate(db::allocate_spec(db::dtype_of<float>::value, shape).allocator(memory)));
  EXPECT_EQ(pool.allocated_on, 0U);  // no queue: freed at once
  EXPECT_EQ(pool.deallocated_on, 0U);
}

// A pool that takes no stream gets its memory back once the work is finished. If dlbridge cannot
// wait for the work (here: a queue that is not set), the memory is not freed.
TEST(Allocator, WithoutAStreamWaits) {
  Pool pool;
  const db::allocator memory(pool);
  const DLBridgeAllocator* raw = memory.raw();
  void* block = raw->allocate(raw->context, db::make_device(kDLCPU), 64, 64, nullptr);
  const db::stream unset;
  raw->deallocate(raw->context, db::make_device(kDLCPU), block, 64, 64, unset.raw());
  EXPECT_EQ(pool.live, 1);
  const db::stream host = db::stream::host();
  raw->deallocate(raw->context, db::make_device(kDLCPU), block, 64, 64, host.raw());
  EXPECT_EQ(pool.live, 0);
}

TEST(Allocator, ServesCopies) {
  Pool pool;
  const db::allocator memory(pool);
  Foreign source;
  {
    const auto how = db::convert_options().copy().allocator(memory);
    const db::tensor copied = db::upgrade(source.as_legacy(), how).value();
    EXPECT_EQ(source.deletes, 1);
    EXPECT_EQ(pool.live, 1);
    EXPECT_NE(copied.flags() & DLPACK_FLAG_BITMASK_IS_COPIED, 0U);
    EXPECT_EQ((copied.elements<float, 2>().value()(1, 2)), 5);
    const db::tensor again = db::copy(copied, db::copy_spec().allocator(memory)).value();
    EXPECT_EQ(pool.live, 2);
    EXPECT_NE(again.data(), copied.data());
  }
  EXPECT_EQ(pool.live, 0);
}

TEST(Storage, ThrowIsReportedAndDropped) {
  const Reports handler;
  Foreign source;
  alignas(16) unsigned char memory[512];
  const auto freed = [] { throw std::runtime_error("from a storage"); };
  const db::storage into = db::storage(memory, sizeof memory).release(freed);
  db::upgrade_into(source.as_legacy(), into).value().reset();
  EXPECT_EQ(last, "from a storage");
  EXPECT_EQ(reported, 1);
}

TEST(Context, RegistrationLeaseAndRange) {
  const db::device device = db::make_device(kDLOneAPI, 77);
  int calls = 0;
  const auto entry = db::context_entry(db::backend::level_zero, device)
                         .platform(1)
                         .native_device(2)
                         .context(3)
                         .queue(4);
  db::context_registration registered = db::context_register(entry, [&] { ++calls; }).value();
  EXPECT_EQ(db::context_find(device).value().id(), registered.id());
  EXPECT_EQ(db::context_register(entry).error().status(), db::status_code::exists);
  int met = 0;
  for (const db::context_entry& each : db::contexts()) {
    met += each.id() == registered.id() ? 1 : 0;
  }
  EXPECT_EQ(met, 1);
  db::context_lease lease = db::context_retain(registered.id()).value();
  EXPECT_TRUE(registered.end());
  EXPECT_TRUE(registered.end());  // a second time does nothing
  EXPECT_EQ(calls, 0);
  lease = db::context_lease();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(db::context_retain(UINT64_MAX).error().status(), db::status_code::not_found);
  EXPECT_NE(db::context_table(), nullptr);
}

TEST(Context, ThrowingReleaseIsReportedAndDropped) {
  const Reports handler;
  const auto entry = db::context_entry(db::backend::level_zero, db::make_device(kDLOneAPI, 78))
                         .platform(1)
                         .native_device(2)
                         .context(3);
  db::context_register(entry, [](const DLBridgeContextEntry* gone) {
    throw std::runtime_error(std::to_string(gone->context));
  }).value();
  EXPECT_EQ(last, "3");
}

TEST(Stream, HostNeedsNoDriver) {
  const db::stream host = db::stream::host();
  EXPECT_TRUE(host.synchronize());
  EXPECT_TRUE(db::handoff(host, host));
  EXPECT_FALSE(db::handoff(db::stream(), host));
  EXPECT_EQ(db::stream::from_array_api(db::make_device(kDLCPU)).value().kind(),
            db::stream_kind::host);
  EXPECT_EQ(db::stream::from_array_api(db::make_device(kDLCUDA), 0).error().status(),
            db::status_code::invalid_argument);
  EXPECT_EQ(db::backend_info(db::backend::cpu).value().is(), db::backend_state::ready);
  int local = 0;
  EXPECT_EQ(db::pointer_info(&local).value().is(), db::memory_kind::host);
}

TEST(Ipc, DescriptorsAreOwned) {
  const std::int64_t shape[] = {3};
  const auto spec = db::allocate_spec(db::dtype_of<float>::value, shape);
  const db::tensor plain = db::allocate(spec).value();
  EXPECT_EQ(db::ipc_export(plain).error().status(), db::status_code::unsupported);
  const db::tensor shared = db::allocate(spec.shareable()).value();
  shared.elements<float, 1>().value()(1) = 5;
  db::ipc_message message = db::ipc_export(shared, db::ipc_access::read_only).value();
  ASSERT_GE(message.fds().size(), 1U);
  const db::tensor imported = db::ipc_import(message).value();
  EXPECT_EQ((imported.elements<const float, 1>().value()(1)), 5);
  EXPECT_TRUE(imported.read_only());
  // As received from a socket: bytes and descriptors, which the message takes over.
  db::unique_fd moved[1];
  moved[0] = db::unique_fd(::dup(message.fds()[0].get()));
  const db::ipc_message arrived(message.bytes(), moved);
  EXPECT_FALSE(moved[0]);
  EXPECT_TRUE(db::ipc_import(arrived));
  const db::ipc_message cut({message.bytes().data(), 5}, {});
  EXPECT_EQ(db::ipc_import(cut).error().status(), db::status_code::descriptor);
}

// A callable that throws when it is copied does not become a callback, and nothing terminates.
struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied& /*other*/) { throw 1; }
  void operator()() const {}
};

TEST(Callbacks, CopyThatThrows) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  const ThrowsWhenCopied callable;
  const auto none = db::status_code::out_of_memory;
  EXPECT_EQ(db::wrap(SpecOf(values, shape), callable).error().status(), none);
  EXPECT_EQ(db::wrap_legacy(SpecOf(values, shape), callable).error().status(), none);
  EXPECT_EQ(db::wrap_borrowed(values, callable).error().status(), none);
  const db::context_entry entry(db::backend::cuda, db::make_device(kDLCUDA, 77));
  EXPECT_EQ(db::context_register(entry, callable).error().status(), none);
}

}  // namespace
}  // namespace dlbridge_cpp_test
