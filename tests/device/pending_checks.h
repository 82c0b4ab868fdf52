// SPDX-License-Identifier: Apache-2.0
// dlbridge_release_after, dlbridge_copy_async and dlbridge_collect on any device. A test supplies
// a gate that holds back the work on the device's stream, so that no check depends on a time.
#ifndef DLBRIDGE_TESTS_DEVICE_PENDING_CHECKS_H_
#define DLBRIDGE_TESTS_DEVICE_PENDING_CHECKS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/scale.h"
#include "support/tensors.h"
#include "tensor_checks.h"

namespace dlbridge_test {

// Work on a stream of the device that does not end before Open.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual DLBridgeStream Close() = 0;  // the stream of the work
  virtual void Open() = 0;
};

inline size_t Collected(uint32_t options = 0) {
  size_t left = SIZE_MAX;
  Error error;
  EXPECT_EQ(dlbridge_collect(options, &left, &error), DLBRIDGE_OK) << error.message;
  return left;
}

// A producer's tensor, owned by itself.
template <class Managed>
Managed* Produce(const std::shared_ptr<Fate>& fate) {
  return &(new Body<Managed>(TensorSpec(), fate))->managed;
}

inline DLBridgeStatus ReleaseAfter(void* tensor, DLBridgeKind kind,
                                   const std::vector<DLBridgeStream>& streams, Error* error) {
  return dlbridge_release_after(tensor, kind, streams.data(), streams.size(), error);
}

// Counts the release callbacks of wrapped memory, and keeps the last stream.
struct Releases {
  int count = 0;
  bool had_stream = false;
  uint64_t handle = 0;
  std::thread::id thread;

  static void Count(void* context, const DLBridgeBuffer* /*buffer*/, const DLBridgeStream* stream) {
    auto& self = *static_cast<Releases*>(context);
    ++self.count;
    self.had_stream = stream != nullptr;
    self.handle = stream != nullptr ? stream->handle : 0;
    self.thread = std::this_thread::get_id();
  }
};

inline DLManagedTensorVersioned* WrapBuffer(const DLBridgeBuffer& buffer, DLDevice label,
                                            const std::vector<int64_t>& shape, Releases* releases,
                                            uint32_t options = 0) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.options = options;
  spec.buffer = buffer;
  spec.device = label;
  spec.dtype = kFloats.dtype;
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = shape.data();
  spec.release = Releases::Count;
  spec.release_context = releases;
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  return tensor;
}

// Foreign tensors of both kinds: the deleter runs on the collecting thread, after the work.
inline void CheckRelease(Gate* gate) {
  const DLBridgeStream stream = gate->Close();
  auto fate = std::make_shared<Fate>();
  std::thread::id deleted_by;
  fate->on_delete = [&] { deleted_by = std::this_thread::get_id(); };
  Error error;
  ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED, {stream},
                         &error),
            DLBRIDGE_OK)
      << error.message;
  ASSERT_EQ(
      ReleaseAfter(Produce<DLManagedTensor>(fate), DLBRIDGE_KIND_LEGACY, {stream, stream}, &error),
      DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(Collected(), 2U);
  EXPECT_EQ(fate->deletions, 0);
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, 2);
  EXPECT_EQ(deleted_by, std::this_thread::get_id());
}

// A tensor that two streams use is released after the later one.
inline void CheckTwoStreams(Gate* first, Gate* second) {
  const std::vector<DLBridgeStream> streams = {first->Close(), second->Close()};
  auto fate = std::make_shared<Fate>();
  Error error;
  ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED, streams,
                         &error),
            DLBRIDGE_OK)
      << error.message;
  first->Open();
  EXPECT_EQ(dlbridge_stream_synchronize(streams.data(), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Collected(), 1U);
  EXPECT_EQ(fate->deletions, 0);
  second->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, 1);
}

// The callback of the last owner receives the stream at once; that of a shared tensor does not.
inline void CheckReleaseOnStream(TensorDevice* device, Gate* gate) {
  const DLBridgeBuffer buffer = device->Allocate(64);
  const DLBridgeStream stream = gate->Close();
  Releases releases;
  Error error;
  DLManagedTensorVersioned* tensor =
      WrapBuffer(buffer, device->label(), {16}, &releases, DLBRIDGE_WRAP_RELEASE_ON_STREAM);
  DLManagedTensorVersioned* share = nullptr;
  ASSERT_EQ(dlbridge_share(tensor, &share, &error), DLBRIDGE_OK) << error.message;
  ASSERT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {stream}, &error), DLBRIDGE_OK);
  share->deleter(share);
  EXPECT_EQ(releases.count, 0) << "the stream still uses the memory";
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(releases.count, 1);
  EXPECT_FALSE(releases.had_stream);

  const DLBridgeStream again = gate->Close();
  tensor = WrapBuffer(buffer, device->label(), {16}, &releases, DLBRIDGE_WRAP_RELEASE_ON_STREAM);
  ASSERT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {again}, &error), DLBRIDGE_OK);
  EXPECT_EQ(releases.count, 2);
  EXPECT_TRUE(releases.had_stream);
  EXPECT_EQ(releases.handle, again.handle);
  EXPECT_EQ(Collected(), 0U);
  gate->Open();
  EXPECT_EQ(dlbridge_stream_synchronize(&again, &error), DLBRIDGE_OK) << error.message;
  device->Free(buffer);
}

// One copy that is enqueued and whose owners let go of it at once.
inline void CheckOneAsyncCopy(TensorDevice* from, TensorDevice* to, Gate* gate,
                              const TensorLayout& layout) {
  SCOPED_TRACE(layout.name);
  const TensorSource source(from, layout, kFloats);
  const TensorBytes expected = source.Compact(kFloats.step);
  const DLBridgeBuffer target = to->Allocate(expected.size());
  to->Fill(target, TensorBytes(expected.size(), 0xEE));
  Releases source_releases;
  Releases target_releases;
  DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
  const DLTensor& tensor = source.tensor();
  wrap.buffer = BufferOf(tensor);
  wrap.device = tensor.device;
  wrap.dtype = tensor.dtype;
  wrap.ndim = tensor.ndim;
  wrap.shape = tensor.shape;
  wrap.strides = tensor.strides;
  wrap.byte_offset = tensor.byte_offset;
  wrap.release = Releases::Count;
  wrap.release_context = &source_releases;
  DLManagedTensorVersioned* owned = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_wrap(&wrap, &owned, &error), DLBRIDGE_OK) << error.message;

  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.device = to->label();
  spec.stream = gate->Close();
  spec.target = target;
  spec.target_size = expected.size();
  spec.release = Releases::Count;
  spec.release_context = &target_releases;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy_async(owned, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  owned->deleter(owned);
  copy->deleter(copy);
  EXPECT_EQ(Collected(), 1U);
  EXPECT_EQ(source_releases.count + target_releases.count, 0);
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(source_releases.count, 1);
  EXPECT_EQ(target_releases.count, 1);
  EXPECT_TRUE(to->Read(target, expected.size()) == expected);
  to->Free(target);
}

inline void CheckAsyncCopies(TensorDevice* from, TensorDevice* to, Gate* gate) {
  for (const TensorLayout& layout : DirectLayouts()) {
    CheckOneAsyncCopy(from, to, gate, layout);
  }
}

// What a stream cannot order is rejected; nothing is held.
inline void CheckAsyncRefusals(TensorDevice* device, Gate* gate) {
  Error error;
  Releases releases;
  const DLBridgeBuffer buffer = device->Allocate(4 * 5000);
  DLManagedTensorVersioned* tensor = WrapBuffer(buffer, device->label(), {5000}, &releases);
  DLBridgeViewSpec backwards = DLBRIDGE_VIEW_SPEC_INIT;
  const int64_t shape = 5000;
  const int64_t stride = -1;
  backwards.ndim = 1;
  backwards.shape = &shape;
  backwards.strides = &stride;
  backwards.offset = 4999;
  DLManagedTensorVersioned* view = nullptr;
  ASSERT_EQ(dlbridge_view(tensor, &backwards, &view, &error), DLBRIDGE_OK) << error.message;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = gate->Close();
  DLManagedTensorVersioned* copy = nullptr;
  EXPECT_EQ(dlbridge_copy_async(view, &spec, &copy, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("dlbridge_copy")) << error.message;
  spec.options = DLBRIDGE_COPY_ALLOW_STAGING;
  EXPECT_EQ(dlbridge_copy_async(tensor, &spec, &copy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("ALLOW_STAGING")) << error.message;
  EXPECT_EQ(copy, nullptr);
  EXPECT_EQ(Collected(), 0U);
  gate->Open();
  view->deleter(view);
  tensor->deleter(tensor);
  EXPECT_EQ(releases.count, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&spec.stream, &error), DLBRIDGE_OK);
  device->Free(buffer);
}

// The nth call of each function fails: the tensor stays the caller's and nothing is held.
inline void CheckMarksThatFail(TensorDevice* driver, Gate* gate,
                               const std::vector<const char*>& functions) {
  for (const char* function : functions) {
    SCOPED_TRACE(function);
    const DLBridgeStream stream = gate->Close();
    auto fate = std::make_shared<Fate>();
    DLManagedTensorVersioned* tensor = Produce<DLManagedTensorVersioned>(fate);
    Error error;
    driver->Fail(function, 1);
    EXPECT_EQ(ReleaseAfter(tensor, DLBRIDGE_KIND_VERSIONED, {stream}, &error),
              DLBRIDGE_ERROR_DRIVER);
    driver->Fail(function, 0);
    EXPECT_EQ(Collected(), 0U);
    EXPECT_EQ(fate->deletions, 0);
    gate->Open();
    EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_OK) << error.message;
    tensor->deleter(tensor);
  }
}

// A deleter may use the functions itself.
// Every deleter waits for all work: the time must grow with the number of tensors, not with its
// square, or the test ends at its limit.
inline void CheckManyDeletersThatWait(Gate* gate) {
  const DLBridgeStream stream = gate->Close();
  const size_t count = Scaled(100000);
  auto fate = std::make_shared<Fate>();
  fate->on_delete = [] {
    EXPECT_EQ(dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, nullptr), DLBRIDGE_OK);
  };
  Error error;
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED,
                           {stream}, &error),
              DLBRIDGE_OK)
        << error.message;
  }
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, static_cast<int>(count));
}

inline void CheckDeletersThatCallBack(Gate* gate) {
  const DLBridgeStream stream = gate->Close();
  auto inner = std::make_shared<Fate>();
  auto outer = std::make_shared<Fate>();
  Error error;
  outer->on_delete = [&] {
    Error nested;
    EXPECT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(inner), DLBRIDGE_KIND_VERSIONED,
                           {stream}, &nested),
              DLBRIDGE_OK)
        << nested.message;
    Collected(DLBRIDGE_COLLECT_WAIT);
  };
  ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(outer), DLBRIDGE_KIND_VERSIONED,
                         {stream}, &error),
            DLBRIDGE_OK);
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(outer->deletions, 1);
  EXPECT_EQ(inner->deletions, 1);
}

// However many tensors there are, a deleter that collects does not run inside another one.
inline void CheckDepthOfDeleters(Gate* gate, int tensors) {
  const DLBridgeStream stream = gate->Close();
  auto fate = std::make_shared<Fate>();
  int depth = 0;
  int deepest = 0;
  fate->on_delete = [&] {
    deepest = std::max(deepest, ++depth);
    Error error;
    EXPECT_EQ(dlbridge_collect(0, nullptr, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, &error), DLBRIDGE_OK);
    --depth;
  };
  for (int i = 0; i < tensors; ++i) {
    Error error;
    ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED,
                           {stream}, &error),
              DLBRIDGE_OK);
  }
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, tensors);
  EXPECT_EQ(deepest, 1);
}

// A wait does not overlook the tensor that another thread looks at meanwhile.
inline void CheckWaitBesideOthers(Gate* gate, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const DLBridgeStream stream = gate->Close();
    auto fate = std::make_shared<Fate>();
    Error error;
    ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED,
                           {stream}, &error),
              DLBRIDGE_OK);
    std::atomic<bool> opened{false};
    std::atomic<bool> done{false};
    std::atomic<int> polls{0};
    std::thread poll([&] {
      while (!done) {
        dlbridge_collect(0, nullptr, nullptr);
        ++polls;
      }
    });
    std::thread open([&] {
      while (polls < 20) {
        std::this_thread::yield();
      }
      opened = true;
      gate->Open();
    });
    Collected(DLBRIDGE_COLLECT_WAIT);
    EXPECT_TRUE(opened) << "the wait returned before the work was over";
    done = true;
    poll.join();
    open.join();
    EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
    EXPECT_EQ(fate->deletions, 1);
  }
}

// A forked child holds nothing and releases nothing; the parent is not affected.
inline void CheckForkedChild(Gate* gate) {
  const DLBridgeStream stream = gate->Close();
  auto fate = std::make_shared<Fate>();
  Error error;
  ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED, {stream},
                         &error),
            DLBRIDGE_OK);
  const pid_t child = fork();
  if (child == 0) {
    size_t left = SIZE_MAX;
    const bool right = dlbridge_collect(DLBRIDGE_COLLECT_WAIT, &left, nullptr) == DLBRIDGE_OK &&
                       left == 0 && fate->deletions == 0;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  gate->Open();
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, 1);
}

// A child that a deleter forks returns through the call that ran the deleter.
inline void CheckForkInADeleter(Gate* gate) {
  const DLBridgeStream stream = gate->Close();
  auto fate = std::make_shared<Fate>();
  pid_t child = -1;
  fate->on_delete = [&] { child = fork(); };
  Error error;
  ASSERT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED, {stream},
                         &error),
            DLBRIDGE_OK);
  gate->Open();
  size_t left = SIZE_MAX;
  const DLBridgeStatus status = dlbridge_collect(DLBRIDGE_COLLECT_WAIT, &left, nullptr);
  if (child == 0) {
    _exit(status == DLBRIDGE_OK && left == 0 ? 0 : 1);
  }
  EXPECT_EQ(status, DLBRIDGE_OK);
  EXPECT_EQ(left, 0U);
  int ended = -1;
  EXPECT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
}

// Threads that release and collect at once: each deleter runs once, and no tensor is lost.
inline void CheckThreads(Gate* gate, int threads, int rounds) {
  auto fate = std::make_shared<Fate>();
  std::vector<std::thread> running;
  const DLBridgeStream stream = gate->Close();
  gate->Open();
  running.reserve(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        Error error;
        EXPECT_EQ(ReleaseAfter(Produce<DLManagedTensorVersioned>(fate), DLBRIDGE_KIND_VERSIONED,
                               {stream}, &error),
                  DLBRIDGE_OK)
            << error.message;
        if (i % 7 == 0) {
          Collected();
        }
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  EXPECT_EQ(Collected(DLBRIDGE_COLLECT_WAIT), 0U);
  EXPECT_EQ(fate->deletions, threads * rounds);
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_PENDING_CHECKS_H_
