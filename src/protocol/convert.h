// SPDX-License-Identifier: Apache-2.0
// The parts that upgrade, downgrade, import and export share.
//
// Every conversion is prepared first, without changing the source. It is committed when no step can
// fail any more.
#ifndef DLBRIDGE_SRC_PROTOCOL_CONVERT_H_
#define DLBRIDGE_SRC_PROTOCOL_CONVERT_H_

#include <cstdint>

#include "describe/boundary.h"
#include "describe/required.h"
#include "dlbridge/dlbridge.h"
#include "tensor/node.h"
#include "tensor/options.h"
#include "tensor/owned.h"
#include "validate/rules.h"

namespace dlbridge {

// A prepared conversion.
struct Prepared {
  enum class How : uint8_t {
    kWrap,      // the result is `node`, which becomes the owner of the source
    kReplace,   // the result is `node`, which replaces `old`, a dlbridge-owned handle
    kOriginal,  // the result is the source of `old`, which is freed
    kAsIs,      // the result is the source
    kCopy       // the result is `node`, which has its own data; the source is released
  };
  Node* node;
  Node* old;
  How how;
};

// Checks the struct itself against the policy. If validation is skipped, checks only what is needed
// to make a node.
template <class Sink>
DLBRIDGE_INLINE bool CheckConvertible(const Subject& subject, const Options& options, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION))) {
    return CheckHead(subject, *options.policy, sink);
  }
  if (DLBRIDGE_UNLIKELY(IsAbove(tensor.ndim, DLBRIDGE_MAX_NDIM))) {
    return RejectNdim(tensor.ndim, 0, DLBRIDGE_MAX_NDIM, sink);
  }
  if (DLBRIDGE_UNLIKELY(tensor.shape == nullptr && tensor.ndim != 0)) {
    return !sink->Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(tensor.ndim), 0});
  }
  return true;
}

// Rejects FOLD_BYTE_OFFSET if `data` is not an address.
DLBridgeStatus CheckFold(const Subject& subject, const Options& options, DLBridgeError* error);

// A legacy source with its known flags.
DLBRIDGE_INLINE Subject LegacySubject(const DLManagedTensor& source, uint64_t flags,
                                      const Options& options) {
  const bool vouched = options.Has(DLBRIDGE_CONVERT_VOUCH_WRITABLE) ||
                       options.policy->Has(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  return BorrowedSubject(source.dl_tensor, flags, vouched);
}

// Checks whether a source can become a versioned tensor for this consumer. Its layout is checked
// later.
DLBRIDGE_INLINE DLBridgeStatus CheckSource(const Subject& subject, const Options& options,
                                           DLBridgeError* error) {
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!CheckConvertible(subject, options, &sink))) {
    return sink.failure();
  }
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET))) {
    DLBRIDGE_TRY(CheckFold(subject, options, error));
  }
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN))) {
    return DLBRIDGE_OK;
  }
  return CheckCodes(subject.tensor, subject.flags, options.version, error);
}

// Copies shape and strides to `node`, and validates the copy unless validation is skipped.
template <class Sink>
DLBRIDGE_INLINE bool Snapshot(const Subject& subject, const Options& options, Node* node,
                              Sink* sink) {
  if (DLBRIDGE_LIKELY(options.Validates())) {
    return CheckLayout(subject, *options.policy, node->shape(), node->strides(), sink);
  }
  const DLTensor& tensor = subject.tensor;
  CopyAxes(tensor.ndim, tensor.shape, tensor.strides, node->shape(), node->strides());
  return true;
}

// Makes a node with a copy of the arrays and with `flags`. Its DLPack struct is not filled yet.
DLBRIDGE_INLINE DLBridgeStatus MakeNode(const Subject& subject, const Options& options,
                                        uint64_t flags, Node** out, DLBridgeError* error) {
  Node* node = AllocateNode(subject.tensor.ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  InitNode(node, subject.tensor.ndim, flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    DiscardNode(node);
    return sink.failure();
  }
  *out = node;
  return DLBRIDGE_OK;
}

// Applies CANONICAL and FOLD_BYTE_OFFSET to a filled node.
DLBRIDGE_COLD void Reform(const Options& options, Node* node, DLTensor* tensor);

// True if the source and the struct `own` of `node` describe the same tensor.
bool IsSameTensor(const DLTensor& source, Node* node, const DLTensor& own);

// True if the tensor's version allows returning it unchanged to a consumer with these options.
bool LabelFits(const Subject& subject, const Options& options);
// True if a tensor of major 1, returned unchanged, satisfies these options.
bool Satisfies(const Subject& subject, const Options& options);

// Rejects dtype codes, device types and flag bits that the legacy version of the options does not
// know, unless the options accept them.
DLBridgeStatus CheckLegacyCodes(const Subject& subject, const Options& options,
                                DLBridgeError* error);
// Rejects flags that a legacy tensor cannot record, unless the options allow the loss.
DLBridgeStatus CheckLosses(const Subject& subject, const Options& options, DLBridgeError* error);

// Keeps the module that releases `source` loaded, if the options have PIN_PRODUCER. This is the
// last step that can fail, so that a rejected source pins nothing.
DLBRIDGE_COLD DLBridgeStatus PinProducer(SourceKind kind, const void* source, DLBridgeError* error);
DLBRIDGE_INLINE DLBridgeStatus PinIfAsked(const Options& options, SourceKind kind,
                                          const void* source, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_PIN_PRODUCER))) {
    return DLBRIDGE_OK;
  }
  return PinProducer(kind, source, error);
}

// Frees a preparation that is not committed.
void Abandon(const Prepared& prepared);

// Commits a preparation and returns the result (see Prepared::How).
void* Commit(const Prepared& prepared, SourceKind kind, void* source);

// PinIfAsked, then Commit or Abandon, for a single source.
DLBridgeStatus PinAndCommit(const Prepared& prepared, const Options& options, SourceKind kind,
                            void* source, void** out, DLBridgeError* error);

// The tensors that an upgrade may return: any versioned tensor, or dlbridge-owned ones only.
enum class Wants : uint8_t { kAnyVersioned, kOwned };

// The conversions, without the entry points' checks of their arguments.
DLBridgeStatus PrepareUpgrade(DLManagedTensor* source, const Options& options, Wants wants,
                              Prepared* out, DLBridgeError* error);
DLBridgeStatus Upgrade(DLManagedTensor* source, const Options& options, Wants wants,
                       DLManagedTensorVersioned** out, DLBridgeError* error);
// Upgrade with the default options, for a source that dlbridge did not create. `options` is not
// read; it is there so that an entry point can jump here without moving its arguments.
DLBridgeStatus UpgradeForeign(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                              DLManagedTensorVersioned** out, DLBridgeError* error);
DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const Options& options,
                         DLManagedTensor** out, DLBridgeError* error);
// Versioned to versioned: returns the source if the consumer can read it, else a new node.
DLBridgeStatus Rewrap(DLManagedTensorVersioned* source, const Options& options, Wants wants,
                      DLManagedTensorVersioned** out, DLBridgeError* error);
// Rewrap with the default options to a dlbridge-owned tensor.
DLBridgeStatus RewrapByDefault(DLManagedTensorVersioned* source, DLManagedTensorVersioned** out,
                               DLBridgeError* error);
// Legacy to legacy, likewise.
DLBridgeStatus PassLegacy(DLManagedTensor* source, const Options& options, DLManagedTensor** out,
                          DLBridgeError* error);

// Copies the data to a legacy tensor, which is a new root.
DLBridgeStatus CopyToLegacy(const Subject& subject, const Options& options, Node** out,
                            DLBridgeError* error);

// Sets `*out` to `kind` if that is LEGACY or VERSIONED. With UNKNOWN the bytes decide.
DLBridgeStatus DecideKind(const void* tensor, DLBridgeKind kind, DLBridgeKind* out,
                          DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_PROTOCOL_CONVERT_H_
