// SPDX-License-Identifier: Apache-2.0
// Each allocation of each function fails once: the status is OUT_OF_MEMORY, nothing leaks, and the
// source is untouched. The tests also check the number of allocations.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/aligned.h"
#include "support/allocations.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

#define DLBRIDGE_SKIP_UNLESS(possible) \
  if (!(possible)) GTEST_SKIP() << "a sanitizer or valgrind has its own malloc here"

// Runs `call` with its first allocation failing, then its second, and so on until it succeeds.
// `check` runs after each failure. Returns the number of allocations of a successful call.
int64_t FailEach(const std::function<DLBridgeStatus(DLBridgeError*)>& call,
                 const std::function<void()>& check) {
  for (int64_t n = 1;; ++n) {
    Error error;
    DLBridgeStatus status = DLBRIDGE_OK;
    bool failed = false;
    int64_t live = 0;
    int64_t made = 0;
    {
      const Allocations allocations(n);
      status = call(&error);
      failed = allocations.failed();
      live = allocations.live();
      made = allocations.made();
    }
    if (!failed) {
      EXPECT_EQ(status, DLBRIDGE_OK) << error.message;
      return made;
    }
    EXPECT_EQ(status, DLBRIDGE_ERROR_OUT_OF_MEMORY) << "allocation " << n;
    EXPECT_EQ(error.status, DLBRIDGE_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NONE);
    EXPECT_EQ(error.axis, -1);
    EXPECT_NE(error.message[0], '\0');
    EXPECT_EQ(live, 0) << "leaked where allocation " << n << " failed";
    check();
    if (n > 100) {
      ADD_FAILURE() << "never succeeds";
      return -1;
    }
  }
}

using UpgradeOut = DLManagedTensorVersioned*;

TEST(OutOfMemory, InUpgradeLeavesTheSource) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  for (const uint32_t flags :
       {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_SKIP_VALIDATION},
        uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    LegacySource source;
    const DLBridgeConvertOptions options = Options(flags);
    UpgradeOut out = nullptr;
    FailEach(
        [&](DLBridgeError* error) { return dlbridge_upgrade(source.get(), &options, &out, error); },
        [&] {
          EXPECT_TRUE(source.Untouched());
          EXPECT_EQ(out, nullptr);
        });
    dlbridge_release_versioned(out);
  }
}

TEST(OutOfMemory, InUpgradeOfADlbridgeTensorLeavesItUnchanged) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  for (const uint32_t flags :
       {uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    VersionedSource source;
    DLManagedTensor* down = MustDowngrade(source.get());
    const DLManagedTensor before = *down;
    const DLBridgeConvertOptions options = Options(flags);
    UpgradeOut out = nullptr;
    FailEach([&](DLBridgeError* error) { return dlbridge_upgrade(down, &options, &out, error); },
             [&] { EXPECT_EQ(std::memcmp(&before, down, sizeof before), 0); });
    dlbridge_release_versioned(out);
    EXPECT_EQ(source.deletions(), 1);
  }
}

TEST(OutOfMemory, InDowngradeLeavesTheSource) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  for (const uint32_t flags :
       {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    VersionedSource source;
    const DLBridgeConvertOptions options = Options(flags);
    DLManagedTensor* out = nullptr;
    FailEach(
        [&](DLBridgeError* error) {
          return dlbridge_downgrade(source.get(), &options, &out, error);
        },
        [&] { EXPECT_TRUE(source.Untouched()); });
    dlbridge_release_legacy(out);
  }
}

TEST(OutOfMemory, InAdoptLeavesTheSource) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  for (const uint32_t flags : {0U, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    VersionedSource source;
    const DLBridgeConvertOptions options = Options(flags);
    UpgradeOut out = nullptr;
    FailEach(
        [&](DLBridgeError* error) {
          return dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, error);
        },
        [&] { EXPECT_TRUE(source.Untouched()); });
    dlbridge_release_versioned(out);
  }
}

TEST(OutOfMemory, InConvertLeavesTheSource) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  for (const DLPackVersion target : {DLPackVersion{1, 0}, DLPackVersion{0, 8}}) {
    VersionedSource source;
    void* out = nullptr;
    DLBridgeKind kind = 77;
    FailEach(
        [&](DLBridgeError* error) {
          return dlbridge_export(source.get(), DLBRIDGE_KIND_VERSIONED, target, nullptr, &out,
                                 &kind, error);
        },
        [&] {
          EXPECT_TRUE(source.Untouched());
          EXPECT_EQ(out, nullptr);
          EXPECT_EQ(kind, 77);
        });
    if (kind == DLBRIDGE_KIND_LEGACY) {
      dlbridge_release_legacy(static_cast<DLManagedTensor*>(out));
    } else {
      dlbridge_release_versioned(static_cast<UpgradeOut>(out));
    }
  }
}

TEST(OutOfMemory, InShareAndViewLeavesTheParent) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  LegacySource source;
  UpgradeOut parent = MustUpgrade(source.get());
  const DLManagedTensorVersioned before = *parent;
  UpgradeOut out = nullptr;
  const auto untouched = [&] {
    EXPECT_EQ(std::memcmp(&before, parent, sizeof before), 0);
    EXPECT_EQ(out, nullptr);
  };
  FailEach([&](DLBridgeError* error) { return dlbridge_share(parent, &out, error); }, untouched);
  dlbridge_release_versioned(out);
  out = nullptr;
  const Axes shape = {6};
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = shape.data();
  FailEach([&](DLBridgeError* error) { return dlbridge_view(parent, &spec, &out, error); },
           untouched);
  dlbridge_release_versioned(out);
  // The failed calls did not add owners.
  dlbridge_release_versioned(parent);
  EXPECT_EQ(source.deletions(), 1);
}

// The number of allocations of the tensor.
int64_t FailAllocate(const Axes& shape) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = shape.data();
  UpgradeOut out = nullptr;
  const int64_t made =
      FailEach([&](DLBridgeError* error) { return dlbridge_allocate(&spec, &out, error); },
               [&] { EXPECT_EQ(out, nullptr); });
  dlbridge_release_versioned(out);
  return made;
}

TEST(OutOfMemory, InAllocateLeaksNothing) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  EXPECT_EQ(FailAllocate({3, 5}), 1) << "the node, with the data";
  EXPECT_EQ(FailAllocate({30, 50}), 2) << "the node, and separate data";
  EXPECT_EQ(FailAllocate({3000, 500}), 2) << "the node, and data on huge pages";
}

TEST(OutOfMemory, InACopyOfManyAxesLeavesTheSource) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  const LegacySource source(TensorSpec(Axes(20, 1)));
  const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  UpgradeOut out = nullptr;
  const int64_t made = FailEach(
      [&](DLBridgeError* error) { return dlbridge_upgrade(source.get(), &options, &out, error); },
      [&] { EXPECT_TRUE(source.Untouched()); });
  EXPECT_EQ(made, 2) << "the snapshot of shape and strides, and the node with the data";
  dlbridge_release_versioned(out);
}

TEST(OutOfMemory, InUpgradeManyLeavesAllSources) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  constexpr size_t kCount = 4;
  std::vector<std::unique_ptr<LegacySource>> sources;
  std::vector<DLManagedTensor*> inputs;
  for (size_t i = 0; i < kCount; ++i) {
    sources.push_back(std::make_unique<LegacySource>());
    inputs.push_back(sources.back()->get());
  }
  std::vector<UpgradeOut> outs(kCount, nullptr);
  const DLBridgeConvertOptions options = Options();
  FailEach(
      [&](DLBridgeError* error) {
        return dlbridge_upgrade_many(inputs.data(), kCount, &options, outs.data(), nullptr, error);
      },
      [&] {
        for (size_t i = 0; i < kCount; ++i) {
          EXPECT_TRUE(sources[i]->Untouched());
          EXPECT_EQ(outs[i], nullptr);
        }
      });
  for (UpgradeOut out : outs) {
    dlbridge_release_versioned(out);
  }
}

TEST(OutOfMemory, IsNotUsedByFunctionsThatNeedNone) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  TensorSpec spec({2, 3}, {-3, 0});
  spec.start = 64;
  LegacySource source(spec);
  char text[256];
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  DLBridgeFinding findings[4];
  size_t count = 0;
  DLPackVersion version;
  Error error;
  const Allocations allocations;
  dlbridge_validate_legacy(source.get(), nullptr, &error);
  dlbridge_layout(source.tensor(), 0, &layout, &error);
  dlbridge_tensor_format(source.tensor(), 0, text, sizeof text, nullptr, &error);
  dlbridge_diagnose(source.get(), DLBRIDGE_KIND_LEGACY, 0, nullptr, findings, 4, &count, &error);
  dlbridge_required_version(source.tensor(), 0, &version, &error);
  dlbridge_identify(source.get());
  const DLManagedTensorVersioned* nothing = nullptr;
  UpgradeOut out = nullptr;
  dlbridge_share(nothing, &out, &error);
  EXPECT_EQ(allocations.asked() + allocations.made(), 0);
  source.Release();
}

// --------------------------------------------------------------------- the caller's allocator

// Memory of a test, which runs out after `left` requests.
struct Arena {
  int left = 0;
  int live = 0;

  static void* Allocate(void* context, DLDevice /*device*/, uint64_t bytes, uint64_t alignment,
                        const DLBridgeStream* /*stream*/) {
    auto* arena = static_cast<Arena*>(context);
    void* memory = arena->left-- > 0 ? AllocateAligned(alignment, bytes) : nullptr;
    if (memory == nullptr) {
      return nullptr;
    }
    ++arena->live;
    return memory;
  }
  static void Deallocate(void* context, DLDevice /*device*/, void* memory, uint64_t /*bytes*/,
                         uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    --static_cast<Arena*>(context)->live;
    FreeAligned(memory);
  }
  DLBridgeAllocator Hook() {
    DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
    hook.context = this;
    hook.allocate = &Arena::Allocate;
    hook.deallocate = &Arena::Deallocate;
    return hook;
  }
};

TEST(AllocatorHook, ReturningNullLeavesTheSourceOfACopy) {
  Arena arena;
  const DLBridgeAllocator hook = arena.Hook();
  DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  options.allocator = &hook;
  LegacySource legacy;
  VersionedSource versioned;
  UpgradeOut up = nullptr;
  DLManagedTensor* down = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade(legacy.get(), &options, &up, &error), DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error.status, DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(dlbridge_downgrade(versioned.get(), &options, &down, nullptr),
            DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(dlbridge_import(versioned.get(), DLBRIDGE_KIND_VERSIONED, &options, &up, nullptr),
            DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(up, nullptr);
  EXPECT_EQ(down, nullptr);
  EXPECT_TRUE(legacy.Untouched());
  EXPECT_TRUE(versioned.Untouched());
  EXPECT_EQ(arena.live, 0);
  legacy.Release();
  versioned.Release();
}

TEST(AllocatorHook, ReturningNullFailsAllocate) {
  Arena arena;
  const DLBridgeAllocator hook = arena.Hook();
  const Axes shape = {4};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 1;
  spec.shape = shape.data();
  spec.allocator = &hook;
  UpgradeOut out = nullptr;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(out, nullptr);
  arena.left = 1;
  ASSERT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(arena.live, 1);
  dlbridge_release_versioned(out);
  EXPECT_EQ(arena.live, 0);
}

TEST(AllocatorHook, FreesTheMemoryWhereTheNodeFails) {
  DLBRIDGE_SKIP_UNLESS(Allocations::CanFail());
  alignas(256) static unsigned char memory[256];
  static int live;
  live = 0;
  DLBridgeAllocator hook = DLBRIDGE_ALLOCATOR_INIT;
  hook.allocate = [](void*, DLDevice, uint64_t, uint64_t,
                     const DLBridgeStream* /*stream*/) -> void* {
    ++live;
    return memory;
  };
  hook.deallocate = [](void*, DLDevice, void*, uint64_t, uint64_t,
                       const DLBridgeStream* /*stream*/) { --live; };
  LegacySource source;
  DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
  options.allocator = &hook;
  UpgradeOut out = nullptr;
  FailEach(
      [&](DLBridgeError* error) { return dlbridge_upgrade(source.get(), &options, &out, error); },
      [&] {
        EXPECT_EQ(live, 0);
        EXPECT_TRUE(source.Untouched());
      });
  EXPECT_EQ(live, 1);
  dlbridge_release_versioned(out);
  EXPECT_EQ(live, 0);
}

// ------------------------------------------------------------------------ number of allocations

TEST(AllocationCount, IsOneForUpgradeDowngradeAdoptShareAndView) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  for (const size_t ndim : {size_t{0}, size_t{1}, size_t{4}, size_t{64}}) {
    const Axes ones(ndim, 1);
    const TensorSpec spec(ones);
    LegacySource legacy(spec);
    VersionedSource versioned(spec);
    VersionedSource foreign(spec);
    const Axes shape = {1};
    DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
    view.ndim = 1;
    view.shape = shape.data();
    UpgradeOut out[4] = {};
    DLManagedTensor* down = nullptr;
    {
      const Allocations allocations;
      dlbridge_upgrade(legacy.get(), nullptr, &out[0], nullptr);
      EXPECT_EQ(allocations.made(), 1);
      dlbridge_downgrade(versioned.get(), nullptr, &down, nullptr);
      EXPECT_EQ(allocations.made(), 2);
      dlbridge_import(foreign.get(), DLBRIDGE_KIND_VERSIONED, nullptr, &out[1], nullptr);
      EXPECT_EQ(allocations.made(), 3);
      dlbridge_share(out[0], &out[2], nullptr);
      EXPECT_EQ(allocations.made(), 4);
      dlbridge_view(out[0], &view, &out[3], nullptr);
      EXPECT_EQ(allocations.made(), 5);
      EXPECT_EQ(allocations.live(), 5);
    }
    for (UpgradeOut tensor : out) {
      dlbridge_release_versioned(tensor);
    }
    dlbridge_release_legacy(down);
  }
}

TEST(AllocationCount, IsZeroForUpgradeInto) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  alignas(16) static char memory[512];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  LegacySource source;
  UpgradeOut out = nullptr;
  {
    const Allocations allocations;
    ASSERT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &storage, &out, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(allocations.asked() + allocations.made(), 0);
  }
  dlbridge_release_versioned(out);
}

TEST(AllocationCount, IsZeroForARoundTripToTheOriginal) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  VersionedSource source;
  DLManagedTensor* down = MustDowngrade(source.get());
  UpgradeOut up = nullptr;
  {
    const Allocations allocations;
    dlbridge_upgrade(down, nullptr, &up, nullptr);
    EXPECT_EQ(allocations.made(), 0);
    EXPECT_EQ(allocations.live(), -1) << "the node in between is freed";
  }
  EXPECT_EQ(up, source.get());
  source.Release();
}

TEST(AllocationCount, IsOneEachAndOneForABatch) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  LegacySource first;
  LegacySource second;
  DLManagedTensor* sources[] = {first.get(), second.get()};
  UpgradeOut outs[2] = {};
  {
    const Allocations allocations;
    dlbridge_upgrade_many(sources, 2, nullptr, outs, nullptr, nullptr);
    EXPECT_EQ(allocations.live(), 2);
    EXPECT_LE(allocations.made(), 3);
  }
  dlbridge_release_versioned(outs[0]);
  dlbridge_release_versioned(outs[1]);
}

TEST(AllocationCount, HasNoneLiveAfterARejectedCall) {
  DLBRIDGE_SKIP_UNLESS(Allocations::Counts());
  const TensorSpec specs[] = {TensorSpec({2, -1}, {1, 1}), TensorSpec({INT64_MAX, 2}, {1, 1}),
                              TensorSpec({3}, {INT64_MAX})};
  for (const TensorSpec& spec : specs) {
    LegacySource legacy(spec);
    VersionedSource versioned(spec);
    for (const uint32_t flags : {0U, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
      const DLBridgeConvertOptions options = Options(flags);
      UpgradeOut up = nullptr;
      DLManagedTensor* down = nullptr;
      const Allocations allocations;
      EXPECT_NE(dlbridge_upgrade(legacy.get(), &options, &up, nullptr), DLBRIDGE_OK);
      EXPECT_NE(dlbridge_downgrade(versioned.get(), &options, &down, nullptr), DLBRIDGE_OK);
      EXPECT_NE(dlbridge_import(versioned.get(), DLBRIDGE_KIND_VERSIONED, &options, &up, nullptr),
                DLBRIDGE_OK);
      EXPECT_EQ(allocations.live(), 0);
    }
    legacy.Release();
    versioned.Release();
  }
}

}  // namespace
}  // namespace dlbridge_test
