// SPDX-License-Identifier: Apache-2.0
// Conversions within one kind: versioned to versioned, and legacy to legacy.
#include "convert.h"
#include "copy.h"
#include "required.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

// The version of a node that is made of a versioned tensor.
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

DLBridgeStatus PrepareVersioned(const Subject& subject, Node* old, const Options& options,
                                Prepared* out, DLBridgeError* error) {
  *out = {nullptr, old, Prepared::How::kCopy};
  if (options.Has(DLBRIDGE_CONVERT_COPY)) {
    return CopyVersioned(subject, options, &out->node, error);
  }
  out->how = old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap;
  return MakeVersioned(subject, options, &out->node, error);
}

// The flags that are known of a legacy tensor: of a dlbridge-owned one, those that it lost as well.
uint64_t KnownFlags(const Node* node, const Options& options) {
  return options.tensor_flags | (node != nullptr ? node->flags : 0);
}

DLBridgeStatus MakeLegacy(const Subject& subject, const Options& options, Node** out,
                          DLBridgeError* error) {
  DLBRIDGE_TRY(MakeNode(subject, options, subject.flags, out, error));
  FillLegacy(*out, subject.tensor, kNewestVersion - kFirstVersioned);
  Reform(options, *out, &(*out)->legacy.dl_tensor);
  return DLBRIDGE_OK;
}

DLBridgeStatus PrepareLegacy(const Subject& subject, Node* old, const Options& options,
                             Prepared* out, DLBridgeError* error) {
  *out = {nullptr, old, Prepared::How::kCopy};
  if (options.Has(DLBRIDGE_CONVERT_COPY)) {
    return CopyToLegacy(subject, options, &out->node, error);
  }
  out->how = old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap;
  return MakeLegacy(subject, options, &out->node, error);
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

}  // namespace

DLBridgeStatus Rewrap(DLManagedTensorVersioned* source, const Options& options, Wants wants,
                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  Subject subject;
  DLBRIDGE_TRY(LoadVersioned(*source, &subject, error));
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Node* old = HeapNode(source);
  if (options.Reshapes() || !LabelFits(subject, options) ||
      (wants == Wants::kOwned && old == nullptr)) {
    Prepared prepared;
    DLBRIDGE_TRY(PrepareVersioned(subject, old, options, &prepared, error));
    void* result = nullptr;
    DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kVersioned, source, &result, error));
    *out = static_cast<DLManagedTensorVersioned*>(result);
    return DLBRIDGE_OK;
  }
  if (options.Validates()) {
    DLBRIDGE_TRY(Validate(subject, *options.policy, error));
  }
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kVersioned, source, error));
  *out = source;
  return DLBRIDGE_OK;
}

DLBridgeStatus PassLegacy(DLManagedTensor* source, const Options& options, DLManagedTensor** out,
                          DLBridgeError* error) {
  Node* old = OwnNode(source);
  const Subject subject = LegacySubject(*source, KnownFlags(old, options), options);
  DLBRIDGE_TRY(old != nullptr ? CheckOwnedLegacy(old, subject.tensor, error) : DLBRIDGE_OK);
  DLBRIDGE_TRY(CheckLegacySource(subject, options, error));
  if (options.Reshapes()) {
    Prepared prepared;
    DLBRIDGE_TRY(PrepareLegacy(subject, old, options, &prepared, error));
    void* result = nullptr;
    DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kLegacy, source, &result, error));
    *out = static_cast<DLManagedTensor*>(result);
    return DLBRIDGE_OK;
  }
  if (options.Validates()) {
    DLBRIDGE_TRY(Validate(subject, *options.policy, error));
  }
  DLBRIDGE_TRY(PinIfAsked(options, SourceKind::kLegacy, source, error));
  *out = source;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
