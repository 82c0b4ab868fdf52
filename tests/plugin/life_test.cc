// SPDX-License-Identifier: Apache-2.0
// The end of threads, processes and namespaces while tensors live and calls run.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "plugin/host.h"
#include "support/child.h"
#include "support/scale.h"

namespace dlbridge_test {
namespace {

// Calls without GoogleTest, which may be gone when a process ends.
void Must(DLBridgeStatus status) {
  if (status != DLBRIDGE_OK) {
    std::fprintf(stderr, "status %d\n", status);
    std::abort();
  }
}

DLManagedTensorVersioned* Allocated() {
  static constexpr int64_t kShape[] = {2, 3};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 2;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  Must(dlbridge_allocate(&spec, &out, nullptr));
  for (int i = 0; i < 6; ++i) {
    static_cast<float*>(out->dl_tensor.data)[i] = static_cast<float>(i);
  }
  return out;
}

// One of several kinds of calls; all that it makes ends in it.
void CallSomething(Random* random, DLManagedTensorVersioned* shared) {
  DLManagedTensorVersioned* one = nullptr;
  DLManagedTensor* legacy = nullptr;
  const DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
  const DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
  switch (random->Between(0, 4)) {
    case 0:
      Must(dlbridge_share(shared, &one, nullptr));
      break;
    case 1:
      Must(dlbridge_view(shared, &view, &one, nullptr));
      break;
    case 2:
      Must(dlbridge_copy(&shared->dl_tensor, 0, &copy, &one, nullptr));
      break;
    case 3:
      Must(dlbridge_share(shared, &one, nullptr));
      Must(dlbridge_downgrade(one, nullptr, &legacy, nullptr));
      Must(dlbridge_upgrade(legacy, nullptr, &one, nullptr));
      break;
    default: {
      static std::atomic<int32_t> next{1};
      DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
      entry.backend = DLBRIDGE_BACKEND_CUDA;
      entry.device = {kDLCUDA, next.fetch_add(1)};
      entry.context = 1;
      uint64_t id = 0;
      Must(dlbridge_context_register(&entry, &id, nullptr));
      Must(dlbridge_context_unregister(id, nullptr));
      Must(dlbridge_collect(0, nullptr, nullptr));
    }
  }
  dlbridge_release_versioned(one);
}

// Threads that never stop calling, with a tensor that is never released.
DLManagedTensorVersioned* g_kept = nullptr;
void StartThreads() {
  g_kept = Allocated();
  for (uint64_t i = 0; i < 4; ++i) {
    std::thread([i] {
      Random random(i);
      for (;;) {
        CallSomething(&random, g_kept);
      }
    }).detach();
  }
}

// A sanitizer's runtime does not expect calls of its allocator after it has ended.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// Static objects are destroyed while the threads call, and call themselves.
struct CallsAtTheEnd {
  ~CallsAtTheEnd() {
    if (g_kept != nullptr) {
      Random random(9);
      for (int i = 0; i < 200; ++i) {
        CallSomething(&random, g_kept);
      }
      std::fputs("called by a destructor\n", stderr);
    }
  }
};
CallsAtTheEnd g_calls_at_the_end;

class EndOfProcess : public testing::TestWithParam<void (*)()> {};

TEST_P(EndOfProcess, WithThreadsInsideCalls) {
  if (kSanitized || std::getenv("DLBRIDGE_SLOW_MACHINE") != nullptr) {
    GTEST_SKIP() << "the allocator of a sanitizer or of valgrind ends before the threads do";
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EXIT(
        {
          StartThreads();
          usleep(static_cast<useconds_t>(i * 300));
          GetParam()();
        },
        testing::ExitedWithCode(0), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, EndOfProcess,
                         testing::Values([] { std::exit(0); }, [] { std::quick_exit(0); },
                                         [] { _exit(0); }));

TEST(EndOfProcessAlone, DestructorsOfStaticObjectsMayCall) {
  EXPECT_EXIT(
      {
        g_kept = Allocated();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "called by a destructor");
}

// ------------------------------------------------------------------------------------- threads

std::atomic<int> g_released{0};

struct ReleasedByThread {
  ~ReleasedByThread() {
    if (tensor != nullptr) {
      dlbridge_release_versioned(tensor);
      ++g_released;
    }
  }
  DLManagedTensorVersioned* tensor = nullptr;
};

TEST(EndOfThread, ReleasesInAThreadLocalDestructor) {
  DLManagedTensorVersioned* tensor = Allocated();
  g_released = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread([tensor] {
      thread_local ReleasedByThread mine;
      Must(dlbridge_share(tensor, &mine.tensor, nullptr));
    }).join();
  }
  EXPECT_EQ(g_released, 50);
  EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
  dlbridge_release_versioned(tensor);
}

TEST(EndOfThread, ReleasesInADestructorOfThreadSpecificData) {
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* tensor) {
                                 dlbridge_release(tensor, DLBRIDGE_KIND_VERSIONED);
                                 ++g_released;
                               }),
            0);
  g_released = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread([key] { pthread_setspecific(key, Allocated()); }).join();
  }
  EXPECT_EQ(g_released, 50);
  pthread_key_delete(key);
}

// ----------------------------------------------------------------------------- copies and plugins

#ifdef LIFE_COPY

const DLBridgeApi* ApiIn(void* handle, const char* name) {
  if (std::string(name) == "hidden_api") {
    const auto get = reinterpret_cast<const DLBridgeApi* (*)()>(dlsym(handle, name));
    return get != nullptr ? get() : nullptr;
  }
  const auto get = reinterpret_cast<const DLBridgeApi* (*)(uint32_t, size_t)>(dlsym(handle, name));
  return get != nullptr ? get(DLBRIDGE_ABI, sizeof(DLBridgeApi)) : nullptr;
}

DLManagedTensorVersioned* MadeBy(const DLBridgeApi& api) {
  static constexpr int64_t kShape[] = {2, 3};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 2;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(api.allocate(&spec, &out, nullptr), DLBRIDGE_OK);
  for (int i = 0; i < 6; ++i) {
    static_cast<float*>(out->dl_tensor.data)[i] = static_cast<float>(i);
  }
  return out;
}

// A tensor of each module goes through all modules in turn; each keeps a share. So releasing it
// calls deleters of all of them.
DLManagedTensorVersioned* Through(const std::vector<const DLBridgeApi*>& apis, size_t first) {
  DLManagedTensorVersioned* tensor = MadeBy(*apis[first]);
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_PIN_PRODUCER;
  for (size_t i = 0; i <= apis.size(); ++i) {
    DLManagedTensorVersioned* next = nullptr;
    EXPECT_EQ(apis[(first + i) % apis.size()]->import_tensor(tensor, DLBRIDGE_KIND_VERSIONED,
                                                             &options, &next, nullptr),
              DLBRIDGE_OK);
    tensor = next;
  }
  return tensor;
}

struct Module {
  const char* path;
  const char* symbol;
};

// Opens the modules in an order, closes them in another one, and releases the tensors before,
// between or after that.
void OpenAndClose(const std::vector<Module>& modules, const std::vector<size_t>& order,
                  size_t release_after) {
  std::vector<void*> handles;
  std::vector<const DLBridgeApi*> apis;
  for (const Module& module : modules) {
    handles.push_back(dlopen(module.path, RTLD_NOW | RTLD_LOCAL));
    ASSERT_NE(handles.back(), nullptr) << dlerror();
    apis.push_back(ApiIn(handles.back(), module.symbol));
    ASSERT_NE(apis.back(), nullptr) << module.path;
  }
  std::vector<DLManagedTensorVersioned*> tensors;
  for (size_t i = 0; i < modules.size(); ++i) {
    tensors.push_back(Through(apis, i));
  }
  const auto release = [&] {
    for (DLManagedTensorVersioned* tensor : tensors) {
      EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
      tensor->deleter(tensor);
    }
  };
  for (size_t step = 0; step <= order.size(); ++step) {
    if (step == release_after) {
      release();
    }
    if (step < order.size()) {
      EXPECT_EQ(dlclose(handles[order[step]]), 0);
    }
  }
}

TEST(Closing, InAnyOrderWhileTensorsLive) {
  std::vector<Module> modules = {{LIFE_COPY, "dlbridge_get_api"},
                                 {LIFE_OTHER_COPY, "dlbridge_get_api"}};
#ifdef HIDDEN_COPY
  modules.push_back({HIDDEN_COPY, "hidden_api"});
#endif
  std::vector<size_t> order;
  for (size_t i = 0; i < modules.size(); ++i) {
    order.push_back(i);
  }
  do {
    for (size_t after = 0; after <= order.size(); ++after) {
      EXPECT_TRUE(InChild([&] { OpenAndClose(modules, order, after); }));
      std::vector<Module> reversed(modules.rbegin(), modules.rend());
      EXPECT_TRUE(InChild([&] { OpenAndClose(reversed, order, after); }));
    }
  } while (std::next_permutation(order.begin(), order.end()) && !HasFailure());
}

// A namespace has its own C library and its own copy of dlbridge: the tensors of each are foreign
// to the other, and each is freed where it was allocated.
TEST(Closing, OfANamespaceWhileItsTensorsLive) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer's runtime cannot be loaded a second time";
  }
  void* handle = dlmopen(LM_ID_NEWLM, LIFE_COPY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const DLBridgeApi* other = ApiIn(handle, "dlbridge_get_api");
  ASSERT_NE(other, nullptr);
  const DLBridgeApi* mine = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  ASSERT_NE(other, mine);
  DLManagedTensorVersioned* tensors[2] = {};
  ASSERT_EQ(
      mine->import_tensor(MadeBy(*other), DLBRIDGE_KIND_VERSIONED, nullptr, &tensors[0], nullptr),
      DLBRIDGE_OK);
  ASSERT_EQ(
      other->import_tensor(MadeBy(*mine), DLBRIDGE_KIND_VERSIONED, nullptr, &tensors[1], nullptr),
      DLBRIDGE_OK);
  DLManagedTensorVersioned* share = nullptr;
  EXPECT_EQ(mine->share(tensors[1], &share, nullptr), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(dlclose(handle), 0);
  for (DLManagedTensorVersioned* tensor : tensors) {
    EXPECT_TRUE(HoldsTheSix(tensor->dl_tensor));
    std::thread([tensor] { tensor->deleter(tensor); }).join();
  }
}

#endif

}  // namespace
}  // namespace dlbridge_test
