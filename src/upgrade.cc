// SPDX-License-Identifier: Apache-2.0
// Legacy to versioned.
#include <cstdlib>
#include <type_traits>

#include "convert.h"
#include "copy.h"
#include "required.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

// Storage that is too badly aligned for a node cannot be used.
constexpr uintptr_t kStorageAlignment = 16;
static_assert(alignof(Node) <= kStorageAlignment, "a node fits aligned storage");

// What the result of a foreign legacy source says: unknown is READ_ONLY.
uint64_t ResultFlags(const Options& options) {
  return options.source_flags | (options.Has(DLBRIDGE_CONVERT_WRITABLE) ? 0 : kReadOnly);
}

// Fills `node` from the source, which may be storage of the caller's.
DLBRIDGE_INLINE DLBridgeStatus FillUpgraded(const Subject& subject, const Options& options,
                                            uint64_t flags, Node* node, DLBridgeError* error) {
  InitNode(node, subject.tensor->ndim, flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    return sink.failure();
  }
  FillVersioned(node, *subject.tensor, ToDLPack(options.version));
  if (DLBRIDGE_UNLIKELY(options.Reshapes())) {
    Reform(options, node, &node->versioned.dl_tensor);
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_INLINE DLBridgeStatus MakeUpgraded(const Subject& subject, const Options& options,
                                            uint64_t flags, Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Node* node = AllocateNode(subject.tensor->ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
  }
  const DLBridgeStatus status = FillUpgraded(subject, options, flags, node, error);
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    DiscardNode(node);
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

// Marks a node that is complete as one in the caller's storage.
DLBRIDGE_INLINE void EnterStorage(const DLBridgeStorage& storage, Node* node) {
  node->in_storage = true;
  *static_cast<StorageTail*>(node->tail()) = {storage.released, storage.context};
}

// A legacy tensor of anybody else's: the way of nearly all.
DLBRIDGE_INLINE DLBridgeStatus WrapForeign(DLManagedTensor* source, const Options& options,
                                           Node** out, DLBridgeError* error) {
  const Subject subject = LegacySubject(*source, options.source_flags, options);
  DLBRIDGE_TRY(MakeUpgraded(subject, options, ResultFlags(options), out, error));
  BecomeRoot(*out, SourceKind::kLegacy, source);
  return DLBRIDGE_OK;
}

// The same into storage, which was checked.
DLBRIDGE_INLINE DLBridgeStatus WrapForeignInto(DLManagedTensor* source, const Options& options,
                                               const DLBridgeStorage& storage,
                                               DLBridgeError* error) {
  const Subject subject = LegacySubject(*source, options.source_flags, options);
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  auto* node = static_cast<Node*>(storage.memory);
  DLBRIDGE_TRY(FillUpgraded(subject, options, ResultFlags(options), node, error));
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, source, error));
  BecomeRoot(node, SourceKind::kLegacy, source);
  EnterStorage(storage, node);
  return DLBRIDGE_OK;
}

// WrapForeign with options that are known when this is compiled. Not inlined: the entry point,
// which jumps to one of them, then needs no stack of its own.
template <uint32_t kFlags>
DLBRIDGE_NOINLINE DLBridgeStatus UpgradePlain(DLManagedTensor* source,
                                              DLManagedTensorVersioned** out,
                                              DLBridgeError* error) {
  Node* node = nullptr;
  DLBRIDGE_TRY(WrapForeign(source, PlainOptions<kFlags>::kValue, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

template <uint32_t kFlags>
DLBRIDGE_NOINLINE DLBridgeStatus UpgradePlainInto(DLManagedTensor* source,
                                                  const DLBridgeStorage& storage,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error) {
  DLBRIDGE_TRY(WrapForeignInto(source, PlainOptions<kFlags>::kValue, storage, error));
  *out = static_cast<DLManagedTensorVersioned*>(storage.memory);
  return DLBRIDGE_OK;
}

// Calls `function` with the flags of plain options as a constant.
constexpr uint32_t kVouch = DLBRIDGE_CONVERT_SKIP_VALIDATION;
constexpr uint32_t kWrite = DLBRIDGE_CONVERT_WRITABLE;
static_assert((kVouch | kWrite) == kPlainFlags, "one case for each combination");
template <class Function>
DLBRIDGE_INLINE DLBridgeStatus WithPlainFlags(uint32_t flags, Function function) {
  switch (flags) {
    case kVouch:
      return function(std::integral_constant<uint32_t, kVouch>());
    case kWrite:
      return function(std::integral_constant<uint32_t, kWrite>());
    case kVouch | kWrite:
      return function(std::integral_constant<uint32_t, kVouch | kWrite>());
    default:
      return function(std::integral_constant<uint32_t, 0>());
  }
}

DLBridgeStatus CopyUpgraded(const Subject& subject, const Options& options, Node** out,
                            DLBridgeError* error) {
  FirstBroken sink(error);
  // A copy is made by the layout, so that nobody can vouch for it.
  if (options.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION) &&
      !CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  return CopyToNode(subject, options, (subject.flags & ~kReadOnly) | kCopied, out, error);
}

// A source that came from downgrade: what was known before is known again.
struct Known {
  Subject subject;
  uint64_t flags;
};
Known KnownOf(const Node& old, const Options& options) {
  const uint64_t flags = options.source_flags | old.flags;
  Subject subject = LegacySubject(old.legacy, flags, options);
  subject.may_write = (flags & kReadOnly) == 0;
  return {subject, flags};
}

// Unknowns that were allowed mean what they mean in the version of the original.
void KeepVersion(const Node& old, const Known& known, const Options& options, Node* node) {
  if (old.root->source_kind == SourceKind::kVersioned &&
      RequiredVersion(*known.subject.tensor, known.flags) > options.version) {
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): without a node nobody comes here
    node->versioned.version = static_cast<DLManagedTensorVersioned*>(old.root->source)->version;
  }
}

// Its original where that does, else a node in its place.
DLBRIDGE_COLD DLBridgeStatus PrepareOwn(Node* old, const Options& options, Prepared* out,
                                        DLBridgeError* error) {
  if (HoldsOriginal(*old, SourceKind::kVersioned) && !options.Reshapes()) {
    const auto& original = *static_cast<DLManagedTensorVersioned*>(old->root->source);
    // It must also say what the caller knows beyond it.
    if ((options.source_flags & ~original.flags) == 0 && Satisfies(original, options)) {
      *out = {nullptr, old, Prepared::How::kOriginal};
      return DLBRIDGE_OK;
    }
  }
  const Known known = KnownOf(*old, options);
  *out = {nullptr, old, Prepared::How::kReplace};
  DLBRIDGE_TRY(MakeUpgraded(known.subject, options, known.flags, &out->node, error));
  KeepVersion(*old, known, options, out->node);
  return DLBRIDGE_OK;
}

// Not cold: that would be compiled for size.
DLBRIDGE_NOINLINE DLBridgeStatus PrepareCopy(const DLManagedTensor& source, const Node* old,
                                             const Options& options, Prepared* out,
                                             DLBridgeError* error) {
  *out = {nullptr, nullptr, Prepared::How::kCopy};
  if (old == nullptr) {
    return CopyUpgraded(LegacySubject(source, options.source_flags, options), options, &out->node,
                        error);
  }
  const Known known = KnownOf(*old, options);
  DLBRIDGE_TRY(CopyUpgraded(known.subject, options, &out->node, error));
  KeepVersion(*old, known, options, out->node);
  return DLBRIDGE_OK;
}

DLBRIDGE_INLINE DLBridgeStatus CheckStorage(const DLBridgeStorage& storage,
                                            const DLManagedTensor& source, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(&storage, "storage", error));
  if (DLBRIDGE_UNLIKELY(storage.reserved0 != 0)) {
    return RefuseArgument(error, "storage.reserved0", "must be zero");
  }
  if (DLBRIDGE_UNLIKELY(storage.memory == nullptr)) {
    return RefuseArgument(error, "storage.memory", "must not be NULL");
  }
  if (DLBRIDGE_UNLIKELY(reinterpret_cast<uintptr_t>(storage.memory) % kStorageAlignment != 0)) {
    return RefuseArgument(error, "storage.memory", "must be aligned to 16 bytes");
  }
  // A negative ndim is refused by the rule on ndim, later.
  const int32_t ndim = source.dl_tensor.ndim < 0 ? 0 : source.dl_tensor.ndim;
  if (DLBRIDGE_UNLIKELY(storage.size < NodeSize(ndim) + sizeof(StorageTail))) {
    return RefuseStatus(error, DLBRIDGE_ERROR_BUFFER_TOO_SMALL, "storage.size",
                        "is smaller than dlbridge_upgrade_storage_size of the tensor's ndim");
  }
  return DLBRIDGE_OK;
}

// The same in storage, where the original cannot be.
DLBridgeStatus ReplaceInto(Node* old, const Options& options, const DLBridgeStorage& storage,
                           DLBridgeError* error) {
  const Known known = KnownOf(*old, options);
  DLBRIDGE_TRY(CheckSource(known.subject, options, error));
  auto* node = static_cast<Node*>(storage.memory);
  DLBRIDGE_TRY(FillUpgraded(known.subject, options, known.flags, node, error));
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, &old->legacy, error));
  KeepVersion(*old, known, options, node);
  node->is_view = old->is_view;
  Replace(node, old);
  EnterStorage(storage, node);
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus UpgradeInto(DLManagedTensor* source, const Options& options,
                                             const DLBridgeStorage& storage,
                                             DLManagedTensorVersioned** out, DLBridgeError* error) {
  Node* old = OwnNode(source);
  if (old != nullptr) {
    DLBRIDGE_TRY(ReplaceInto(old, options, storage, error));
  } else {
    DLBRIDGE_TRY(WrapForeignInto(source, options, storage, error));
  }
  *out = static_cast<DLManagedTensorVersioned*>(storage.memory);
  return DLBRIDGE_OK;
}

// Calls `step` with each index until one is refused, whose index goes to `*failed`.
template <class Step>
DLBRIDGE_INLINE DLBridgeStatus ForEach(size_t count, size_t* failed, Step step) {
  for (size_t i = 0; i < count; ++i) {
    const DLBridgeStatus status = step(i);
    if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
      *failed = i;
      return status;
    }
  }
  return DLBRIDGE_OK;
}

// Takes back what was prepared of a batch.
void AbandonMany(const Prepared* prepared, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Abandon(prepared[i]);
  }
}

DLBridgeStatus PrepareMany(DLManagedTensor* const* sources, size_t count, const Options& options,
                           Prepared* prepared, size_t* failed, DLBridgeError* error) {
  size_t refused = 0;
  const DLBridgeStatus status = ForEach(count, &refused, [=, &options](size_t i) {
    return sources[i] != nullptr ? PrepareUpgrade(sources[i], options, &prepared[i], error)
                                 : RefuseArgument(error, "sources", "must not hold NULL");
  });
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    AbandonMany(prepared, refused);
    *failed = refused;
  }
  return status;
}

DLBridgeStatus UpgradeMany(DLManagedTensor* const* sources, size_t count, const Options& options,
                           Prepared* prepared, DLManagedTensorVersioned** outs, size_t* failed,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(PrepareMany(sources, count, options, prepared, failed, error));
  const DLBridgeStatus status = ForEach(count, failed, [=, &options](size_t i) {
    return PinIfAsked(options, SourceKind::kLegacy, sources[i], error);
  });
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    AbandonMany(prepared, count);
    return status;
  }
  for (size_t i = 0; i < count; ++i) {
    outs[i] = static_cast<DLManagedTensorVersioned*>(
        Commit(prepared[i], SourceKind::kLegacy, sources[i]));
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus RefuseCopyHere(DLBridgeError* error) {
  return RefuseArgument(error, "options.flags", "must not ask for COPY here");
}

}  // namespace

DLBridgeStatus PrepareUpgrade(DLManagedTensor* source, const Options& options, Prepared* out,
                              DLBridgeError* error) {
  Node* old = OwnNode(source);
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_COPY))) {
    return PrepareCopy(*source, old, options, out, error);
  }
  if (DLBRIDGE_UNLIKELY(old != nullptr)) {
    return PrepareOwn(old, options, out, error);
  }
  *out = {nullptr, nullptr, Prepared::How::kWrap};
  const Subject subject = LegacySubject(*source, options.source_flags, options);
  return MakeUpgraded(subject, options, ResultFlags(options), &out->node, error);
}

DLBridgeStatus Upgrade(DLManagedTensor* source, const Options& options,
                       DLManagedTensorVersioned** out, DLBridgeError* error) {
  Prepared prepared;
  DLBRIDGE_TRY(PrepareUpgrade(source, options, &prepared, error));
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kLegacy, source, &result, error));
  *out = static_cast<DLManagedTensorVersioned*>(result);
  return DLBRIDGE_OK;
}

namespace {

DLBRIDGE_NOINLINE DLBridgeStatus UpgradeWithOptions(DLManagedTensor* source,
                                                    const DLBridgeConvertOptions* options,
                                                    DLManagedTensorVersioned** out,
                                                    DLBridgeError* error) {
  Options storage;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, &storage, &resolved, error));
  return Upgrade(source, *resolved, out, error);
}

DLBRIDGE_NOINLINE DLBridgeStatus UpgradeIntoWithOptions(DLManagedTensor* source,
                                                        const DLBridgeConvertOptions* options,
                                                        const DLBridgeStorage& storage,
                                                        DLManagedTensorVersioned** out,
                                                        DLBridgeError* error) {
  Options local;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, &local, &resolved, error));
  if (resolved->Has(DLBRIDGE_CONVERT_COPY)) {
    return RefuseCopyHere(error);
  }
  return UpgradeInto(source, *resolved, storage, out, error);
}

// dlbridge_upgrade_into with arguments that were checked.
DLBRIDGE_INLINE DLBridgeStatus UpgradeIntoChecked(DLManagedTensor* source,
                                                  const DLBridgeConvertOptions* options,
                                                  const DLBridgeStorage& storage,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error) {
  if (DLBRIDGE_UNLIKELY(OwnNode(source) != nullptr) || (options != nullptr && !IsPlain(*options))) {
    return UpgradeIntoWithOptions(source, options, storage, out, error);
  }
  if (options == nullptr) {
    DLBRIDGE_TRY(WrapForeignInto(source, kDefaultOptions, storage, error));
    *out = static_cast<DLManagedTensorVersioned*>(storage.memory);
    return DLBRIDGE_OK;
  }
  return WithPlainFlags(options->flags, [=, &storage](auto flags) {
    return UpgradePlainInto<flags()>(source, storage, out, error);
  });
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_upgrade(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                                DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(out);
  if (DLBRIDGE_LIKELY(dlbridge::OwnNode(source) == nullptr)) {
    if (options == nullptr) {
      return dlbridge::UpgradePlain<0>(source, out, error);
    }
    if (dlbridge::IsPlain(*options)) {
      return dlbridge::WithPlainFlags(options->flags, [=](auto flags) {
        return dlbridge::UpgradePlain<flags()>(source, out, error);
      });
    }
  }
  return dlbridge::UpgradeWithOptions(source, options, out, error);
}

size_t dlbridge_upgrade_storage_size(int32_t ndim) {
  return ndim < 0 ? 0 : dlbridge::NodeSize(ndim) + sizeof(dlbridge::StorageTail);
}

DLBridgeStatus dlbridge_upgrade_into(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                                     const DLBridgeStorage* storage, DLManagedTensorVersioned** out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(storage);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStorage(*storage, *source, error));
  return dlbridge::UpgradeIntoChecked(source, options, *storage, out, error);
}

DLBridgeStatus dlbridge_upgrade_many(DLManagedTensor* const* sources, size_t count,
                                     const DLBridgeConvertOptions* options,
                                     DLManagedTensorVersioned** outs, size_t* failed,
                                     DLBridgeError* error) {
  size_t unwanted = 0;
  size_t* index = failed != nullptr ? failed : &unwanted;
  *index = count;
  if (count != 0) {
    DLBRIDGE_REQUIRE(sources);
    DLBRIDGE_REQUIRE(outs);
  }
  dlbridge::Options storage;
  const dlbridge::Options* resolved = nullptr;
  DLBRIDGE_TRY(dlbridge::ResolveOptions(options, &storage, &resolved, error));
  if (resolved->Has(DLBRIDGE_CONVERT_COPY)) {
    return dlbridge::RefuseCopyHere(error);
  }
  size_t bytes = 0;
  if (dlbridge::MulOverflows(count, sizeof(dlbridge::Prepared), &bytes)) {
    return dlbridge::RefuseMemory(error);
  }
  // One byte more: malloc(0) may return NULL, which is no lack of memory.
  auto* prepared = static_cast<dlbridge::Prepared*>(std::malloc(bytes | 1));
  if (prepared == nullptr) {
    return dlbridge::RefuseMemory(error);
  }
  const DLBridgeStatus status =
      dlbridge::UpgradeMany(sources, count, *resolved, prepared, outs, index, error);
  std::free(prepared);
  return status;
}

}  // extern "C"
