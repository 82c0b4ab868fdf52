// SPDX-License-Identifier: Apache-2.0
// Structs that the caller fills, of callers that are older, newer, or wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// A struct with the tail that a newer header might have added.
template <class T>
struct Grown {
  T known;
  unsigned char tail[40];

  explicit Grown(const T& value) : known(value), tail{} { known.struct_size = sizeof *this; }
};

using Call = std::function<DLBridgeStatus(const void* argument, DLBridgeError* error)>;

template <class T>
void ExpectRefused(const Call& call, const T& value, DLBridgeStatus status, const char* argument) {
  Error error;
  EXPECT_EQ(call(&value, &error), status);
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NONE);
  EXPECT_TRUE(error.Says(argument)) << error.message;
}

// `call` uses a struct like `good`, and has no effect that would have to be undone when it fails.
// `first_size` is that of the struct's first version.
template <class T>
void ExpectGrowth(const char* argument, const T& good, const Call& call,
                  const std::function<void(const void*)>& succeed,
                  uint32_t first_size = sizeof(T)) {
  SCOPED_TRACE(argument);
  for (const uint32_t size : {0U, 4U, first_size - 8U, first_size - 1U}) {
    T smaller = good;
    smaller.struct_size = size;
    ExpectRefused(call, smaller, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument);
  }
  Grown<T> larger(good);
  succeed(&larger.known);
  for (const size_t at : {size_t{0}, size_t{17}, sizeof larger.tail - 1}) {
    larger.tail[at] = 1;
    ExpectRefused(call, larger.known, DLBRIDGE_ERROR_STRUCT_TOO_NEW, argument);
    larger.tail[at] = 0;
  }
  succeed(&larger.known);
  // A caller of the first version has no more memory than that.
  T first = good;
  first.struct_size = first_size;
  const Guarded old(&first, first_size);
  succeed(old.as<void>());
  // The tail is read to its end only.
  larger.known.struct_size = sizeof(T) + 16;
  const Guarded guarded(&larger, sizeof(T) + 16);
  succeed(guarded.as<void>());
  succeed(&good);
}

// A reserved field set to something by a caller that must not.
template <class T, class Set>
void ExpectReserved(const char* argument, const T& good, const Call& call, Set set) {
  T bad = good;
  set(&bad);
  ExpectRefused(call, bad, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument);
}

TEST(StructGrowth, OfPolicy) {
  LegacySource source;
  const DLBridgePolicy good = DLBRIDGE_POLICY_INIT;
  const Call call = [&](const void* policy, DLBridgeError* error) {
    return dlbridge_validate_legacy(source.get(), static_cast<const DLBridgePolicy*>(policy),
                                    error);
  };
  const auto succeed = [&](const void* policy) { EXPECT_EQ(call(policy, nullptr), DLBRIDGE_OK); };
  ExpectGrowth("policy", good, call, succeed);
  ExpectReserved("policy.reserved", good, call, [](DLBridgePolicy* p) { p->reserved0 = 1; });
  ExpectReserved("policy.reserved", good, call, [](DLBridgePolicy* p) { p->reserved[0] = 1; });
  ExpectReserved("policy.reserved", good, call, [](DLBridgePolicy* p) { p->reserved[1] = 1; });
  // By every function that takes one.
  size_t count = 0;
  DLBridgePolicy bad = good;
  bad.struct_size = 8;
  EXPECT_EQ(dlbridge_validate(source.tensor(), 0, &bad, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      dlbridge_diagnose(source.get(), DLBRIDGE_KIND_LEGACY, 0, &bad, nullptr, 0, &count, nullptr),
      DLBRIDGE_ERROR_INVALID_ARGUMENT);
  VersionedSource versioned;
  EXPECT_EQ(dlbridge_validate_versioned(versioned.get(), &bad, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  source.Release();
  versioned.Release();
}

TEST(StructGrowth, OfPolicyInsideOptions) {
  LegacySource source;
  const DLBridgePolicy good = DLBRIDGE_POLICY_INIT;
  DLManagedTensorVersioned* out = nullptr;
  const Call call = [&](const void* policy, DLBridgeError* error) {
    DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
    options.policy = static_cast<const DLBridgePolicy*>(policy);
    return dlbridge_upgrade(source.get(), &options, &out, error);
  };
  ExpectGrowth("policy", good, call, [&](const void* policy) {
    ASSERT_EQ(call(policy, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(MustDowngrade(out, DLBRIDGE_CONVERT_DROP_READ_ONLY), source.get());
  });
  source.Release();
}

TEST(StructGrowth, OfConvertOptions) {
  LegacySource source;
  VersionedSource versioned;
  const DLBridgeConvertOptions good = DLBRIDGE_CONVERT_OPTIONS_INIT;
  const auto as_options = [](const void* options) {
    return static_cast<const DLBridgeConvertOptions*>(options);
  };
  DLManagedTensorVersioned* out = nullptr;
  DLManagedTensor* down = nullptr;
  const Call upgrade = [&](const void* options, DLBridgeError* error) {
    return dlbridge_upgrade(source.get(), as_options(options), &out, error);
  };
  const auto undo = [&] {
    EXPECT_EQ(MustDowngrade(out, DLBRIDGE_CONVERT_DROP_READ_ONLY), source.get());
  };
  ExpectGrowth("options", good, upgrade, [&](const void* options) {
    ASSERT_EQ(upgrade(options, nullptr), DLBRIDGE_OK);
    undo();
  });
  ExpectReserved("options.reserved", good, upgrade,
                 [](DLBridgeConvertOptions* o) { o->reserved[0] = 1; });
  ExpectReserved("options.reserved", good, upgrade,
                 [](DLBridgeConvertOptions* o) { o->reserved[1] = UINT64_MAX; });
  const Call downgrade = [&](const void* options, DLBridgeError* error) {
    return dlbridge_downgrade(versioned.get(), as_options(options), &down, error);
  };
  ExpectGrowth("options", good, downgrade, [&](const void* options) {
    ASSERT_EQ(downgrade(options, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(MustUpgrade(down), versioned.get());
  });
  DLManagedTensor* const sources[] = {source.get()};
  const Call many = [&](const void* options, DLBridgeError* error) {
    return dlbridge_upgrade_many(sources, 1, as_options(options), &out, nullptr, error);
  };
  ExpectGrowth("options", good, many, [&](const void* options) {
    ASSERT_EQ(many(options, nullptr), DLBRIDGE_OK);
    undo();
  });
  source.Release();
  versioned.Release();
}

TEST(StructGrowth, OfConvertOptionsInAdoptAndConvert) {
  VersionedSource versioned;
  DLManagedTensorVersioned* ours = MustAdopt(versioned.get());
  const DLBridgeConvertOptions good = DLBRIDGE_CONVERT_OPTIONS_INIT;
  const Call adopt = [&](const void* options, DLBridgeError* error) {
    DLManagedTensorVersioned* out = nullptr;
    return dlbridge_adopt(ours, static_cast<const DLBridgeConvertOptions*>(options), &out, error);
  };
  ExpectGrowth("options", good, adopt,
               [&](const void* options) { EXPECT_EQ(adopt(options, nullptr), DLBRIDGE_OK); });
  const Call convert = [&](const void* options, DLBridgeError* error) {
    void* out = nullptr;
    DLBridgeKind kind = 0;
    return dlbridge_convert(ours, DLBRIDGE_KIND_VERSIONED, {1, 3},
                            static_cast<const DLBridgeConvertOptions*>(options), &out, &kind,
                            error);
  };
  ExpectGrowth("options", good, convert,
               [&](const void* options) { EXPECT_EQ(convert(options, nullptr), DLBRIDGE_OK); });
  ExpectReserved("options.reserved", good, convert,
                 [](DLBridgeConvertOptions* o) { o->reserved[0] = 1; });
  dlbridge_release_versioned(ours);
}

TEST(StructGrowth, OfStorage) {
  LegacySource source;
  alignas(16) static char memory[512];
  DLBridgeStorage good = DLBRIDGE_STORAGE_INIT;
  good.memory = memory;
  good.size = sizeof memory;
  DLManagedTensorVersioned* out = nullptr;
  const Call call = [&](const void* storage, DLBridgeError* error) {
    return dlbridge_upgrade_into(source.get(), nullptr,
                                 static_cast<const DLBridgeStorage*>(storage), &out, error);
  };
  ExpectGrowth("storage", good, call, [&](const void* storage) {
    ASSERT_EQ(call(storage, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(MustDowngrade(out, DLBRIDGE_CONVERT_DROP_READ_ONLY), source.get());
  });
  ExpectReserved("storage.reserved0", good, call, [](DLBridgeStorage* s) { s->reserved0 = 1; });
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

TEST(StructGrowth, OfViewSpec) {
  LegacySource source;
  DLManagedTensorVersioned* parent = MustUpgrade(source.get());
  const DLBridgeViewSpec good = DLBRIDGE_VIEW_SPEC_INIT;
  DLManagedTensorVersioned* out = nullptr;
  const Call call = [&](const void* spec, DLBridgeError* error) {
    return dlbridge_view(parent, static_cast<const DLBridgeViewSpec*>(spec), &out, error);
  };
  ExpectGrowth("spec", good, call, [&](const void* spec) {
    ASSERT_EQ(call(spec, nullptr), DLBRIDGE_OK);
    dlbridge_release_versioned(out);
  });
  ExpectReserved("spec.reserved", good, call, [](DLBridgeViewSpec* s) { s->reserved[0] = 1; });
  ExpectReserved("spec.reserved", good, call, [](DLBridgeViewSpec* s) { s->reserved[1] = 1; });
  dlbridge_release_versioned(parent);
}

TEST(StructGrowth, OfAllocateSpec) {
  const DLBridgeAllocateSpec good = DLBRIDGE_ALLOCATE_SPEC_INIT;
  DLManagedTensorVersioned* out = nullptr;
  const Call call = [&](const void* spec, DLBridgeError* error) {
    return dlbridge_allocate(static_cast<const DLBridgeAllocateSpec*>(spec), &out, error);
  };
  ExpectGrowth(
      "spec", good, call,
      [&](const void* spec) {
        ASSERT_EQ(call(spec, nullptr), DLBRIDGE_OK);
        dlbridge_release_versioned(out);
      },
      offsetof(DLBridgeAllocateSpec, options));
  ExpectReserved("spec.reserved", good, call, [](DLBridgeAllocateSpec* s) { s->reserved0 = 1; });
  ExpectReserved("spec.reserved", good, call, [](DLBridgeAllocateSpec* s) { s->reserved[0] = 1; });
  ExpectReserved("spec.reserved", good, call, [](DLBridgeAllocateSpec* s) { s->reserved[1] = 1; });
}

void* Allocate(void* /*context*/, DLDevice /*device*/, uint64_t /*bytes*/, uint64_t /*alignment*/) {
  alignas(256) static char memory[256];
  return memory;
}
void Deallocate(void* /*context*/, DLDevice /*device*/, void* /*memory*/, uint64_t /*bytes*/,
                uint64_t /*alignment*/) {}

TEST(StructGrowth, OfAllocator) {
  DLBridgeAllocator good = DLBRIDGE_ALLOCATOR_INIT;
  good.allocate = &Allocate;
  good.deallocate = &Deallocate;
  DLManagedTensorVersioned* out = nullptr;
  const Call allocate = [&](const void* allocator, DLBridgeError* error) {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.allocator = static_cast<const DLBridgeAllocator*>(allocator);
    return dlbridge_allocate(&spec, &out, error);
  };
  ExpectGrowth("allocator", good, allocate, [&](const void* allocator) {
    ASSERT_EQ(allocate(allocator, nullptr), DLBRIDGE_OK);
    dlbridge_release_versioned(out);
  });
  ExpectReserved("allocator.reserved0", good, allocate,
                 [](DLBridgeAllocator* a) { a->reserved0 = 1; });
  // Also where nothing is going to be copied.
  LegacySource source;
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeAllocator bad = good;
  bad.struct_size = 4;
  options.allocator = &bad;
  EXPECT_EQ(dlbridge_upgrade(source.get(), &options, &out, nullptr),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  source.Release();
}

TEST(StructGrowth, OfLayoutWhichIsAnOutput) {
  LegacySource source;
  Error error;
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  for (const uint32_t size : {0U, 4U, static_cast<uint32_t>(sizeof layout) - 1}) {
    layout.struct_size = size;
    EXPECT_EQ(dlbridge_layout(source.tensor(), 0, &layout, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("out"));
  }
  // What lies behind the part that is known is the caller's, whatever it holds.
  Grown<DLBridgeLayout> larger(DLBRIDGE_LAYOUT_INIT);
  std::memset(larger.tail, 0x77, sizeof larger.tail);
  EXPECT_EQ(dlbridge_layout(source.tensor(), 0, &larger.known, &error), DLBRIDGE_OK);
  EXPECT_EQ(larger.tail[0], 0x77);
  source.Release();
}

}  // namespace
}  // namespace dlbridge_test
