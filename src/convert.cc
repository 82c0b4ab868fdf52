// SPDX-License-Identifier: Apache-2.0
// What the converters share, and the two that choose among them: adopt and convert.
#include "convert.h"

#include "copy.h"
#include "module.h"
#include "required.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

// Compact strides where strides say nothing: on empty tensors and on axes of extent 1.
void CanonicaliseStrides(Node* node, bool empty) {
  const int64_t* shape = node->shape();
  int64_t* strides = node->strides();
  int64_t product = 1;
  for (int32_t i = node->ndim - 1; i >= 0; --i) {
    if (empty || shape[i] == 1) {
      strides[i] = product;
    }
    if (MulOverflows(product, shape[i] > 1 ? shape[i] : 1, &product)) {
      product = 0;
    }
  }
}

void Canonicalise(Node* node, DLTensor* tensor) {
  const bool empty = HasZero(node->ndim, node->shape());
  CanonicaliseStrides(node, empty);
  if (empty) {
    tensor->data = nullptr;
    tensor->byte_offset = 0;
  }
  tensor->device = CanonicalDevice(tensor->device);
}

// NULL stays NULL: it has nothing to point to. Only an empty tensor's address can wrap.
void FoldByteOffset(DLTensor* tensor) {
  if (tensor->data != nullptr) {
    tensor->data =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor->data) + tensor->byte_offset);
  }
  tensor->byte_offset = 0;
}

// The version that a node made of a versioned tensor says.
DLPackVersion LabelOf(const DLManagedTensorVersioned& source, const Options& options) {
  const bool unknown = RequiredVersion(source.dl_tensor, source.flags) > options.version;
  return unknown ? source.version : ToDLPack(options.version);
}

DLBridgeStatus MakeVersioned(const DLManagedTensorVersioned& source, const Options& options,
                             Node** out, DLBridgeError* error) {
  const Subject subject = VersionedSubject(source);
  Node* node = AllocateNode(source.dl_tensor.ndim, 0);
  if (node == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(node, source.dl_tensor.ndim, source.flags);
  FirstBroken sink(error);
  if (!Snapshot(subject, options, node, &sink)) {
    DiscardNode(node);
    return sink.failure();
  }
  FillVersioned(node, source.dl_tensor, LabelOf(source, options));
  Reform(options, node, &node->versioned.dl_tensor);
  *out = node;
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyVersioned(const DLManagedTensorVersioned& source, const Options& options,
                             Node** out, DLBridgeError* error) {
  const Subject subject = VersionedSubject(source);
  FirstBroken sink(error);
  if (!CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CopyToNode(subject, options, (source.flags & ~kReadOnly) | kCopied, out, error));
  (*out)->versioned.version = LabelOf(source, options);
  return DLBRIDGE_OK;
}

// A versioned tensor from a versioned one: a node of ours, by copy where that is asked for.
DLBridgeStatus Rewrap(DLManagedTensorVersioned* source, const Options& options,
                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  Prepared prepared = {nullptr, OwnNode(source), Prepared::How::kCopy};
  if (options.Has(DLBRIDGE_CONVERT_COPY)) {
    DLBRIDGE_TRY(CopyVersioned(*source, options, &prepared.node, error));
  } else {
    prepared.how = prepared.old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap;
    DLBRIDGE_TRY(MakeVersioned(*source, options, &prepared.node, error));
  }
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kVersioned, source, &result, error));
  *out = static_cast<DLManagedTensorVersioned*>(result);
  return DLBRIDGE_OK;
}

bool LabelFits(const DLManagedTensorVersioned& tensor, const Options& options) {
  return VersionedSubject(tensor).version <= options.version ||
         (options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN) &&
          RequiredVersion(tensor.dl_tensor, tensor.flags) > options.version);
}

// Versioned to versioned: as it is where it fits, else a node of ours. `must_be_ours` is adopt.
DLBridgeStatus ToVersioned(DLManagedTensorVersioned* source, const Options& options,
                           bool must_be_ours, DLManagedTensorVersioned** out,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(CheckMajor(*source, error));
  DLBRIDGE_TRY(CheckSource(VersionedSubject(*source), options, error));
  const Node* node = OwnNode(source);
  const bool ours = node != nullptr && !node->in_storage;
  if (options.Reshapes() || !LabelFits(*source, options) || (must_be_ours && !ours)) {
    return Rewrap(source, options, out, error);
  }
  if (options.Validates()) {
    DLBRIDGE_TRY(Validate(VersionedSubject(*source), *options.policy, error));
  }
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kVersioned, source, error));
  *out = source;
  return DLBRIDGE_OK;
}

// What a root calls to release what it holds; NULL where that is the library's own business.
const void* ReleaserOf(Node* root) {
  switch (root->source_kind) {
    case SourceKind::kLegacy:
      return reinterpret_cast<const void*>(static_cast<DLManagedTensor*>(root->source)->deleter);
    case SourceKind::kVersioned:
      return reinterpret_cast<const void*>(
          static_cast<DLManagedTensorVersioned*>(root->source)->deleter);
    case SourceKind::kWrapped:
      return reinterpret_cast<const void*>(static_cast<WrapTail*>(root->tail())->release);
    case SourceKind::kAllocation:
      break;
  }
  return reinterpret_cast<const void*>(static_cast<AllocationTail*>(root->tail())->deallocate);
}

// The same of any tensor, ours or not.
template <class Managed>
const void* ReleaserOf(const Managed& tensor) {
  const Node* node = OwnNode(&tensor);
  return node != nullptr ? ReleaserOf(node->root) : reinterpret_cast<const void*>(tensor.deleter);
}

// Legacy to legacy: handed back as it is, so options that ask for another form are refused.
DLBridgeStatus ToLegacy(DLManagedTensor* source, const Options& options, DLManagedTensor** out,
                        DLBridgeError* error) {
  if (options.Reshapes()) {
    return RefuseArgument(error, "options.flags",
                          "must not ask for another form where legacy stays legacy");
  }
  const Node* node = OwnNode(source);
  const uint64_t flags = options.source_flags | (node != nullptr ? node->flags : 0);
  const Subject subject = LegacySubject(*source, flags, options);
  FirstBroken sink(error);
  if (!CheckConvertible(subject, options, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckLegacyCodes(*subject.tensor, flags, options, error));
  if (options.Validates()) {
    DLBRIDGE_TRY(Validate(subject, *options.policy, error));
  }
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, source, error));
  *out = source;
  return DLBRIDGE_OK;
}

DLBridgeStatus ConvertTo(void* source, DLBridgeKind kind, bool versioned, const Options& options,
                         void** out, DLBridgeError* error) {
  DLManagedTensorVersioned* new_versioned = nullptr;
  DLManagedTensor* new_legacy = nullptr;
  const bool from_versioned = kind == DLBRIDGE_KIND_VERSIONED;
  auto* old_versioned = static_cast<DLManagedTensorVersioned*>(source);
  auto* old_legacy = static_cast<DLManagedTensor*>(source);
  if (versioned) {
    DLBRIDGE_TRY(from_versioned ? ToVersioned(old_versioned, options, false, &new_versioned, error)
                                : Upgrade(old_legacy, options, &new_versioned, error));
    *out = new_versioned;
  } else {
    DLBRIDGE_TRY(from_versioned ? Downgrade(old_versioned, options, &new_legacy, error)
                                : ToLegacy(old_legacy, options, &new_legacy, error));
    *out = new_legacy;
  }
  return DLBRIDGE_OK;
}

}  // namespace

void Reform(const Options& options, Node* node, DLTensor* tensor) {
  if (options.Has(DLBRIDGE_CONVERT_CANONICAL)) {
    Canonicalise(node, tensor);
  }
  if (options.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET)) {
    FoldByteOffset(tensor);
  }
}

DLBridgeStatus CheckFold(const DLTensor& tensor, const Options& options, DLBridgeError* error) {
  const int32_t type = TypeOf(tensor.device);
  if (!options.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET) ||
      DeviceTypeOf(type).data == DataIs::kAddress) {
    return DLBRIDGE_OK;
  }
  return Refuse(error, {DLBRIDGE_RULE_OFFSET_FOLD, kNoAxis, 0, static_cast<uint32_t>(type)});
}

bool Satisfies(const DLManagedTensorVersioned& tensor, const Options& options) {
  const Subject subject = VersionedSubject(tensor);
  if (!LabelFits(tensor, options) || CheckSource(subject, options, nullptr) != DLBRIDGE_OK) {
    return false;
  }
  return !options.Validates() || Validate(subject, *options.policy, nullptr) == DLBRIDGE_OK;
}

DLBridgeStatus PinProducer(SourceKind kind, const void* source, DLBridgeError* error) {
  const void* releaser = kind == SourceKind::kLegacy
                             ? ReleaserOf(*static_cast<const DLManagedTensor*>(source))
                             : ReleaserOf(*static_cast<const DLManagedTensorVersioned*>(source));
  return releaser == nullptr ? DLBRIDGE_OK : PinModule(releaser, error);
}

void Abandon(const Prepared& prepared) {
  if (prepared.node != nullptr) {
    DiscardNode(prepared.node);
  }
}

DLBridgeStatus PinAndCommit(const Prepared& prepared, const Options& options, SourceKind kind,
                            void* source, void** out, DLBridgeError* error) {
  if (prepared.how != Prepared::How::kCopy) {
    const DLBridgeStatus status = PinIfAsked(options, kind, source, error);
    if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
      Abandon(prepared);
      return status;
    }
  }
  *out = Commit(prepared, kind, source);
  return DLBRIDGE_OK;
}

void* Commit(const Prepared& prepared, SourceKind kind, void* source) {
  Node* node = prepared.node;
  switch (prepared.how) {
    case Prepared::How::kWrap:
      BecomeRoot(node, kind, source);
      break;
    case Prepared::How::kReplace:
      // A preparation that succeeded has its node.
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
      node->is_view = prepared.old->is_view;
      Replace(node, prepared.old);
      break;
    case Prepared::How::kOriginal:
      return TakeOriginal(prepared.old);
    case Prepared::How::kCopy:
      if (kind == SourceKind::kLegacy) {
        ReleaseTensor(static_cast<DLManagedTensor*>(source));
      } else {
        ReleaseTensor(static_cast<DLManagedTensorVersioned*>(source));
      }
      break;
  }
  return node;
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_adopt(DLManagedTensorVersioned* source,
                              const DLBridgeConvertOptions* options, DLManagedTensorVersioned** out,
                              DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(out);
  dlbridge::Options storage;
  const dlbridge::Options* resolved = nullptr;
  DLBRIDGE_TRY(dlbridge::ResolveOptions(options, &storage, &resolved, error));
  return dlbridge::ToVersioned(source, *resolved, true, out, error);
}

DLBridgeStatus dlbridge_convert(void* source, DLBridgeKind kind, DLPackVersion target,
                                const DLBridgeConvertOptions* options, void** out,
                                DLBridgeKind* out_kind, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_REQUIRE(out_kind);
  if (kind != DLBRIDGE_KIND_LEGACY && kind != DLBRIDGE_KIND_VERSIONED) {
    return dlbridge::RefuseArgument(error, "kind", "must be LEGACY or VERSIONED");
  }
  if (target.major > dlbridge::kMajor) {
    return dlbridge::RefuseArgument(error, "target", "must be of major 0 or 1");
  }
  dlbridge::Options storage = dlbridge::kDefaultOptions;
  if (options != nullptr) {
    if (options->struct_size >= sizeof *options &&
        (options->version.major != 0 || options->version.minor != 0)) {
      return dlbridge::RefuseArgument(error, "options.version",
                                      "must be {0, 0}: the target says it");
    }
    DLBRIDGE_TRY(dlbridge::ReadOptions(options, &storage, error));
  }
  const bool versioned = target.major == dlbridge::kMajor;
  if (versioned) {
    storage.version = dlbridge::SharedVersion(target);
  }
  DLBRIDGE_TRY(dlbridge::ConvertTo(source, kind, versioned, storage, out, error));
  *out_kind = versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY;
  return DLBRIDGE_OK;
}

}  // extern "C"
