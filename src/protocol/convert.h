// SPDX-License-Identifier: Apache-2.0
// What upgrade, downgrade, import and export share.
//
// Every conversion is prepared first, without touching the source, and committed when nothing can
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

// A conversion that needs only to be committed.
struct Prepared {
  enum class How : uint8_t {
    kWrap,      // `node` is new and takes the source
    kReplace,   // `node` is new and takes the place of `old`, a dlbridge-owned handle
    kOriginal,  // `old` ends, and its source is the result
    kAsIs,      // the source is the result
    kCopy       // `node` is new and has its own data; the source is released
  };
  Node* node;
  Node* old;
  How how;
};

// Checks the struct itself and, where the options ask for it, all that the policy demands of it.
// Without validation only that is checked without which no node can be made.
template <class Sink>
DLBRIDGE_INLINE bool CheckConvertible(const Subject& subject, const Options& options, Sink* sink) {
  const DLTensor& tensor = subject.tensor;
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION))) {
    return CheckHead(subject, *options.policy, sink);
  }
  if (DLBRIDGE_UNLIKELY(IsAbove(tensor.ndim, DLBRIDGE_MAX_NDIM))) {
    return RefuseNdim(tensor.ndim, 0, DLBRIDGE_MAX_NDIM, sink);
  }
  if (DLBRIDGE_UNLIKELY(tensor.shape == nullptr && tensor.ndim != 0)) {
    return !sink->Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(tensor.ndim), 0});
  }
  return true;
}

// Rejects a fold where `data` is not an address.
DLBridgeStatus CheckFold(const Subject& subject, const Options& options, DLBridgeError* error);

// A legacy tensor with the flags that are known of it.
DLBRIDGE_INLINE Subject LegacySubject(const DLManagedTensor& source, uint64_t flags,
                                      const Options& options) {
  const bool vouched = options.Has(DLBRIDGE_CONVERT_VOUCH_WRITABLE) ||
                       options.policy->Has(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  return BorrowedSubject(source.dl_tensor, flags, vouched);
}

// All that a source must meet to become a versioned tensor for this consumer, its layout aside.
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

// Copies shape and strides to `node`, and validates the copy where the options ask for it.
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

// A node with a copy of the arrays and with `flags`, its struct not yet filled.
DLBRIDGE_INLINE DLBridgeStatus MakeNode(const Subject& subject, const Options& options,
                                        uint64_t flags, Node** out, DLBridgeError* error) {
  Node* node = AllocateNode(subject.tensor.ndim, 0);
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
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

// --------------------------------------------------------------------------------- fast path

// Does a source meet all but the layout rules, for a consumer of kVersion? One that this does not
// recognise goes the general way from its beginning.
template <Version kVersion, bool kValidates>
DLBRIDGE_INLINE bool IsPlainSource(const Subject& subject) {
  const DLTensor& tensor = subject.tensor;
  const bool head = kValidates ? IsPlainHead(subject)
                               : !IsAbove(tensor.ndim, DLBRIDGE_MAX_NDIM) &&
                                     (tensor.shape != nullptr || tensor.ndim == 0);
  return head && CodesKnownTo<kVersion>(tensor);
}

// Validates the copies of the arrays in `node` by the default policy. Field by field, so that the
// fast path keeps them in registers.
DLBRIDGE_NOINLINE DLBridgeStatus CheckCopies(Node* node, void* data, DLDevice device,
                                             DLDataType dtype, uint64_t byte_offset,
                                             bool has_strides, DLBridgeError* error);

// Copies the arrays to `node`, and validates the copies by the default policy.
template <bool kValidates>
DLBRIDGE_INLINE DLBridgeStatus FillAxes(const Subject& subject, Node* node, DLBridgeError* error) {
  const DLTensor& tensor = subject.tensor;
  if (!kValidates) {
    CopyAxes(tensor.ndim, tensor.shape, tensor.strides, node->shape(), node->strides());
    return DLBRIDGE_OK;
  }
  const int64_t count =
      ScanCompact<true>(tensor.ndim, tensor.shape, tensor.strides, node->shape(), node->strides());
  return DLBRIDGE_LIKELY(FitsCompact(subject, count))
             ? DLBRIDGE_OK
             : CheckCopies(node, tensor.data, tensor.device, tensor.dtype, tensor.byte_offset,
                           tensor.strides != nullptr, error);
}

// Applies CANONICAL and FOLD_BYTE_OFFSET to a filled node.
DLBRIDGE_COLD void Reform(const Options& options, Node* node, DLTensor* tensor);

// Does the struct of a source still describe what its node does? Then either stands for the other.
bool IsSameTensor(const DLTensor& source, Node* node, const DLTensor& own);

// May a versioned tensor of that label be handed back to a consumer with these options?
bool LabelFits(const Subject& subject, const Options& options);
// Does a tensor of major 1, handed back as it is, satisfy these options?
bool Satisfies(const Subject& subject, const Options& options);

// Rejects dtype codes, device types and flag bits that the legacy version of the options does not
// know, unless the options let them pass.
DLBridgeStatus CheckLegacyCodes(const Subject& subject, const Options& options,
                                DLBridgeError* error);
// Rejects what a legacy tensor cannot record, unless the options allow the loss.
DLBridgeStatus CheckLosses(const Subject& subject, const Options& options, DLBridgeError* error);

// Keeps the module loaded that releases `source`, of `kind`, where the options ask for it. The last
// step that can fail: a source that is rejected pins nothing.
DLBRIDGE_COLD DLBridgeStatus PinProducer(SourceKind kind, const void* source, DLBridgeError* error);
DLBRIDGE_INLINE DLBridgeStatus PinIfAsked(const Options& options, SourceKind kind,
                                          const void* source, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_PIN_PRODUCER))) {
    return DLBRIDGE_OK;
  }
  return PinProducer(kind, source, error);
}

// Takes a preparation back.
void Abandon(const Prepared& prepared);

// Carries a preparation out and returns what the caller gets: the source of kOriginal or kAsIs, or
// the node.
void* Commit(const Prepared& prepared, SourceKind kind, void* source);

// Both, for a single source: `*out` is what the caller gets.
DLBridgeStatus PinAndCommit(const Prepared& prepared, const Options& options, SourceKind kind,
                            void* source, void** out, DLBridgeError* error);

// What an upgrade may hand back.
enum class Wants : uint8_t { kAnyVersioned, kOwned };

// The conversions between the entry points' checks of their arguments and their results.
DLBridgeStatus PrepareUpgrade(DLManagedTensor* source, const Options& options, Wants wants,
                              Prepared* out, DLBridgeError* error);
DLBridgeStatus Upgrade(DLManagedTensor* source, const Options& options, Wants wants,
                       DLManagedTensorVersioned** out, DLBridgeError* error);
DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const Options& options,
                         DLManagedTensor** out, DLBridgeError* error);
// A versioned tensor for a versioned consumer: as it is where it fits, else a node.
DLBridgeStatus Rewrap(DLManagedTensorVersioned* source, const Options& options, Wants wants,
                      DLManagedTensorVersioned** out, DLBridgeError* error);
// A legacy tensor for a legacy consumer, likewise.
DLBridgeStatus PassLegacy(DLManagedTensor* source, const Options& options, DLManagedTensor** out,
                          DLBridgeError* error);

// A copy as a legacy tensor, a root of its own.
DLBridgeStatus CopyToLegacy(const Subject& subject, const Options& options, Node** out,
                            DLBridgeError* error);

// The kind of `tensor`: `kind` where that is LEGACY or VERSIONED, else by its bytes.
DLBridgeStatus DecideKind(const void* tensor, DLBridgeKind kind, DLBridgeKind* out,
                          DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_PROTOCOL_CONVERT_H_
