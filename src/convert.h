// SPDX-License-Identifier: Apache-2.0
// What upgrade, downgrade, adopt and convert share.
//
// Every conversion is prepared first, without touching the source, and committed when nothing can
// fail any more.
#ifndef DLBRIDGE_SRC_CONVERT_H_
#define DLBRIDGE_SRC_CONVERT_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "node.h"
#include "options.h"
#include "required.h"
#include "support/boundary.h"
#include "validate.h"

namespace dlbridge {

// A conversion that needs only to be committed.
struct Prepared {
  enum class How : uint8_t {
    kWrap,      // `node` is new and takes the source
    kReplace,   // `node` is new and takes the place of `old`, a handle of ours
    kOriginal,  // `old` ends, and what it came from is the result
    kCopy       // `node` is new and has its own data; the source is released
  };
  Node* node;
  Node* old;
  How how;
};

// Checks the struct itself and, where the options ask for it, all that the policy demands of it.
// What remains of a vouched tensor is what must hold for a node to be made.
template <class Sink>
DLBRIDGE_INLINE bool CheckConvertible(const Subject& subject, const Options& options, Sink* sink) {
  const DLTensor& tensor = *subject.tensor;
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION))) {
    return CheckHead(subject, *options.policy, sink);
  }
  if (DLBRIDGE_UNLIKELY(tensor.ndim < 0)) {
    return RefuseNdim(tensor.ndim, *options.policy, sink);
  }
  if (DLBRIDGE_UNLIKELY(tensor.shape == nullptr && tensor.ndim != 0)) {
    return !sink->Broken({DLBRIDGE_RULE_SHAPE_NULL, kNoAxis, Bits(tensor.ndim), 0});
  }
  return true;
}

// Refuses a fold where `data` is not an address.
DLBridgeStatus CheckFold(const DLTensor& tensor, const Options& options, DLBridgeError* error);

// A legacy tensor with the flags that are known of it.
DLBRIDGE_INLINE Subject LegacySubject(const DLManagedTensor& source, uint64_t flags,
                                      const Options& options) {
  const bool vouched =
      options.Has(DLBRIDGE_CONVERT_WRITABLE) || options.policy->Has(DLBRIDGE_POLICY_VOUCH_WRITABLE);
  return BareSubject(&source.dl_tensor, flags, vouched);
}

// All that a source must meet to become a versioned tensor for this consumer, its layout aside.
DLBRIDGE_INLINE DLBridgeStatus CheckSource(const Subject& subject, const Options& options,
                                           DLBridgeError* error) {
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!CheckConvertible(subject, options, &sink))) {
    return sink.failure();
  }
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET))) {
    DLBRIDGE_TRY(CheckFold(*subject.tensor, options, error));
  }
  if (DLBRIDGE_UNLIKELY(options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN))) {
    return DLBRIDGE_OK;
  }
  return CheckCodes(*subject.tensor, subject.flags, options.version, error);
}

// Snapshots shape and strides into `node`, and validates the snapshot where the options ask for it.
template <class Sink>
DLBRIDGE_INLINE bool Snapshot(const Subject& subject, const Options& options, Node* node,
                              Sink* sink) {
  if (DLBRIDGE_LIKELY(options.Validates())) {
    return CheckLayout<true>(subject, *options.policy, node->shape(), node->strides(), sink);
  }
  const DLTensor& tensor = *subject.tensor;
  CopyAxes(tensor.ndim, tensor.shape, tensor.strides, node->shape(), node->strides());
  return true;
}

// Applies CANONICAL and FOLD_BYTE_OFFSET to a filled node.
DLBRIDGE_COLD void Reform(const Options& options, Node* node, DLTensor* tensor);
// Does `tensor` of major 1, handed back as it is, satisfy a consumer with these options?
bool Satisfies(const DLManagedTensorVersioned& tensor, const Options& options);

// Refuses dtype codes, device types and flag bits that legacy does not know, unless the options let
// them pass.
DLBridgeStatus CheckLegacyCodes(const DLTensor& tensor, uint64_t flags, const Options& options,
                                DLBridgeError* error);

// Refuses what legacy cannot say of the tensor, unless the options allow the loss.
DLBridgeStatus CheckLosses(const DLTensor& tensor, uint64_t flags, const Options& options,
                           DLBridgeError* error);

// Keeps the module loaded that releases `source`, of `kind`, where the options ask for it. The last
// thing that can fail: a source that is refused pins nothing.
DLBRIDGE_COLD DLBridgeStatus PinProducer(SourceKind kind, const void* source, DLBridgeError* error);
DLBRIDGE_INLINE DLBridgeStatus PinIfAsked(const Options& options, SourceKind kind,
                                          const void* source, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(!options.Has(DLBRIDGE_CONVERT_PIN_PRODUCER))) {
    return DLBRIDGE_OK;
  }
  return PinProducer(kind, source, error);
}

// What Commit does not need any more: takes a preparation back.
void Abandon(const Prepared& prepared);

// Carries a preparation out and returns what the caller gets: the original of kOriginal, or the
// node.
void* Commit(const Prepared& prepared, SourceKind kind, void* source);

// Both, for a single source: `*out` is what the caller gets.
DLBridgeStatus PinAndCommit(const Prepared& prepared, const Options& options, SourceKind kind,
                            void* source, void** out, DLBridgeError* error);

// What the entry points of upgrade and downgrade do behind their checks.
DLBridgeStatus PrepareUpgrade(DLManagedTensor* source, const Options& options, Prepared* out,
                              DLBridgeError* error);
DLBridgeStatus Upgrade(DLManagedTensor* source, const Options& options,
                       DLManagedTensorVersioned** out, DLBridgeError* error);
DLBridgeStatus Downgrade(DLManagedTensorVersioned* source, const Options& options,
                         DLManagedTensor** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_CONVERT_H_
