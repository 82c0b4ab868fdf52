// SPDX-License-Identifier: Apache-2.0
// Versioned to legacy.
#include "convert.h"
#include "copy.h"
#include "required.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

// Do elements of this dtype lie elsewhere when they are padded?
bool PaddingMatters(const DLTensor& tensor, uint64_t flags) {
  return ItemBits(tensor.dtype, flags) != ItemBits(tensor.dtype, 0);
}

// What nobody knows may change the layout: neither a loss that is allowed nor a copy covers it.
DLBridgeStatus CheckUnknown(const DLTensor& tensor, uint64_t flags, const Options& options,
                            DLBridgeError* error) {
  const bool unknown = RequiredVersion(tensor, flags) == kNoRelease;
  if (unknown && !options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN)) {
    return RefuseCodes(tensor, flags, kLegacyVersion, error);
  }
  return DLBRIDGE_OK;
}

bool NewerThanLegacy(Version since) { return since > kLegacyVersion && since != kNoRelease; }

// Codes of a release that legacy never heard of.
DLBridgeStatus CheckNewerCodes(const DLTensor& tensor, const Options& options,
                               DLBridgeError* error) {
  if (options.Has(DLBRIDGE_CONVERT_NEWER_CODES | DLBRIDGE_CONVERT_COPY)) {
    return DLBRIDGE_OK;
  }
  if (NewerThanLegacy(DtypeSince(tensor.dtype.code))) {
    return Refuse(error, {DLBRIDGE_RULE_LEGACY_DTYPE, kNoAxis, 0, Packed(tensor.dtype)});
  }
  const int32_t type = TypeOf(tensor.device);
  if (NewerThanLegacy(DeviceTypeOf(type).since)) {
    return Refuse(error, {DLBRIDGE_RULE_LEGACY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  return DLBRIDGE_OK;
}

DLBRIDGE_INLINE DLBridgeStatus MakeDowngraded(const Subject& subject, const Options& options,
                                              Node** out, DLBridgeError* error) {
  Node* node = AllocateNode(subject.tensor->ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
  }
  InitNode(node, subject.tensor->ndim, subject.flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    DiscardNode(node);
    return sink.failure();
  }
  FillLegacy(node, *subject.tensor);
  if (DLBRIDGE_UNLIKELY(options.Reshapes())) {
    Reform(options, node, &node->legacy.dl_tensor);
  }
  *out = node;
  return DLBRIDGE_OK;
}

// A versioned tensor of anybody else's that loses nothing, with options that are known when this is
// compiled: the common way. What might lose something is looked at in CheckLosses.
template <uint32_t kFlags>
DLBRIDGE_INLINE DLBridgeStatus DowngradePlain(DLManagedTensorVersioned* source,
                                              DLManagedTensor** out, DLBridgeError* error) {
  constexpr const Options& kOptions = PlainOptions<kFlags>::kValue;
  const Subject subject = VersionedSubject(*source);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!CheckConvertible(subject, kOptions, &sink))) {
    return sink.failure();
  }
  if (DLBRIDGE_UNLIKELY((subject.flags & ~kCopied) != 0 ||
                        !CodesKnownTo<kLegacyVersion>(*subject.tensor))) {
    DLBRIDGE_TRY(CheckLosses(*subject.tensor, subject.flags, kOptions, error));
  }
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeDowngraded(subject, kOptions, &node, error));
  BecomeRoot(node, SourceKind::kVersioned, source);
  *out = &node->legacy;
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus DowngradeVouched(DLManagedTensorVersioned* source,
                                                  DLManagedTensor** out, DLBridgeError* error) {
  return DowngradePlain<DLBRIDGE_CONVERT_SKIP_VALIDATION>(source, out, error);
}

// A copy in legacy form; packed, since legacy cannot say padded.
DLBridgeStatus CopyDowngraded(const Subject& subject, const Options& options, Node** out,
                              DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  const uint64_t lost = kReadOnly | (PaddingMatters(*subject.tensor, subject.flags) ? kPadded : 0);
  DLBRIDGE_TRY(CopyToNode(subject, options, (subject.flags & ~lost) | kCopied, out, error));
  const DLTensor tensor = (*out)->versioned.dl_tensor;
  FillLegacy(*out, tensor);
  return DLBRIDGE_OK;
}

// May the legacy tensor that this one came from be handed back? The checks on losses were made.
bool YieldsOriginal(const Node& node, const Options& options) {
  return HoldsOriginal(node, SourceKind::kLegacy) && !options.Reshapes();
}

DLBridgeStatus Prepare(DLManagedTensorVersioned* source, const Options& options, Prepared* out,
                       DLBridgeError* error) {
  const Subject subject = VersionedSubject(*source);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!CheckConvertible(subject, options, &sink))) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckFold(*subject.tensor, options, error));
  DLBRIDGE_TRY(CheckLosses(*subject.tensor, subject.flags, options, error));
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_COPY))) {
    *out = {nullptr, nullptr, Prepared::How::kCopy};
    return CopyDowngraded(subject, options, &out->node, error);
  }
  Node* old = OwnNode(source);
  if (old != nullptr && YieldsOriginal(*old, options)) {
    *out = {nullptr, old, Prepared::How::kOriginal};
    return options.Validates() ? Validate(subject, *options.policy, error) : DLBRIDGE_OK;
  }
  *out = {nullptr, old, old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap};
  return MakeDowngraded(subject, options, &out->node, error);
}

}  // namespace

DLBridgeStatus CheckLegacyCodes(const DLTensor& tensor, uint64_t flags, const Options& options,
                                DLBridgeError* error) {
  DLBRIDGE_TRY(CheckUnknown(tensor, flags, options, error));
  return CheckNewerCodes(tensor, options, error);
}

DLBridgeStatus CheckLosses(const DLTensor& tensor, uint64_t flags, const Options& options,
                           DLBridgeError* error) {
  if ((flags & kReadOnly) != 0 &&
      !options.Has(DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_COPY)) {
    return Refuse(error, {DLBRIDGE_RULE_LEGACY_READ_ONLY, kNoAxis, 0, 0});
  }
  if (PaddingMatters(tensor, flags) &&
      !options.Has(DLBRIDGE_CONVERT_DROP_PADDED | DLBRIDGE_CONVERT_COPY)) {
    return Refuse(error, {DLBRIDGE_RULE_LEGACY_PADDED, kNoAxis, 0, Packed(tensor.dtype)});
  }
  return CheckLegacyCodes(tensor, flags, options, error);
}

DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const Options& options,
                         DLManagedTensor** out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckMajor(*source, error));
  Prepared prepared;
  DLBRIDGE_TRY(Prepare(source, options, &prepared, error));
  void* result = nullptr;
  DLBRIDGE_TRY(PinAndCommit(prepared, options, SourceKind::kVersioned, source, &result, error));
  *out = static_cast<DLManagedTensor*>(result);
  return DLBRIDGE_OK;
}

namespace {

DLBRIDGE_NOINLINE DLBridgeStatus DowngradeWithOptions(DLManagedTensorVersioned* source,
                                                      const DLBridgeConvertOptions* options,
                                                      DLManagedTensor** out, DLBridgeError* error) {
  Options storage;
  const Options* resolved = nullptr;
  DLBRIDGE_TRY(ResolveOptions(options, &storage, &resolved, error));
  return Downgrade(source, *resolved, out, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_downgrade(DLManagedTensorVersioned* source,
                                  const DLBridgeConvertOptions* options, DLManagedTensor** out,
                                  DLBridgeError* error) {
  DLBRIDGE_REQUIRE(source);
  DLBRIDGE_REQUIRE(out);
  // Before anything else of it is read.
  DLBRIDGE_TRY(dlbridge::CheckMajor(*source, error));
  if (DLBRIDGE_LIKELY(dlbridge::OwnNode(source) == nullptr)) {
    if (options == nullptr) {
      return dlbridge::DowngradePlain<0>(source, out, error);
    }
    if (options->flags == DLBRIDGE_CONVERT_SKIP_VALIDATION && dlbridge::IsPlain(*options)) {
      return dlbridge::DowngradeVouched(source, out, error);
    }
  }
  return dlbridge::DowngradeWithOptions(source, options, out, error);
}

}  // extern "C"
