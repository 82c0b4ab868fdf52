// SPDX-License-Identifier: Apache-2.0
// Regression tests: round trips, duplicates, storage, unknown flags, structs that are too small,
// and host access through a void*.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/guard.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr uint32_t kDropAll = DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED;

TensorSpec Nibbles() {
  TensorSpec spec({4}, {1});
  spec.dtype = Dtype(kDLUInt, 4);
  return spec;
}

// ------------------------------------------------------------------------------------ round trips

// The flags after a round trip through legacy, where the caller passed `known` for the source.
uint64_t FlagsAfterTrip(uint64_t known, bool shared, uint32_t again) {
  LegacySource source(Nibbles());
  DLBridgeConvertOptions up = Options();
  up.tensor_flags = known;
  DLManagedTensorVersioned* tensor = nullptr;
  EXPECT_EQ(dlbridge_upgrade(source.get(), &up, &tensor, nullptr), DLBRIDGE_OK);
  DLManagedTensorVersioned* share = shared ? MustShare(tensor) : nullptr;
  DLManagedTensorVersioned* back = MustUpgrade(MustDowngrade(tensor, kDropAll), again);
  const uint64_t flags = back->flags;
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  EXPECT_EQ(dlbridge_layout(&back->dl_tensor, flags, &layout, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(layout.packed_bytes, (known & kPadded) != 0 ? 4 : 2);
  dlbridge_release_versioned(share);
  dlbridge_release_versioned(back);
  return flags;
}

TEST(RoundTrip, RemembersFlagsWhetherOrNotAShareExists) {
  for (const uint64_t known : {kReadOnly, kPadded, kReadOnly | kPadded, kCopied | kPadded}) {
    for (const bool shared : {false, true}) {
      for (const uint32_t again : {0U, uint32_t{DLBRIDGE_CONVERT_VOUCH_WRITABLE}}) {
        // The caller did not state that the source is writable.
        EXPECT_EQ(FlagsAfterTrip(known, shared, again), known | kReadOnly)
            << "share held: " << shared << ", vouched: " << again;
      }
    }
  }
}

TEST(RoundTrip, KeepsReadOnlyThatItsOwnerSet) {
  VersionedSource source;
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  tensor->flags |= kReadOnly;
  DLManagedTensorVersioned* share = MustShare(tensor);
  EXPECT_EQ(share->flags, kReadOnly);
  dlbridge_release_versioned(share);
  DLManagedTensor* legacy = nullptr;
  EXPECT_EQ(dlbridge_downgrade(tensor, nullptr, &legacy, nullptr), DLBRIDGE_ERROR_UNREPRESENTABLE);
  DLManagedTensorVersioned* back = MustUpgrade(
      MustDowngrade(tensor, DLBRIDGE_CONVERT_DROP_READ_ONLY), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  EXPECT_EQ(back->flags, kReadOnly);
  EXPECT_NE(back, source.get());
  dlbridge_release_versioned(back);
}

// Upgrading returns the imported tensor, not the foreign one below it, which cannot be shared.
TEST(RoundTrip, ReturnsTheTensorThatDowngradeWasGiven) {
  VersionedSource source;
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  DLManagedTensorVersioned* back = MustUpgrade(MustDowngrade(tensor));
  EXPECT_NE(back, source.get());
  EXPECT_EQ(ShapeOf(back->dl_tensor), ShapeOf(*source.tensor()));
  dlbridge_release_versioned(MustShare(back));
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(back);
}

TEST(RoundTrip, ByExportReturnsAShareableTensor) {
  VersionedSource source;
  void* legacy = nullptr;
  void* back = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  ASSERT_EQ(
      dlbridge_export(tensor, DLBRIDGE_KIND_VERSIONED, {0, 8}, nullptr, &legacy, &kind, nullptr),
      DLBRIDGE_OK);
  ASSERT_EQ(kind, DLBRIDGE_KIND_LEGACY);
  ASSERT_EQ(dlbridge_export(legacy, kind, {1, 3}, nullptr, &back, &kind, nullptr), DLBRIDGE_OK);
  ASSERT_EQ(kind, DLBRIDGE_KIND_VERSIONED);
  EXPECT_NE(back, source.get());
  auto* versioned = static_cast<DLManagedTensorVersioned*>(back);
  dlbridge_release_versioned(MustShare(versioned));
  dlbridge_release_versioned(versioned);
}

// An export from legacy to legacy that makes a new struct.
DLManagedTensor* ExportInCanonicalForm(DLManagedTensor* source, uint32_t flags) {
  const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_CANONICAL | flags);
  void* out = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  EXPECT_EQ(dlbridge_export(source, DLBRIDGE_KIND_LEGACY, {0, 8}, &options, &out, &kind, nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(kind, DLBRIDGE_KIND_LEGACY);
  return static_cast<DLManagedTensor*>(out);
}

TEST(RoundTrip, ALegacyTensorOfUnknownWritabilityStaysReadOnly) {
  for (const uint32_t flags : {0U, uint32_t{DLBRIDGE_CONVERT_VOUCH_WRITABLE}}) {
    LegacySource source(Nibbles());
    DLManagedTensorVersioned* back = MustUpgrade(ExportInCanonicalForm(source.get(), flags));
    EXPECT_EQ(back->flags, flags == 0 ? kReadOnly : 0U);
    dlbridge_release_versioned(back);
  }
}

TEST(RoundTrip, ALegacyTensorRemembersItsWritability) {
  for (const uint64_t flags : {uint64_t{0}, kReadOnly}) {
    TensorSpec spec({4}, {1});
    spec.flags = flags;
    VersionedSource source(spec);
    DLManagedTensor* legacy = MustDowngrade(source.get(), kDropAll);
    DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
    policy.options = DLBRIDGE_POLICY_REQUIRE_WRITABLE;
    DLBridgeConvertOptions options = Options();
    options.policy = &policy;
    void* out = nullptr;
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    EXPECT_EQ(dlbridge_export(legacy, DLBRIDGE_KIND_LEGACY, {0, 8}, &options, &out, &kind, nullptr),
              flags == 0 ? DLBRIDGE_OK : DLBRIDGE_ERROR_POLICY);
    dlbridge_release_legacy(legacy);
  }
}

TEST(RoundTrip, ALegacyTensorKeepsTheVersionOfUnknownCodes) {
  constexpr uint32_t kAllow = DLBRIDGE_CONVERT_ALLOW_UNKNOWN;
  for (const uint32_t copy : {0U, uint32_t{DLBRIDGE_CONVERT_COPY}}) {
    TensorSpec spec({4}, {1});
    spec.version = {1, 9};
    spec.dtype = Dtype(99, 8);
    VersionedSource source(spec);
    DLManagedTensor* legacy = MustDowngrade(source.get(), kAllow);
    DLManagedTensorVersioned* back =
        MustUpgrade(ExportInCanonicalForm(legacy, kAllow | copy), kAllow);
    EXPECT_EQ(back->version.minor, 9U);
    dlbridge_release_versioned(back);
  }
}

TEST(RoundTrip, KeepsTheFormThatImportWrote) {
  TensorSpec spec({1, 3}, {77, 1});
  spec.version = {1, 1};
  spec.flags = kReadOnly;
  spec.device = Device(kDLCPU, 5);
  spec.byte_offset = 8;
  VersionedSource source(spec);
  DLManagedTensorVersioned* tensor =
      MustAdopt(source.get(), DLBRIDGE_CONVERT_CANONICAL | DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET);
  DLManagedTensorVersioned* back =
      MustUpgrade(MustDowngrade(tensor, DLBRIDGE_CONVERT_DROP_READ_ONLY));
  EXPECT_NE(back, source.get());
  EXPECT_EQ(StridesOf(back->dl_tensor), Axes({3, 1}));
  EXPECT_EQ(back->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(back->dl_tensor.device.device_id, 0);
  EXPECT_EQ(back->flags, kReadOnly);
  dlbridge_release_versioned(back);
}

// The validated copies stay, whatever the producer writes to its arrays.
TEST(RoundTrip, KeepsTheSnapshotOfShapeAndStrides) {
  VersionedSource source;
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  DLManagedTensor* legacy = MustDowngrade(tensor);
  const int64_t before = source.tensor()->shape[1];
  source.tensor()->shape[1] = 1000000;
  DLManagedTensorVersioned* back = MustUpgrade(legacy);
  EXPECT_EQ(back->dl_tensor.shape[1], before);
  dlbridge_release_versioned(back);
}

// ------------------------------------------------------------------------------- changed structs

using Change = std::function<void(DLManagedTensorVersioned*)>;
using Consume = std::function<DLBridgeStatus(DLManagedTensorVersioned*, DLBridgeError*)>;

struct NamedCall {
  const char* name;
  Consume call;
};

std::vector<NamedCall> CallsOnVersioned() {
  static DLManagedTensorVersioned* out = nullptr;
  static DLManagedTensor* legacy = nullptr;
  static void* any = nullptr;
  static DLBridgeKind kind = 0;
  static const DLBridgeConvertOptions drop = Options(kDropAll);
  return {
      {"import",
       [](auto* t, auto* e) {
         return dlbridge_import(t, DLBRIDGE_KIND_VERSIONED, nullptr, &out, e);
       }},
      {"export",
       [](auto* t, auto* e) {
         return dlbridge_export(t, DLBRIDGE_KIND_VERSIONED, {1, 3}, nullptr, &any, &kind, e);
       }},
      {"export to legacy",
       [](auto* t, auto* e) {
         return dlbridge_export(t, DLBRIDGE_KIND_VERSIONED, {0, 8}, &drop, &any, &kind, e);
       }},
      {"downgrade", [](auto* t, auto* e) { return dlbridge_downgrade(t, &drop, &legacy, e); }},
      {"share", [](auto* t, auto* e) { return dlbridge_share(t, &out, e); }},
      {"view",
       [](auto* t, auto* e) {
         const DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
         return dlbridge_view(t, &spec, &out, e);
       }},
      {"validate_versioned",
       [](auto* t, auto* e) { return dlbridge_validate_versioned(t, nullptr, e); }},
      {"ipc_export",
       [](auto* t, auto* e) {
         const DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
         DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
         return dlbridge_ipc_export(t, &spec, &sizes, e);
       }},
  };
}

TEST(ChangedStruct, IsRejectedByEveryFunction) {
  static int64_t elsewhere[2] = {1, 1};
  const std::vector<std::pair<const char*, Change>> changes = {
      {"READ_ONLY cleared", [](auto* t) { t->flags &= ~kReadOnly; }},
      {"IS_COPIED set", [](auto* t) { t->flags |= kCopied; }},
      {"padded set", [](auto* t) { t->flags |= kPadded; }},
      {"unknown flag set", [](auto* t) { t->flags |= uint64_t{1} << 40; }},
      {"minor changed", [](auto* t) { t->version.minor = 0; }},
      {"ndim changed", [](auto* t) { t->dl_tensor.ndim = 1; }},
      {"shape moved", [](auto* t) { t->dl_tensor.shape = elsewhere; }},
      {"strides moved", [](auto* t) { t->dl_tensor.strides = elsewhere; }},
      {"strides NULL", [](auto* t) { t->dl_tensor.strides = nullptr; }},
  };
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  const DLManagedTensorVersioned good = *tensor;
  for (const auto& [what, change] : changes) {
    for (const NamedCall& function : CallsOnVersioned()) {
      SCOPED_TRACE(std::string(function.name) + ": " + what);
      change(tensor);
      Error error;
      EXPECT_EQ(function.call(tensor, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT) << error.message;
      *tensor = good;
    }
  }
  dlbridge_release_versioned(tensor);
}

// -------------------------------------------------------------------------------------- duplicates

DLBridgeStatus UpgradeAll(const std::vector<DLManagedTensor*>& sources, size_t* failed,
                          Error* error) {
  std::vector<DLManagedTensorVersioned*> outs(sources.size(), nullptr);
  const DLBridgeStatus status =
      dlbridge_upgrade_many(sources.data(), sources.size(), nullptr, outs.data(), failed, error);
  for (DLManagedTensorVersioned* out : outs) {
    dlbridge_release_versioned(out);
  }
  return status;
}

TEST(UpgradeMany, RejectsATensorGivenTwice) {
  VersionedSource versioned;
  DLManagedTensor* own = MustDowngrade(versioned.get());
  LegacySource foreign;
  for (DLManagedTensor* twice : {own, foreign.get()}) {
    size_t failed = 77;
    Error error;
    EXPECT_EQ(UpgradeAll({twice, twice}, &failed, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(failed, 1U);
    EXPECT_EQ(UpgradeAll({own, foreign.get(), twice}, &failed, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(failed, 2U);
  }
  EXPECT_EQ(versioned.deletions() + foreign.deletions(), 0);
  dlbridge_release_legacy(own);
  foreign.Release();
}

TEST(UpgradeMany, WritesOverItsSourcesAtAnyDistance) {
  constexpr size_t kCount = 3;
  for (size_t to = 0; to <= 2 * kCount; ++to) {
    LegacySource owners[kCount];
    std::array<void*, 3 * kCount> slots = {};
    for (size_t i = 0; i < kCount; ++i) {
      slots[kCount + i] = owners[i].get();
    }
    auto* sources = reinterpret_cast<DLManagedTensor**>(&slots[kCount]);
    auto* outs = reinterpret_cast<DLManagedTensorVersioned**>(&slots[to]);
    ASSERT_EQ(dlbridge_upgrade_many(sources, kCount, nullptr, outs, nullptr, nullptr), DLBRIDGE_OK);
    for (size_t i = 0; i < kCount; ++i) {
      dlbridge_release_versioned(outs[i]);
      ASSERT_EQ(owners[i].deletions(), 1) << to;
    }
  }
}

TEST(UpgradeMany, FindsOneDuplicateAmongAThousand) {
  std::vector<std::unique_ptr<LegacySource>> owners;
  std::vector<DLManagedTensor*> sources;
  for (int i = 0; i < 1000; ++i) {
    owners.push_back(std::make_unique<LegacySource>());
    sources.push_back(owners.back()->get());
  }
  const size_t pairs[][2] = {{0, 1}, {0, 999}, {998, 999}, {500, 501}, {3, 700}};
  for (const auto& pair : pairs) {
    std::vector<DLManagedTensor*> twice = sources;
    twice[pair[1]] = twice[pair[0]];
    size_t failed = 0;
    Error error;
    EXPECT_EQ(UpgradeAll(twice, &failed, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(failed, pair[1]);
  }
  size_t failed = 0;
  Error error;
  EXPECT_EQ(UpgradeAll(sources, &failed, &error), DLBRIDGE_OK) << error.message;
}

// ----------------------------------------------------------------------------------------- storage

// Storage and source in one block. The storage's release frees the block, so the source must be
// released before.
struct Block {
  alignas(16) char storage[1024];
  DLManagedTensor tensor;
  int64_t dims[2] = {4, 1};
  float data[4];
  std::vector<std::string>* log;

  static void Delete(DLManagedTensor* self) {
    static_cast<Block*>(self->manager_ctx)->log->push_back("source");
  }
  static void Free(void* block, void* memory) {
    auto* self = static_cast<Block*>(block);
    EXPECT_EQ(memory, static_cast<void*>(self->storage));
    self->log->push_back("storage");
    delete self;
  }
};

DLManagedTensorVersioned* IntoBlock(std::vector<std::string>* log) {
  auto* block = new Block;
  block->log = log;
  block->tensor = {
      {block->data, Device(kDLCPU), 1, Dtype(kDLFloat, 32), block->dims, block->dims + 1, 0},
      block,
      Block::Delete};
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = block->storage;
  storage.size = sizeof block->storage;
  storage.release = Block::Free;
  storage.release_context = block;
  const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade_into(&block->tensor, &options, &storage, &out, &error), DLBRIDGE_OK)
      << error.message;
  return out;
}

const std::vector<std::string> kSourceThenStorage = {"source", "storage"};

TEST(Storage, IsReleasedAfterTheSource) {
  std::vector<std::string> log;
  dlbridge_release_versioned(IntoBlock(&log));
  EXPECT_EQ(log, kSourceThenStorage);
}

TEST(Storage, IsReleasedAfterTheSourceOnceImported) {
  std::vector<std::string> log;
  DLManagedTensorVersioned* tensor = MustAdopt(IntoBlock(&log));
  DLManagedTensorVersioned* share = MustShare(tensor);
  dlbridge_release_versioned(tensor);
  dlbridge_release_versioned(share);
  EXPECT_EQ(log, kSourceThenStorage);
}

TEST(Storage, IsReleasedAfterTheSourceOnceExported) {
  for (const DLPackVersion target :
       {DLPackVersion{1, 0}, DLPackVersion{1, 3}, DLPackVersion{0, 8}}) {
    for (const uint32_t options : {0U, uint32_t{DLBRIDGE_CONVERT_CANONICAL}}) {
      std::vector<std::string> log;
      const DLBridgeConvertOptions given = Options(options);
      void* out = nullptr;
      DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
      Error error;
      ASSERT_EQ(dlbridge_export(IntoBlock(&log), DLBRIDGE_KIND_VERSIONED, target, &given, &out,
                                &kind, &error),
                DLBRIDGE_OK)
          << error.message;
      const bool handed_back =
          log.size() == 1;  // the source itself; the storage is already released
      EXPECT_FALSE(handed_back && log[0] == "source");
      EXPECT_EQ(dlbridge_release(out, kind), DLBRIDGE_OK);
      if (!handed_back) {
        EXPECT_EQ(log, kSourceThenStorage);
      }
    }
  }
}

// ----------------------------------------------------------------------------------- unknown flags

TEST(Copy, RejectsUnknownFlags) {
  TensorSpec spec;
  spec.version = {1, 9};
  for (const int bit : {3, 4, 31, 32, 63}) {
    spec.flags = uint64_t{1} << bit;
    VersionedSource source(spec);
    const DLBridgeCopySpec copy = DLBRIDGE_COPY_SPEC_INIT;
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_copy(source.tensor(), spec.flags, &copy, &out, &error),
              DLBRIDGE_ERROR_UNKNOWN_CODE);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_FLAGS_UNKNOWN);
    const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
    EXPECT_EQ(dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, &error),
              DLBRIDGE_ERROR_UNKNOWN_CODE);
    source.Release();
  }
}

// ------------------------------------------------------------------------------------ large ndim

TEST(Ndim, OfMoreThan64IsRejectedByEveryFunction) {
  for (const int32_t ndim : {DLBRIDGE_MAX_NDIM + 1, 1000000, INT32_MAX}) {
    LegacySource source;
    const int32_t before = source.tensor()->ndim;
    source.tensor()->ndim = ndim;
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    EXPECT_NE(dlbridge_validate_legacy(source.get(), nullptr, &error), DLBRIDGE_OK);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_LIMIT);
    EXPECT_NE(dlbridge_layout(source.tensor(), 0, &layout, &error), DLBRIDGE_OK);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_LIMIT);
    const DLBridgeConvertOptions vouched = Options(DLBRIDGE_CONVERT_SKIP_VALIDATION);
    EXPECT_NE(dlbridge_upgrade(source.get(), &vouched, &out, &error), DLBRIDGE_OK);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_LIMIT);
    EXPECT_EQ(dlbridge_upgrade_storage_size(ndim), 0U);
    source.tensor()->ndim = before;
    source.Release();
  }
  EXPECT_EQ(dlbridge_upgrade_storage_size(-1), 0U);
  EXPECT_GT(dlbridge_upgrade_storage_size(DLBRIDGE_MAX_NDIM), 0U);
}

TEST(Ndim, NegativeIsReportedBeforeTheStorageSizeIsChecked) {
  TensorSpec spec;
  spec.ndim = -1;
  LegacySource source(spec);
  alignas(16) char memory[16];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &storage, &out, &error),
            DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NDIM_NEGATIVE);
  source.Release();
}

// --------------------------------------------------------------------- structs that are too small

// Passes a struct of `size` bytes at the end of a page to every function that takes one.
void ExpectSmallStructs(uint32_t size) {
  SCOPED_TRACE(size);
  const Guarded small(size < 4 ? 4 : (size + 3) & ~3U);
  *small.as<uint32_t>() = size;
  // The entry is aligned, because it is bound to a reference before it is read.
  const Guarded small_entry((size + 8) / 8 * 8);
  *small_entry.as<uint32_t>() = size;
  void* given = small.as<void>();
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  VersionedSource versioned;
  LegacySource legacy;
  DLManagedTensorVersioned* out = nullptr;
  DLManagedTensor* down = nullptr;
  void* any = nullptr;
  DLBridgeKind kind = 0;
  uint64_t number = 0;
  size_t count = 0;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  const auto* options = static_cast<const DLBridgeConvertOptions*>(given);
  const auto* policy = static_cast<const DLBridgePolicy*>(given);
  DLManagedTensor* const one[] = {legacy.get()};
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&count);
  const DLBridgeStatus statuses[] = {
      dlbridge_upgrade(legacy.get(), options, &out, nullptr),
      dlbridge_upgrade_many(one, 1, options, &out, nullptr, nullptr),
      dlbridge_upgrade_into(legacy.get(), nullptr, static_cast<DLBridgeStorage*>(given), &out,
                            nullptr),
      dlbridge_import(versioned.get(), DLBRIDGE_KIND_VERSIONED, options, &out, nullptr),
      dlbridge_export(versioned.get(), DLBRIDGE_KIND_VERSIONED, {1, 3}, options, &any, &kind,
                      nullptr),
      dlbridge_downgrade(versioned.get(), options, &down, nullptr),
      dlbridge_validate(legacy.tensor(), 0, policy, nullptr),
      dlbridge_validate_legacy(legacy.get(), policy, nullptr),
      dlbridge_validate_versioned(versioned.get(), policy, nullptr),
      dlbridge_diagnose(legacy.get(), DLBRIDGE_KIND_LEGACY, 0, policy, nullptr, 0, &count, nullptr),
      dlbridge_layout(legacy.tensor(), 0, static_cast<DLBridgeLayout*>(given), nullptr),
      dlbridge_view(tensor, static_cast<DLBridgeViewSpec*>(given), &out, nullptr),
      dlbridge_allocate(static_cast<DLBridgeAllocateSpec*>(given), &out, nullptr),
      dlbridge_wrap(static_cast<DLBridgeWrapSpec*>(given), &out, nullptr),
      dlbridge_wrap_legacy(static_cast<DLBridgeWrapSpec*>(given), &down, nullptr),
      dlbridge_copy(legacy.tensor(), 0, static_cast<DLBridgeCopySpec*>(given), &out, nullptr),
      dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, static_cast<DLBridgeBackendInfo*>(given),
                            nullptr),
      dlbridge_pointer_info(&buffer, Device(kDLCPU), static_cast<DLBridgePointerInfo*>(given),
                            nullptr),
      dlbridge_context_register(small_entry.as<DLBridgeContextEntry>(), &number, nullptr),
      dlbridge_ipc_export(tensor, static_cast<DLBridgeIpcExportSpec*>(given), &sizes, nullptr),
      dlbridge_ipc_import(static_cast<DLBridgeIpcImportSpec*>(given), &out, nullptr),
  };
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; ++i) {
    EXPECT_EQ(statuses[i], DLBRIDGE_ERROR_INVALID_ARGUMENT) << "call " << i;
  }
  EXPECT_EQ(out, nullptr);
  dlbridge_release_versioned(tensor);
  versioned.Release();
  legacy.Release();
}

TEST(SmallStruct, IsReadOnlyUpToItsSize) {
  for (const uint32_t size : {0U, 1U, 4U, 5U, 8U, 12U, 16U}) {
    ExpectSmallStructs(size);
  }
}

// --------------------------------------------------------------------- tensors given as void*

struct Arrival {
  const char* name;
  std::function<void(TensorSpec*)> damage;
  DLBridgeRule rule;
};

const std::vector<Arrival>& BrokenArrivals() {
  static const std::vector<Arrival> arrivals = {
      {"lanes 0", [](auto* s) { s->dtype.lanes = 0; }, DLBRIDGE_RULE_DTYPE_LANES_ZERO},
      {"bits 0", [](auto* s) { s->dtype.bits = 0; }, DLBRIDGE_RULE_DTYPE_BITS_ZERO},
      {"ndim -1", [](auto* s) { s->ndim = -1; }, DLBRIDGE_RULE_NDIM_NEGATIVE},
      {"shape NULL", [](auto* s) { s->null_shape = true; }, DLBRIDGE_RULE_SHAPE_NULL},
      {"device type 0", [](auto* s) { s->device = Device(0); }, DLBRIDGE_RULE_DEVICE_UNKNOWN},
      {"device id -1", [](auto* s) { s->device = Device(kDLCPU, -1); },
       DLBRIDGE_RULE_DEVICE_ID_NEGATIVE},
      {"data NULL", [](auto* s) { s->null_data = true; }, DLBRIDGE_RULE_DATA_NULL},
      {"extent -4", [](auto* s) { s->shape[0] = -4; }, DLBRIDGE_RULE_EXTENT_NEGATIVE},
  };
  return arrivals;
}

// The first word of a legacy struct is its data pointer, which is not a valid version.
TEST(Arrival, OfABrokenLegacyTensorIsReportedByItsRule) {
  for (const Arrival& arrival : BrokenArrivals()) {
    SCOPED_TRACE(arrival.name);
    TensorSpec spec;
    arrival.damage(&spec);
    LegacySource source(spec);
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_identify(source.get()), DLBRIDGE_KIND_LEGACY);
    EXPECT_NE(dlbridge_import(source.get(), DLBRIDGE_KIND_UNKNOWN, nullptr, &out, &error),
              DLBRIDGE_OK);
    EXPECT_EQ(error.rule, arrival.rule) << error.message;
    EXPECT_EQ(out, nullptr);
    // The host can still release it.
    EXPECT_EQ(dlbridge_release(source.get(), dlbridge_identify(source.get())), DLBRIDGE_OK);
  }
}

TEST(Arrival, OfAnInvalidVersionIsNotVersioned) {
  for (const DLPackVersion version :
       {DLPackVersion{0, 0}, DLPackVersion{0, 8}, DLPackVersion{256, 0}, DLPackVersion{1, 256}}) {
    TensorSpec spec;
    spec.version = version;
    VersionedSource source(spec);
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_identify(source.get()), DLBRIDGE_KIND_LEGACY);
    EXPECT_NE(dlbridge_import(source.get(), DLBRIDGE_KIND_UNKNOWN, nullptr, &out, &error),
              DLBRIDGE_OK);
    EXPECT_NE(error.status, DLBRIDGE_ERROR_AMBIGUOUS) << error.message;
    source.Release();
  }
}

// A legacy tensor whose data pointer happens to read as 1.1 cannot be excluded.
TEST(Arrival, OfABrokenVersionedTensorIsAmbiguousUnlessItsKindIsGiven) {
  for (const Arrival& arrival : BrokenArrivals()) {
    if (arrival.rule == DLBRIDGE_RULE_DATA_NULL || arrival.rule == DLBRIDGE_RULE_EXTENT_NEGATIVE ||
        arrival.rule == DLBRIDGE_RULE_DEVICE_UNKNOWN) {
      continue;  // not visible in the first 64 bytes, or covered by another rule
    }
    SCOPED_TRACE(arrival.name);
    TensorSpec spec;
    spec.version = {1, 1};
    arrival.damage(&spec);
    VersionedSource source(spec);
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    EXPECT_EQ(dlbridge_import(source.get(), DLBRIDGE_KIND_UNKNOWN, nullptr, &out, &error),
              DLBRIDGE_ERROR_AMBIGUOUS);
    EXPECT_EQ(dlbridge_release(source.get(), dlbridge_identify(source.get())),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(source.deletions(), 0);
    EXPECT_NE(dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, nullptr, &out, &error),
              DLBRIDGE_OK);
    EXPECT_EQ(error.rule, arrival.rule) << error.message;
    EXPECT_EQ(dlbridge_release(source.get(), DLBRIDGE_KIND_VERSIONED), DLBRIDGE_OK);
  }
}

TEST(Arrival, OfAGoodTensorNeedsNoKind) {
  LegacySource legacy;
  VersionedSource versioned;
  for (void* given : {static_cast<void*>(legacy.get()), static_cast<void*>(versioned.get())}) {
    DLManagedTensorVersioned* tensor = nullptr;
    Error error;
    ASSERT_EQ(dlbridge_import(given, DLBRIDGE_KIND_UNKNOWN, nullptr, &tensor, &error), DLBRIDGE_OK)
        << error.message;
    dlbridge_release_versioned(MustShare(tensor));
    // Tensors that dlbridge created too.
    DLManagedTensorVersioned* again = nullptr;
    ASSERT_EQ(dlbridge_import(tensor, DLBRIDGE_KIND_UNKNOWN, nullptr, &again, &error), DLBRIDGE_OK)
        << error.message;
    EXPECT_EQ(again, tensor);
    dlbridge_release_versioned(again);
  }
}

}  // namespace
}  // namespace dlbridge_test
