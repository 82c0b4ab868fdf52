// SPDX-License-Identifier: Apache-2.0
// Versioned to legacy.
#include "copy/copy.h"
#include "describe/boundary.h"
#include "describe/required.h"
#include "protocol/convert.h"
#include "protocol/plain.h"

namespace dlbridge {
namespace {

// True if the padded flag changes the layout of this dtype.
bool PaddingMatters(const Subject& subject) {
  return ItemBits(subject.tensor.dtype, subject.flags) != ItemBits(subject.tensor.dtype, 0);
}

// Unknown codes and flag bits may change the layout, so neither DROP_* nor COPY permits them.
DLBridgeStatus CheckUnknown(const Subject& subject, const Options& options, DLBridgeError* error) {
  const bool unknown = RequiredVersion(subject.tensor, subject.flags) == kNoRelease;
  if (unknown && !options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN)) {
    return RejectCodes(subject.tensor, subject.flags, kLegacyVersion, error);
  }
  return DLBRIDGE_OK;
}

bool IsNewer(Version since, const Options& options) {
  return since > options.version && since != kNoRelease;
}

// Rejects codes that are newer than the legacy consumer's version.
DLBridgeStatus CheckNewerCodes(const Subject& subject, const Options& options,
                               DLBridgeError* error) {
  if (options.Has(DLBRIDGE_CONVERT_ALLOW_NEWER_CODES | DLBRIDGE_CONVERT_COPY)) {
    return DLBRIDGE_OK;
  }
  const DLTensor& tensor = subject.tensor;
  if (IsNewer(DtypeSince(tensor.dtype.code), options)) {
    return Reject(error, {DLBRIDGE_RULE_LEGACY_DTYPE, kNoAxis, Packed(options.version),
                          Packed(tensor.dtype)});
  }
  const int32_t type = TypeOf(tensor.device);
  if (IsNewer(DeviceTypeOf(type).since, options)) {
    return Reject(error, {DLBRIDGE_RULE_LEGACY_DEVICE, kNoAxis, Packed(options.version),
                          static_cast<uint32_t>(type)});
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus MakeDowngraded(const Subject& subject, const Options& options, Node** out,
                              DLBridgeError* error) {
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeNode(subject, options, subject.flags, &node, error));
  FillLegacy(node, subject.tensor, subject.label.minor);
  node->wraps_source = !options.Reshapes();
  if (DLBRIDGE_UNLIKELY(options.Reshapes())) {
    Reform(options, node, &node->legacy.dl_tensor);
  }
  *out = node;
  return DLBRIDGE_OK;
}

// Options of a downgrade, as a constant.
template <uint32_t kOptions>
struct PlainDowngrade {
  static constexpr Options kValue = {kOptions,        kLegacyVersion, kLegacyVersion, 0,
                                     &kDefaultPolicy, nullptr,        kDefaultPolicy};
};

template <uint32_t kOptions>
DLBRIDGE_NOINLINE DLBridgeStatus DowngradeGenerally(DLManagedTensorVersioned* source,
                                                    DLManagedTensor** out, DLBridgeError* error) {
  return Downgrade(source, PlainDowngrade<kOptions>::kValue, out, error);
}

template <uint32_t kOptions>
DLBRIDGE_COLD DLBridgeStatus RejectForMemory(const DLManagedTensorVersioned& source,
                                             DLPackVersion label, DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckConvertible(VersionedSubject(source, label), PlainDowngrade<kOptions>::kValue, &sink)) {
    return sink.failure();
  }
  return RejectMemory(error);
}

DLBRIDGE_INLINE void InitDowngraded(Node* node, uint64_t ndim, uint64_t flags, DLPackVersion label,
                                    DLManagedTensorVersioned* source) {
  InitRoot(node, ndim, {flags, label.minor, SourceKind::kVersioned, false, true}, source);
  node->legacy.manager_ctx = node;
  node->legacy.deleter = DeleteLegacy;
}

// Fast path: a versioned tensor that dlbridge did not create and that loses nothing.
template <uint32_t kOptions>
DLBRIDGE_INLINE DLBridgeStatus DowngradePlain(DLManagedTensorVersioned* source, DLPackVersion label,
                                              DLManagedTensor** out, DLBridgeError* error) {
  constexpr bool kValidates = (kOptions & DLBRIDGE_CONVERT_SKIP_VALIDATION) == 0;
  const Head head = LoadHead(source->dl_tensor);
  const uint64_t flags = Load(&source->flags);
  if (DLBRIDGE_UNLIKELY(!(IsPlain<kLegacyVersion, kValidates>(head)) || (flags & ~kCopied) != 0)) {
    return DowngradeGenerally<kOptions>(source, out, error);
  }
  Node* node = AllocatePlain(head);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectForMemory<kOptions>(*source, label, error);
  }
  InitDowngraded(node, head.ndim, flags, label, source);
  const bool needs_strides = kValidates && VersionOfMinor(label.minor) >= kStridesSince;
  const DLBridgeStatus status =
      FillPlain<DLManagedTensor, kValidates>(source->dl_tensor, head, needs_strides, node, error);
  if (DLBRIDGE_UNLIKELY(status != DLBRIDGE_OK)) {
    DiscardNode(node);
    return status == kUndecided ? DowngradeGenerally<kOptions>(source, out, error) : status;
  }
  *out = &node->legacy;
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus DowngradeUnchecked(DLManagedTensorVersioned* source,
                                                    DLPackVersion label, DLManagedTensor** out,
                                                    DLBridgeError* error) {
  return DowngradePlain<DLBRIDGE_CONVERT_SKIP_VALIDATION>(source, label, out, error);
}

DLBridgeStatus Prepare(const Subject& subject, Node* old, const Options& options, Prepared* out,
                       DLBridgeError* error) {
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!CheckConvertible(subject, options, &sink))) {
    return sink.failure();
  }
  DLBRIDGE_TRY(CheckFold(subject, options, error));
  DLBRIDGE_TRY(CheckLosses(subject, options, error));
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_COPY))) {
    *out = {nullptr, nullptr, Prepared::How::kCopy};
    return CopyToLegacy(subject, options, &out->node, error);
  }
  // A source that was made of a legacy tensor never returns that tensor: it does not record the
  // flags of the source.
  *out = {nullptr, old, old != nullptr ? Prepared::How::kReplace : Prepared::How::kWrap};
  return MakeDowngraded(subject, options, &out->node, error);
}

}  // namespace

DLBridgeStatus CopyToLegacy(const Subject& subject, const Options& options, Node** out,
                            DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckHead(subject, *options.policy, &sink)) {
    return sink.failure();
  }
  // Elements are packed, since a legacy tensor cannot record padding.
  const uint64_t lost = kReadOnly | (PaddingMatters(subject) ? kPadded : 0);
  DLBRIDGE_TRY(CopyToNode(subject, options, (subject.flags & ~lost) | kCopied, out, error));
  const DLTensor tensor = (*out)->versioned.dl_tensor;
  FillLegacy(*out, tensor, subject.label.minor);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckLegacyCodes(const Subject& subject, const Options& options,
                                DLBridgeError* error) {
  DLBRIDGE_TRY(CheckUnknown(subject, options, error));
  return CheckNewerCodes(subject, options, error);
}

DLBridgeStatus CheckLosses(const Subject& subject, const Options& options, DLBridgeError* error) {
  if ((subject.flags & kReadOnly) != 0 &&
      !options.Has(DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_COPY)) {
    return Reject(error, {DLBRIDGE_RULE_LEGACY_READ_ONLY, kNoAxis, 0, 0});
  }
  if (PaddingMatters(subject) &&
      !options.Has(DLBRIDGE_CONVERT_DROP_PADDED | DLBRIDGE_CONVERT_COPY)) {
    return Reject(error, {DLBRIDGE_RULE_LEGACY_PADDED, kNoAxis, 0, Packed(subject.tensor.dtype)});
  }
  return CheckLegacyCodes(subject, options, error);
}

DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const Options& options,
                         DLManagedTensor** out, DLBridgeError* error) {
  Subject subject;
  DLBRIDGE_TRY(LoadVersioned(*source, &subject, error));
  Prepared prepared;
  DLBRIDGE_TRY(Prepare(subject, HeapNode(source), options, &prepared, error));
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
  DLBRIDGE_TRY(ResolveOptions(options, Target::kLegacy, &storage, &resolved, error));
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
  // With another major, no other field may be read.
  const DLPackVersion label = dlbridge::LoadVersion(source->version);
  DLBRIDGE_TRY(dlbridge::CheckMajor(label, error));
  if (DLBRIDGE_LIKELY(dlbridge::OwnNode(source) == nullptr)) {
    if (options == nullptr) {
      return dlbridge::DowngradePlain<0>(source, label, out, error);
    }
    if (dlbridge::IsPlain(options) && options->options == DLBRIDGE_CONVERT_SKIP_VALIDATION) {
      return dlbridge::DowngradeUnchecked(source, label, out, error);
    }
  }
  return dlbridge::DowngradeWithOptions(source, options, out, error);
}

}  // extern "C"
