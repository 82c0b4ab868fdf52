// SPDX-License-Identifier: Apache-2.0
// Legacy to versioned.
#include <cstdlib>
#include <type_traits>

#include "copy/copy.h"
#include "describe/boundary.h"
#include "describe/required.h"
#include "protocol/convert.h"
#include "protocol/plain.h"
#include "support/pointer_set.h"
#include "support/text.h"

namespace dlbridge {
namespace {

// A node needs storage of this alignment.
constexpr uintptr_t kStorageAlignment = 16;
static_assert(alignof(Node) <= kStorageAlignment, "a node fits aligned storage");

// The flags of the result for a foreign legacy source: READ_ONLY unless known to be writable.
uint64_t ResultFlags(const Options& options) {
  return options.tensor_flags | (options.Has(DLBRIDGE_CONVERT_VOUCH_WRITABLE) ? 0 : kReadOnly);
}

// Fills a node whose arrays are complete.
DLBRIDGE_INLINE void FillUpgraded(const Subject& subject, const Options& options, Node* node) {
  FillVersioned(node, subject.tensor, ToDLPack(options.version));
  if (DLBRIDGE_UNLIKELY(options.Reshapes())) {
    Reform(options, node, &node->versioned.dl_tensor);
  }
}

DLBridgeStatus MakeUpgraded(const Subject& subject, const Options& options, uint64_t flags,
                            Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeNode(subject, options, flags, &node, error));
  FillUpgraded(subject, options, node);
  *out = node;
  return DLBRIDGE_OK;
}

// ---------------------------------------------------------------------------------- in storage

constexpr size_t StorageSize(size_t ndim) { return NodeSize(ndim) + sizeof(StorageTail); }

DLBRIDGE_INLINE DLBridgeStatus CheckStorage(const DLBridgeStorage* storage, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(storage, "storage", error));
  DLBRIDGE_TRY(CheckOptionBits(storage->options, 0, "storage.options", error));
  if (DLBRIDGE_UNLIKELY(storage->memory == nullptr)) {
    return RejectArgument(error, "storage.memory", "is not set");
  }
  const auto misaligned = reinterpret_cast<uintptr_t>(storage->memory) % kStorageAlignment;
  if (DLBRIDGE_UNLIKELY(misaligned != 0)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "storage.memory",
                       "must be aligned to 16 bytes: expected an address modulo 16 of 0",
                       static_cast<int64_t>(misaligned));
  }
  return DLBRIDGE_OK;
}

// True if `bytes` bytes from `begin` on overlap the first `size` bytes of the storage. NULL, as
// strides may be, does not.
DLBRIDGE_INLINE bool IsInside(const DLBridgeStorage& storage, size_t size, const void* begin,
                              size_t bytes) {
  const uintptr_t distance =
      reinterpret_cast<uintptr_t>(begin) + bytes - reinterpret_cast<uintptr_t>(storage.memory);
  return distance - 1 < size + bytes - 1;
}

// True if the struct, the shape or the strides of a source overlap the part of the storage that is
// written to. They are read while the storage is filled.
DLBRIDGE_INLINE bool IsInside(const DLBridgeStorage& storage, const DLManagedTensor* source,
                              size_t ndim) {
  const size_t size = StorageSize(ndim);
  const size_t array = ndim * sizeof(int64_t);
  return IsInside(storage, size, source, sizeof *source) ||
         IsInside(storage, size, Load(&source->dl_tensor.shape), array) ||
         IsInside(storage, size, Load(&source->dl_tensor.strides), array);
}

// True if one of them may overlap the storage: a quicker answer, which is also true nearby.
DLBRIDGE_INLINE bool MayBeInside(const DLBridgeStorage& storage, const DLManagedTensor* source) {
  constexpr uintptr_t kBefore = DLBRIDGE_MAX_NDIM * sizeof(int64_t);  // the longest of the three
  static_assert(kBefore >= sizeof *source, "the struct is shorter");
  const uintptr_t begin = reinterpret_cast<uintptr_t>(storage.memory) - kBefore;
  const auto is_near = [begin](const void* place) {
    return reinterpret_cast<uintptr_t>(place) - begin < kBefore + StorageSize(DLBRIDGE_MAX_NDIM);
  };
  return is_near(source) || is_near(Load(&source->dl_tensor.shape)) ||
         is_near(Load(&source->dl_tensor.strides));
}

// True if the storage overlaps the node of a source, or what the node keeps alive: it may be the
// tensor in this very storage.
bool IsInUse(const DLBridgeStorage& storage, const Node& old) {
  const size_t size = StorageSize(static_cast<size_t>(old.ndim));
  const Node& root = *old.root;
  return IsInside(storage, size, &old, NodeSize(static_cast<size_t>(old.ndim))) ||
         IsInside(storage, size, &root, NodeSize(static_cast<size_t>(root.ndim))) ||
         (HoldsTensor(root) && IsInside(storage, size, root.source, sizeof(DLManagedTensor)));
}

DLBRIDGE_COLD DLBridgeStatus RejectOverlap(DLBridgeError* error) {
  return RejectArgument(error, "storage.memory", "overlaps the source: use other memory");
}

DLBRIDGE_INLINE DLBridgeStatus CheckRoom(const DLBridgeStorage& storage, int32_t ndim,
                                         DLBridgeError* error) {
  const size_t needed = StorageSize(static_cast<size_t>(ndim));
  return DLBRIDGE_LIKELY(storage.size >= needed)
             ? DLBRIDGE_OK
             : RejectSize(error, "storage.size", needed, storage.size);
}

// Makes a node in storage with room for it, for a tensor whose struct was checked.
DLBridgeStatus MakeInStorage(const Subject& subject, const Options& options, uint64_t flags,
                             const DLBridgeStorage& storage, DLBridgeError* error) {
  auto* node = static_cast<Node*>(storage.memory);
  InitNode(node, subject.tensor.ndim, flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    return sink.failure();
  }
  FillUpgraded(subject, options, node);
  return DLBRIDGE_OK;
}

// Marks a complete node as one in the caller's storage.
DLBRIDGE_INLINE void EnterStorage(const DLBridgeStorage& storage, Node* node) {
  node->in_storage = true;
  *static_cast<StorageTail*>(node->tail()) = {storage.release, storage.release_context};
}

DLBridgeStatus WrapForeignInto(DLManagedTensor* source, const Options& options,
                               const DLBridgeStorage& storage, DLBridgeError* error) {
  const Subject subject = LegacySubject(*source, options.tensor_flags, options);
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  DLBRIDGE_TRY(CheckRoom(storage, subject.tensor.ndim, error));  // memory outside is not looked at
  if (IsInside(storage, source, static_cast<size_t>(subject.tensor.ndim))) {
    return RejectOverlap(error);
  }
  DLBRIDGE_TRY(MakeInStorage(subject, options, ResultFlags(options), storage, error));
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, source, error));
  auto* node = static_cast<Node*>(storage.memory);
  BecomeRoot(node, SourceKind::kLegacy, source);
  EnterStorage(storage, node);
  return DLBRIDGE_OK;
}

// ------------------------------------------------------------------------------- plain options

template <uint32_t kOptions>
constexpr bool kValidates = (kOptions & DLBRIDGE_CONVERT_SKIP_VALIDATION) == 0;

template <uint32_t kOptions>
DLBRIDGE_NOINLINE DLBridgeStatus UpgradeGenerally(DLManagedTensor* source,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error) {
  return Upgrade(source, PlainOptions<kOptions>::kValue, Wants::kAnyVersioned, out, error);
}

// Reports that there is no memory, unless the source breaks a rule that is checked before.
template <uint32_t kOptions>
DLBRIDGE_COLD DLBridgeStatus RejectForMemory(const DLManagedTensor& source, DLBridgeError* error) {
  constexpr const Options& kPlain = PlainOptions<kOptions>::kValue;
  DLBRIDGE_TRY(CheckSource(LegacySubject(source, 0, kPlain), kPlain, error));
  return RejectMemory(error);
}

// Fills a node with a source that has a plain head.
template <uint32_t kOptions>
DLBRIDGE_INLINE DLBridgeStatus FillFromLegacy(DLManagedTensor* source, const Head& head,
                                              bool in_storage, Node* node, DLBridgeError* error) {
  constexpr uint64_t kFlags = (kOptions & DLBRIDGE_CONVERT_VOUCH_WRITABLE) != 0 ? 0 : kReadOnly;
  constexpr DLPackVersion kLabel = ToDLPack(kDefaultVersion);
  const RootFields fields = {kFlags, kLabel.minor, SourceKind::kLegacy, in_storage, false};
  InitRoot(node, head.ndim, fields, source);
  node->versioned.version.major = kLabel.major;
  node->versioned.version.minor = kLabel.minor;
  node->versioned.manager_ctx = node;
  node->versioned.deleter = DeleteVersioned;
  node->versioned.flags = kFlags;
  return FillPlain<DLManagedTensorVersioned, kValidates<kOptions>>(source->dl_tensor, head, false,
                                                                   node, error);
}

// Makes a root of a foreign source, or returns kUndecided.
template <uint32_t kOptions>
DLBRIDGE_INLINE DLBridgeStatus MakePlain(DLManagedTensor* source, Node** out,
                                         DLBridgeError* error) {
  // With validation, nothing is allocated for a source whose head is rejected. Without it,
  // rejections are rare: the head is loaded when it is needed, so that fewer values outlive the
  // allocation.
  constexpr bool kHeadFirst = kValidates<kOptions>;
  Head head = {0, 0, LoadNdim(source->dl_tensor), 0};
  if (kHeadFirst) {
    LoadCodes(source->dl_tensor, &head);
  }
  const bool fits = kHeadFirst ? IsPlain<kDefaultVersion, true>(head) : head.ndim <= kMaxAxes;
  if (DLBRIDGE_UNLIKELY(!fits)) {
    return kUndecided;
  }
  Node* node = AllocatePlain(head);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectForMemory<kOptions>(*source, error);
  }
  DLBridgeStatus status = kUndecided;
  if (!kHeadFirst) {
    LoadCodes(source->dl_tensor, &head);
  }
  if (kHeadFirst || DLBRIDGE_LIKELY((IsPlain<kDefaultVersion, false>(head)))) {
    status = FillFromLegacy<kOptions>(source, head, false, node, error);
  }
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    DiscardNode(node);
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

// Not inlined, so that the entry point only jumps to one of these functions. It needs no stack
// frame and, since the parameters are its own, moves no argument.
template <uint32_t kOptions>
DLBRIDGE_NOINLINE DLBRIDGE_NOCLONE DLBridgeStatus
UpgradePlain(DLManagedTensor* source, const DLBridgeConvertOptions* /*options*/,
             DLManagedTensorVersioned** out, DLBridgeError* error) {
  Node* node = nullptr;
  const DLBridgeStatus status = MakePlain<kOptions>(source, &node, error);
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    return status == kUndecided ? UpgradeGenerally<kOptions>(source, out, error) : status;
  }
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

template <uint32_t kOptions>
DLBRIDGE_NOINLINE DLBridgeStatus UpgradeIntoGenerally(DLManagedTensor* source,
                                                      const DLBridgeStorage& storage,
                                                      DLManagedTensorVersioned** out,
                                                      DLBridgeError* error) {
  DLBRIDGE_TRY(WrapForeignInto(source, PlainOptions<kOptions>::kValue, storage, error));
  *out = static_cast<DLManagedTensorVersioned*>(storage.memory);
  return DLBRIDGE_OK;
}

template <uint32_t kOptions>
DLBRIDGE_INLINE DLBridgeStatus UpgradePlainInto(DLManagedTensor* source,
                                                const DLBridgeStorage& storage,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error) {
  const Head head = LoadHead(source->dl_tensor);
  if (DLBRIDGE_UNLIKELY(!(IsPlain<kDefaultVersion, kValidates<kOptions>>(head)) ||
                        storage.size < StorageSize(head.ndim) || MayBeInside(storage, source))) {
    return UpgradeIntoGenerally<kOptions>(source, storage, out, error);
  }
  auto* node = static_cast<Node*>(storage.memory);
  const DLBridgeStatus status = FillFromLegacy<kOptions>(source, head, true, node, error);
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    return status == kUndecided ? UpgradeIntoGenerally<kOptions>(source, storage, out, error)
                                : status;
  }
  auto* tail = reinterpret_cast<StorageTail*>(reinterpret_cast<int64_t*>(node + 1) + 2 * head.ndim);
  *tail = {storage.release, storage.release_context};
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

// Calls `function` with the bits of plain options as a constant.
constexpr uint32_t kSkip = DLBRIDGE_CONVERT_SKIP_VALIDATION;
constexpr uint32_t kVouch = DLBRIDGE_CONVERT_VOUCH_WRITABLE;
static_assert((kSkip | kVouch) == kPlainBits, "one case for each combination");
template <class Function>
DLBRIDGE_INLINE DLBridgeStatus WithPlainBits(uint32_t options, Function function) {
  switch (options & kPlainBits) {
    case 0:
      return function(std::integral_constant<uint32_t, 0>());
    case kSkip:
      return function(std::integral_constant<uint32_t, kSkip>());
    case kVouch:
      return function(std::integral_constant<uint32_t, kVouch>());
    default:
      return function(std::integral_constant<uint32_t, kPlainBits>());
  }
}

// ------------------------------------------------------------------------ dlbridge-owned sources

DLBridgeStatus CopyUpgraded(const Subject& subject, const Options& options, Node** out,
                            DLBridgeError* error) {
  FirstBroken sink(error);
  // A copy depends on the layout, so the tensor is validated even with SKIP_VALIDATION.
  if (options.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION) &&
      !CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  return CopyToNode(subject, options, (subject.flags & ~kReadOnly) | kCopied, out, error);
}

// Loads a dlbridge-owned legacy source and restores its flags, which its struct cannot record.
DLBridgeStatus LoadOwnLegacy(Node* node, const Options& options, Subject* out,
                             DLBridgeError* error) {
  *out = LegacySubject(node->legacy, options.tensor_flags | node->flags, options);
  out->may_write = (out->flags & kReadOnly) == 0;
  return CheckOwnedLegacy(node, out->tensor, error);
}

// A tensor with codes or flags that the consumer's version does not know keeps its version, which
// defines their meaning.
void KeepVersion(const Node& old, const Subject& subject, const Options& options, Node* node) {
  if (RequiredVersion(subject.tensor, subject.flags) > options.version) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the caller has made the node
    node->minor = old.minor;
    node->versioned.version = {kMajor, old.minor};
  }
}

// True if the versioned tensor that `old` was made of may be returned.
bool YieldsSource(Node* old, const Subject& subject, const Options& options) {
  if (!HoldsVersioned(*old) || options.Reshapes()) {
    return false;
  }
  const auto& source = *static_cast<DLManagedTensorVersioned*>(old->root->source);
  Subject original;
  if (LoadVersioned(source, &original, nullptr) != DLBRIDGE_OK) {
    return false;
  }
  return original.flags == subject.flags && original.label.minor == old->minor &&
         IsSameTensor(original.tensor, old, subject.tensor) && Satisfies(original, options);
}

DLBRIDGE_COLD DLBridgeStatus PrepareOwn(Node* old, const Options& options, Wants wants,
                                        Prepared* out, DLBridgeError* error) {
  Subject subject;
  DLBRIDGE_TRY(LoadOwnLegacy(old, options, &subject, error));
  if (wants == Wants::kAnyVersioned && YieldsSource(old, subject, options)) {
    *out = {nullptr, old, Prepared::How::kOriginal};
    return DLBRIDGE_OK;
  }
  *out = {nullptr, old, Prepared::How::kReplace};
  DLBRIDGE_TRY(MakeUpgraded(subject, options, subject.flags, &out->node, error));
  KeepVersion(*old, subject, options, out->node);
  return DLBRIDGE_OK;
}

// Not DLBRIDGE_COLD: cold functions are optimised for size.
DLBRIDGE_NOINLINE DLBridgeStatus PrepareCopy(const DLManagedTensor& source, Node* old,
                                             const Options& options, Prepared* out,
                                             DLBridgeError* error) {
  *out = {nullptr, nullptr, Prepared::How::kCopy};
  if (old == nullptr) {
    return CopyUpgraded(LegacySubject(source, options.tensor_flags, options), options, &out->node,
                        error);
  }
  Subject subject;
  DLBRIDGE_TRY(LoadOwnLegacy(old, options, &subject, error));
  DLBRIDGE_TRY(CopyUpgraded(subject, options, &out->node, error));
  KeepVersion(*old, subject, options, out->node);
  return DLBRIDGE_OK;
}

// Replaces `old` by a node in storage; the source of `old` cannot be returned there.
DLBridgeStatus ReplaceInto(Node* old, const Options& options, const DLBridgeStorage& storage,
                           DLBridgeError* error) {
  Subject subject;
  DLBRIDGE_TRY(LoadOwnLegacy(old, options, &subject, error));
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  DLBRIDGE_TRY(CheckRoom(storage, subject.tensor.ndim, error));
  if (IsInUse(storage, *old)) {
    return RejectOverlap(error);
  }
  DLBRIDGE_TRY(MakeInStorage(subject, options, subject.flags, storage, error));
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, &old->legacy, error));
  auto* node = static_cast<Node*>(storage.memory);
  KeepVersion(*old, subject, options, node);
  Replace(node, old);
  EnterStorage(storage, node);
  return DLBRIDGE_OK;
}

// --------------------------------------------------------------------------------- a whole batch

// Calls `step` with each index until one fails, and sets `*failed` to the index that failed.
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

// Frees the first `count` preparations of a batch.
void AbandonMany(const Prepared* prepared, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Abandon(prepared[i]);
  }
}

// The working memory of a batch: its preparations, and the set of its sources.
struct Batch {
  DLManagedTensor* const* sources;
  size_t count;
  Prepared* prepared;
  PointerSet seen;
  bool by_default;  // no options were given
};

DLBRIDGE_COLD DLBridgeStatus RejectNullAt(size_t index, DLBridgeError* error) {
  char problem[80];
  TextWriter(problem, sizeof problem)
      .String("must not contain NULL, found NULL at index ")
      .Unsigned(index);
  return RejectArgument(error, "sources", problem);
}

// Prepares a source by the default options. A root of a foreign source is complete then.
DLBridgeStatus PrepareByDefault(DLManagedTensor* source, Prepared* out, DLBridgeError* error) {
  DLBridgeStatus status = kUndecided;
  if (DLBRIDGE_LIKELY(OwnNode(source) == nullptr)) {
    *out = {nullptr, nullptr, Prepared::How::kWrap};
    status = MakePlain<0>(source, &out->node, error);
  }
  return DLBRIDGE_LIKELY(status != kUndecided)
             ? status
             : PrepareUpgrade(source, kDefaultOptions, Wants::kAnyVersioned, out, error);
}

DLBridgeStatus PrepareOne(Batch* batch, size_t i, const Options& options, DLBridgeError* error) {
  DLManagedTensor* source = batch->sources[i];
  if (DLBRIDGE_UNLIKELY(source == nullptr)) {
    return RejectNullAt(i, error);
  }
  const size_t first = batch->seen.Add(source, i, batch->sources);
  if (DLBRIDGE_UNLIKELY(first != i)) {
    return RejectDuplicate(error, "sources", i, first);
  }
  Prepared* prepared = &batch->prepared[i];
  return batch->by_default ? PrepareByDefault(source, prepared, error)
                           : PrepareUpgrade(source, options, Wants::kAnyVersioned, prepared, error);
}

DLBridgeStatus PrepareMany(Batch* batch, const Options& options, size_t* failed,
                           DLBridgeError* error) {
  size_t rejected = 0;
  const DLBridgeStatus status = ForEach(batch->count, &rejected, [=, &options](size_t i) {
    return PrepareOne(batch, i, options, error);
  });
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    AbandonMany(batch->prepared, rejected);
    *failed = rejected;
  }
  return status;
}

DLBRIDGE_INLINE DLManagedTensorVersioned* CommitOne(const Prepared& prepared,
                                                    DLManagedTensor* source) {
  if (DLBRIDGE_UNLIKELY(prepared.how != Prepared::How::kWrap)) {
    return static_cast<DLManagedTensorVersioned*>(Commit(prepared, SourceKind::kLegacy, source));
  }
  BecomeRoot(prepared.node, SourceKind::kLegacy, source);
  return &prepared.node->versioned;
}

// Pins the producers of a batch, or abandons it.
DLBridgeStatus PinMany(const Batch& batch, const Options& options, size_t* failed,
                       DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_PIN_PRODUCER))) {
    return DLBRIDGE_OK;
  }
  const DLBridgeStatus status = ForEach(batch.count, failed, [=, &batch](size_t i) {
    return PinProducer(SourceKind::kLegacy, batch.sources[i], error);
  });
  if (status != DLBRIDGE_OK) {
    AbandonMany(batch.prepared, batch.count);
  }
  return status;
}

DLBridgeStatus UpgradeMany(Batch* batch, const Options& options, DLManagedTensorVersioned** outs,
                           size_t* failed, DLBridgeError* error) {
  DLBRIDGE_TRY(PrepareMany(batch, options, failed, error));
  DLBRIDGE_TRY(PinMany(*batch, options, failed, error));
  // The arrays may overlap, as those of memmove: no source is overwritten before it is read.
  const bool backwards =
      reinterpret_cast<uintptr_t>(outs) > reinterpret_cast<uintptr_t>(batch->sources);
  const size_t step = backwards ? SIZE_MAX : 1;
  size_t i = backwards ? batch->count - 1 : 0;
  for (size_t left = batch->count; left != 0; --left, i += step) {
    outs[i] = CommitOne(batch->prepared[i], batch->sources[i]);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus RejectCopyHere(DLBridgeError* error) {
  return RejectArgument(error, "options.options",
                        "has DLBRIDGE_CONVERT_COPY, which is for dlbridge_upgrade and "
                        "dlbridge_import");
}

}  // namespace

DLBridgeStatus PrepareUpgrade(DLManagedTensor* source, const Options& options, Wants wants,
                              Prepared* out, DLBridgeError* error) {
  Node* old = OwnNode(source);
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_COPY))) {
    return PrepareCopy(*source, old, options, out, error);
  }
  if (DLBRIDGE_UNLIKELY(old != nullptr)) {
    return PrepareOwn(old, options, wants, out, error);
  }
  *out = {nullptr, nullptr, Prepared::How::kWrap};
  const Subject subject = LegacySubject(*source, options.tensor_flags, options);
  return MakeUpgraded(subject, options, ResultFlags(options), &out->node, error);
}

DLBridgeStatus Upgrade(DLManagedTensor* source, const Options& options, Wants wants,
                       DLManagedTensorVersioned** out, DLBridgeError* error) {
  Prepared prepared;
  DLBRIDGE_TRY(PrepareUpgrade(source, options, wants, &prepared, error));
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kLegacy, source, &result, error));
  *out = static_cast<DLManagedTensorVersioned*>(result);
  return DLBRIDGE_OK;
}

DLBridgeStatus UpgradeForeign(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                              DLManagedTensorVersioned** out, DLBridgeError* error) {
  return UpgradePlain<0>(source, options, out, error);
}

namespace {

DLBRIDGE_NOINLINE DLBridgeStatus UpgradeWithOptions(DLManagedTensor* source,
                                                    const DLBridgeConvertOptions* options,
                                                    DLManagedTensorVersioned** out,
                                                    DLBridgeError* error) {
  Options storage;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, Target::kVersioned, &storage, &resolved, error));
  DLBRIDGE_TRY(CheckUpgradeOptions(*resolved, error));
  return Upgrade(source, *resolved, Wants::kAnyVersioned, out, error);
}

DLBRIDGE_NOINLINE DLBridgeStatus UpgradeIntoWithOptions(DLManagedTensor* source,
                                                        const DLBridgeConvertOptions* options,
                                                        const DLBridgeStorage& storage,
                                                        DLManagedTensorVersioned** out,
                                                        DLBridgeError* error) {
  Options local;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, Target::kVersioned, &local, &resolved, error));
  DLBRIDGE_TRY(CheckUpgradeOptions(*resolved, error));
  if (resolved->Has(DLBRIDGE_CONVERT_COPY)) {
    return RejectCopyHere(error);
  }
  Node* old = OwnNode(source);
  DLBRIDGE_TRY(old != nullptr ? ReplaceInto(old, *resolved, storage, error)
                              : WrapForeignInto(source, *resolved, storage, error));
  *out = static_cast<DLManagedTensorVersioned*>(storage.memory);
  return DLBRIDGE_OK;
}

// dlbridge_upgrade_into with storage that was checked.
DLBRIDGE_INLINE DLBridgeStatus UpgradeIntoChecked(DLManagedTensor* source,
                                                  const DLBridgeConvertOptions* options,
                                                  const DLBridgeStorage& storage,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error) {
  if (DLBRIDGE_UNLIKELY(OwnNode(source) != nullptr) || (options != nullptr && !IsPlain(options))) {
    return UpgradeIntoWithOptions(source, options, storage, out, error);
  }
  if (options == nullptr) {
    return UpgradePlainInto<0>(source, storage, out, error);
  }
  return WithPlainBits(options->options, [=, &storage](auto bits) {
    return UpgradePlainInto<bits()>(source, storage, out, error);
  });
}

// Upgrades a batch. Its working memory is one allocation.
DLBridgeStatus UpgradeBatch(DLManagedTensor* const* sources, size_t count, const Options& options,
                            bool by_default, DLManagedTensorVersioned** outs, size_t* failed,
                            DLBridgeError* error) {
  size_t bytes = 0;
  if (count > PointerSet::kMostEntries || MulOverflows(count, sizeof(Prepared), &bytes)) {
    return RejectMemory(error);
  }
  const size_t set_bytes = PointerSet::BytesFor(count);
  auto* memory = static_cast<char*>(std::calloc(1, bytes + set_bytes));
  if (memory == nullptr) {
    return RejectMemory(error);
  }
  Batch batch = {sources, count, reinterpret_cast<Prepared*>(memory + set_bytes),
                 PointerSet(memory, count), by_default};
  const DLBridgeStatus status = UpgradeMany(&batch, options, outs, failed, error);
  std::free(memory);
  return status;
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
      return dlbridge::UpgradePlain<0>(source, options, out, error);
    }
    if (dlbridge::IsPlain(options)) {
      return dlbridge::WithPlainBits(options->options, [=](auto bits) {
        return dlbridge::UpgradePlain<bits()>(source, options, out, error);
      });
    }
  }
  return dlbridge::UpgradeWithOptions(source, options, out, error);
}

size_t dlbridge_upgrade_storage_size(int32_t ndim) {
  return ndim < 0 || ndim > DLBRIDGE_MAX_NDIM ? 0
                                              : dlbridge::StorageSize(static_cast<size_t>(ndim));
}

DLBridgeStatus dlbridge_upgrade_into(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                                     const DLBridgeStorage* storage, DLManagedTensorVersioned** out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(storage);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStorage(storage, error));
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
  DLBRIDGE_TRY(
      dlbridge::ResolveOptions(options, dlbridge::Target::kVersioned, &storage, &resolved, error));
  DLBRIDGE_TRY(dlbridge::CheckUpgradeOptions(*resolved, error));
  if (resolved->Has(DLBRIDGE_CONVERT_COPY)) {
    return dlbridge::RejectCopyHere(error);
  }
  return dlbridge::UpgradeBatch(sources, count, *resolved, options == nullptr, outs, index, error);
}

}  // extern "C"
