// SPDX-License-Identifier: Apache-2.0
// Conversions within one kind: versioned to versioned, and legacy to legacy.
#include "copy/copy.h"
#include "describe/boundary.h"
#include "describe/required.h"
#include "protocol/convert.h"
#include "protocol/plain.h"

namespace dlbridge {
namespace {

// The version of a new node: unknown codes and flags keep the version of their tensor.
DLPackVersion LabelOf(const Subject& subject, const Options& options) {
  const bool unknown = RequiredVersion(subject.tensor, subject.flags) > options.version;
  return unknown ? subject.label : ToDLPack(options.version);
}

DLBridgeStatus MakeVersioned(const Subject& subject, const Options& options, Node** out,
                             DLBridgeError* error) {
  DLBRIDGE_TRY(MakeNode(subject, options, subject.flags, out, error));
  FillVersioned(*out, subject.tensor, LabelOf(subject, options));
  Reform(options, *out, &(*out)->versioned.dl_tensor);
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyVersioned(const Subject& subject, const Options& options, Node** out,
                             DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CopyToNode(subject, options, (subject.flags & ~kReadOnly) | kCopied, out, error));
  const DLPackVersion label = LabelOf(subject, options);
  (*out)->versioned.version = label;
  (*out)->minor = label.minor;
  return DLBRIDGE_OK;
}

// Prepares to return the source unchanged, after checking its layout.
DLBridgeStatus PrepareAsIs(const Subject& subject, const Options& options, Prepared* out,
                           DLBridgeError* error) {
  *out = {nullptr, nullptr, Prepared::How::kAsIs};
  return options.Validates() ? Validate(subject, *options.policy, error) : DLBRIDGE_OK;
}

DLBridgeStatus PrepareVersioned(const Subject& subject, Node* old, const Options& options,
                                Wants wants, Prepared* out, DLBridgeError* error) {
  const bool fits = wants == Wants::kAnyVersioned || old != nullptr;
  if (fits && !options.Reshapes() && LabelFits(subject, options)) {
    return PrepareAsIs(subject, options, out, error);
  }
  *out = {nullptr, old, Prepared::How::kCopy};
  if (options.Has(DLBRIDGE_CONVERT_COPY)) {
    return CopyVersioned(subject, options, &out->node, error);
  }
  out->how = old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap;
  return MakeVersioned(subject, options, &out->node, error);
}

// The known flags of a legacy tensor; a dlbridge-owned one has flags that its struct cannot record.
uint64_t KnownFlags(const Node* node, const Options& options) {
  return options.tensor_flags | (node != nullptr ? node->flags : 0);
}

// The flags that a new node records. A foreign source is READ_ONLY unless known to be writable, as
// in an upgrade.
uint64_t RecordedFlags(const Subject& subject, const Node* old, const Options& options) {
  const bool known = old != nullptr || options.Has(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  return subject.flags | (known ? 0 : kReadOnly);
}

// The version that a new node records: it defines the meaning of unknown codes and flags.
uint32_t RecordedMinor(const Node* old) {
  return old != nullptr ? old->minor : kNewestVersion - kFirstVersioned;
}

DLBridgeStatus MakeLegacy(const Subject& subject, const Node* old, const Options& options,
                          Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(MakeNode(subject, options, RecordedFlags(subject, old, options), out, error));
  FillLegacy(*out, subject.tensor, RecordedMinor(old));
  Reform(options, *out, &(*out)->legacy.dl_tensor);
  return DLBRIDGE_OK;
}

DLBridgeStatus CopyLegacy(const Subject& subject, const Node* old, const Options& options,
                          Node** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CopyToLegacy(subject, options, out, error));
  (*out)->minor = RecordedMinor(old);
  return DLBRIDGE_OK;
}

DLBridgeStatus PrepareLegacy(const Subject& subject, Node* old, const Options& options,
                             Prepared* out, DLBridgeError* error) {
  if (!options.Reshapes()) {
    return PrepareAsIs(subject, options, out, error);
  }
  *out = {nullptr, old, Prepared::How::kCopy};
  if (options.Has(DLBRIDGE_CONVERT_COPY)) {
    return CopyLegacy(subject, old, options, &out->node, error);
  }
  out->how = old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap;
  return MakeLegacy(subject, old, options, &out->node, error);
}

DLBridgeStatus CheckLegacySource(const Subject& subject, const Options& options,
                                 DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckConvertible(subject, options, &sink)) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckFold(subject, options, error));
  return CheckLegacyCodes(subject, options, error);
}

DLBRIDGE_NOINLINE DLBridgeStatus RewrapGenerally(DLManagedTensorVersioned* source,
                                                 DLManagedTensorVersioned** out,
                                                 DLBridgeError* error) {
  return Rewrap(source, kDefaultOptions, Wants::kOwned, out, error);
}

// Reports that there is no memory, unless the source breaks a rule that is checked before.
DLBRIDGE_COLD DLBridgeStatus RejectForMemory(const DLManagedTensorVersioned& source,
                                             DLPackVersion label, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckSource(VersionedSubject(source, label), kDefaultOptions, error));
  return RejectMemory(error);
}

DLBRIDGE_INLINE DLBridgeStatus FillFromVersioned(DLManagedTensorVersioned* source, const Head& head,
                                                 uint64_t flags, DLPackVersion label, Node* node,
                                                 DLBridgeError* error) {
  constexpr DLPackVersion kLabel = ToDLPack(kDefaultVersion);
  InitRoot(node, head.ndim, {flags, kLabel.minor, SourceKind::kVersioned, false, false}, source);
  node->versioned.version.major = kLabel.major;
  node->versioned.version.minor = kLabel.minor;
  node->versioned.manager_ctx = node;
  node->versioned.deleter = DeleteVersioned;
  node->versioned.flags = flags;
  const bool needs_strides = VersionOfMinor(label.minor) >= kStridesSince;
  return FillPlain<DLManagedTensorVersioned, true>(source->dl_tensor, head, needs_strides, node,
                                                   error);
}

}  // namespace

DLBridgeStatus RewrapByDefault(DLManagedTensorVersioned* source, DLManagedTensorVersioned** out,
                               DLBridgeError* error) {
  const DLPackVersion label = LoadVersion(source->version);
  DLBRIDGE_TRY(CheckMajor(label, error));
  if (DLBRIDGE_UNLIKELY(OwnNode(source) != nullptr)) {
    return RewrapGenerally(source, out, error);
  }
  const Head head = LoadHead(source->dl_tensor);
  const uint64_t flags = Load(&source->flags);
  if (DLBRIDGE_UNLIKELY(!(IsPlain<kDefaultVersion, true>(head)) || (flags & ~kAllFlags) != 0)) {
    return RewrapGenerally(source, out, error);
  }
  Node* node = AllocatePlain(head);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectForMemory(*source, label, error);
  }
  const DLBridgeStatus status = FillFromVersioned(source, head, flags, label, node, error);
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    DiscardNode(node);
    return status == kUndecided ? RewrapGenerally(source, out, error) : status;
  }
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBridgeStatus Rewrap(DLManagedTensorVersioned* source, const Options& options, Wants wants,
                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  Subject subject;
  DLBRIDGE_TRY(LoadVersioned(*source, &subject, error));
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Prepared prepared;
  DLBRIDGE_TRY(PrepareVersioned(subject, HeapNode(source), options, wants, &prepared, error));
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kVersioned, source, &result, error));
  *out = static_cast<DLManagedTensorVersioned*>(result);
  return DLBRIDGE_OK;
}

DLBridgeStatus PassLegacy(DLManagedTensor* source, const Options& options, DLManagedTensor** out,
                          DLBridgeError* error) {
  Node* old = OwnNode(source);
  Subject subject = LegacySubject(*source, KnownFlags(old, options), options);
  if (old != nullptr) {
    // It remembers whether it may be written to.
    subject.may_write = (subject.flags & kReadOnly) == 0;
  }
  DLBRIDGE_TRY(old != nullptr ? CheckOwnedLegacy(old, subject.tensor, error) : DLBRIDGE_OK);
  DLBRIDGE_TRY(CheckLegacySource(subject, options, error));
  Prepared prepared;
  DLBRIDGE_TRY(PrepareLegacy(subject, old, options, &prepared, error));
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kLegacy, source, &result, error));
  *out = static_cast<DLManagedTensor*>(result);
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
