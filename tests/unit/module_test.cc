// SPDX-License-Identifier: Apache-2.0
// Which addresses can be pinned, and how conversions reject the others. tests/plugin tests that a
// pinned module stays loaded, with modules that are unloaded.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "dlbridge/dlbridge.h"
#include "support/aligned.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr uint32_t kPin = DLBRIDGE_CONVERT_PIN_PRODUCER;

int static_data = 1;
void Function() {}

template <class Code>
const void* AddressOf(Code* code) {
  return reinterpret_cast<const void*>(code);
}

TEST(PinModule, RejectsNull) {
  Error error;
  EXPECT_EQ(dlbridge_module_pin(nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("address")) << error.message;
}

TEST(PinModule, AcceptsAnyAddressOfAModule) {
  for (const void* address :
       {AddressOf(&Function), AddressOf(&static_data), AddressOf(&std::abort),
        AddressOf(&dlbridge_module_pin), static_cast<const void*>(dlbridge_version_string())}) {
    Error error;
    EXPECT_EQ(dlbridge_module_pin(address, &error), DLBRIDGE_OK) << error.message;
  }
}

TEST(PinModule, MayBeRepeated) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(dlbridge_module_pin(AddressOf(&std::abort), nullptr), DLBRIDGE_OK);
  }
}

TEST(PinModule, RejectsAddressesOutsideModules) {
  const int on_stack = 0;
  const auto on_heap = std::make_unique<int>(0);
  for (const void* address :
       {static_cast<const void*>(&on_stack), static_cast<const void*>(on_heap.get()),
        reinterpret_cast<const void*>(uintptr_t{1}), reinterpret_cast<const void*>(UINTPTR_MAX)}) {
    Error error;
    EXPECT_EQ(dlbridge_module_pin(address, &error), DLBRIDGE_ERROR_NOT_FOUND);
    EXPECT_EQ(error.status, DLBRIDGE_ERROR_NOT_FOUND);
    EXPECT_TRUE(error.Says("no loaded module")) << error.message;
    EXPECT_EQ(dlbridge_module_pin(address, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  }
}

// The deleters are in the test program, like those of a producer that is not a plugin.
TEST(PinProducer, LeavesConversionsOfPinnableProducersUnchanged) {
  LegacySource legacy;
  dlbridge_release_versioned(MustUpgrade(legacy.get(), kPin));
  VersionedSource adopted;
  dlbridge_release_versioned(MustAdopt(adopted.get(), kPin));
  VersionedSource downgraded;
  dlbridge_release_legacy(MustDowngrade(downgraded.get(), kPin));
}

TEST(PinProducer, AcceptsTensorsWithoutADeleter) {
  TensorSpec spec;
  spec.null_deleter = true;
  LegacySource legacy(spec);
  dlbridge_release_versioned(MustUpgrade(legacy.get(), kPin));
}

// Gives a tensor a deleter outside of all modules while the object lives. It is never called: the
// library must reject the tensor.
template <class Managed>
class OutsideDeleter {
 public:
  explicit OutsideDeleter(Managed* managed) : managed_(managed), deleter_(managed->deleter) {
    managed->deleter = reinterpret_cast<void (*)(Managed*)>(TensorOf(managed)->data);
  }
  OutsideDeleter(const OutsideDeleter&) = delete;
  OutsideDeleter& operator=(const OutsideDeleter&) = delete;
  ~OutsideDeleter() { managed_->deleter = deleter_; }

 private:
  Managed* managed_;
  void (*deleter_)(Managed*);
};

template <class Managed>
class UnpinnableSource {
 public:
  UnpinnableSource() { outside_.emplace(source_.get()); }
  ~UnpinnableSource() {
    outside_.reset();
    EXPECT_EQ(source_.deletions(), 0);
    source_.Release();
  }
  Managed* get() { return source_.get(); }

 private:
  Source<Managed> source_;
  std::optional<OutsideDeleter<Managed>> outside_;
};

void ExpectNotFound(DLBridgeStatus status, const Error& error) {
  EXPECT_EQ(status, DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(error.status, DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_TRUE(error.Says("no loaded module")) << error.message;
}

TEST(PinProducer, RejectsDeletersOutsideModules) {
  UnpinnableSource<DLManagedTensor> legacy;
  UnpinnableSource<DLManagedTensorVersioned> versioned;
  const DLBridgeConvertOptions options = Options(kPin);
  DLManagedTensorVersioned* out = nullptr;
  DLManagedTensor* out_legacy = nullptr;
  Error error;
  ExpectNotFound(dlbridge_upgrade(legacy.get(), &options, &out, &error), error);
  ExpectNotFound(dlbridge_import(versioned.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, &error),
                 error);
  ExpectNotFound(dlbridge_downgrade(versioned.get(), &options, &out_legacy, &error), error);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(out_legacy, nullptr);
}

TEST(PinProducer, RejectsDeletersOutsideModulesInStorage) {
  UnpinnableSource<DLManagedTensor> legacy;
  const DLBridgeConvertOptions options = Options(kPin);
  alignas(16) unsigned char memory[512];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  storage.release = [](void*, void*) { ADD_FAILURE() << "the storage was never used"; };
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  ExpectNotFound(dlbridge_upgrade_into(legacy.get(), &options, &storage, &out, &error), error);
  EXPECT_EQ(out, nullptr);
}

// The batch must be undone even if only the last tensor fails.
TEST(PinProducer, RejectsABatchWithOneInvalidDeleter) {
  LegacySource first;
  UnpinnableSource<DLManagedTensor> second;
  DLManagedTensor* const sources[] = {first.get(), second.get()};
  const DLBridgeConvertOptions options = Options(kPin);
  DLManagedTensorVersioned* outs[2] = {};
  size_t failed = 7;
  Error error;
  ExpectNotFound(dlbridge_upgrade_many(sources, 2, &options, outs, &failed, &error), error);
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(outs[0], nullptr);
  EXPECT_TRUE(first.Untouched());
  first.Release();
}

// A tensor that is returned unchanged must be releasable too.
TEST(PinProducer, ChecksTensorsReturnedUnchanged) {
  UnpinnableSource<DLManagedTensor> legacy;
  UnpinnableSource<DLManagedTensorVersioned> versioned;
  const DLBridgeConvertOptions options = Options(kPin);
  void* out = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_AMBIGUOUS;
  Error error;
  ExpectNotFound(
      dlbridge_export(legacy.get(), DLBRIDGE_KIND_LEGACY, {0, 8}, &options, &out, &kind, &error),
      error);
  ExpectNotFound(dlbridge_export(versioned.get(), DLBRIDGE_KIND_VERSIONED, {1, 3}, &options, &out,
                                 &kind, &error),
                 error);
  EXPECT_EQ(out, nullptr);
}

// For a tensor made by the library, the deleter of its source counts, not the library's deleter.
TEST(PinProducer, ChecksTheSourceOfATensorOfTheLibrary) {
  VersionedSource source;
  DLManagedTensorVersioned* ours = MustAdopt(source.get());
  {
    const OutsideDeleter<DLManagedTensorVersioned> outside(source.get());
    const DLBridgeConvertOptions options = Options(kPin);
    DLManagedTensorVersioned* adopted = nullptr;
    DLManagedTensor* legacy = nullptr;
    Error error;
    ExpectNotFound(dlbridge_import(ours, DLBRIDGE_KIND_VERSIONED, &options, &adopted, &error),
                   error);
    ExpectNotFound(dlbridge_downgrade(ours, &options, &legacy, &error), error);
  }
  dlbridge_release_versioned(ours);
}

// Upgrading a legacy tensor made by the library returns its source, whose deleter is checked.
TEST(PinProducer, ChecksTheReturnedSource) {
  VersionedSource source;
  DLManagedTensor* ours = MustDowngrade(source.get());
  {
    const OutsideDeleter<DLManagedTensorVersioned> outside(source.get());
    const DLBridgeConvertOptions options = Options(kPin);
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    ExpectNotFound(dlbridge_upgrade(ours, &options, &out, &error), error);
  }
  EXPECT_EQ(MustUpgrade(ours, kPin), source.get());
  source.Release();
}

TEST(PinProducer, AcceptsAllocatedTensors) {
  DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  allocator.allocate = [](void*, DLDevice, uint64_t bytes, uint64_t alignment,
                          const DLBridgeStream* /*stream*/) {
    return AllocateAligned(alignment, bytes);
  };
  allocator.deallocate = [](void*, DLDevice, void* memory, uint64_t, uint64_t,
                            const DLBridgeStream* /*stream*/) { FreeAligned(memory); };
  for (const DLBridgeAllocator* used : {static_cast<const DLBridgeAllocator*>(nullptr),
                                        static_cast<const DLBridgeAllocator*>(&allocator)}) {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.dtype = {kDLFloat, 32, 1};
    spec.allocator = used;
    DLManagedTensorVersioned* tensor = nullptr;
    Error error;
    ASSERT_EQ(dlbridge_allocate(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
    dlbridge_release_versioned(MustAdopt(tensor, kPin));
  }
}

// A copy releases its source immediately, so nothing needs to be pinned.
TEST(PinProducer, DoesNotApplyToCopies) {
  LegacySource source;
  dlbridge_release_versioned(MustUpgrade(source.get(), kPin | DLBRIDGE_CONVERT_COPY));
}

}  // namespace
}  // namespace dlbridge_test
