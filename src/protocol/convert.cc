// SPDX-License-Identifier: Apache-2.0
#include "protocol/convert.h"

#include "describe/boundary.h"
#include "describe/required.h"
#include "protocol/module.h"

namespace dlbridge {
namespace {

// Writes compact strides where strides have no meaning: on empty tensors and on axes of extent 1.
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

// NULL data stays NULL. Only the address of an empty tensor can wrap: others were checked.
void FoldByteOffset(DLTensor* tensor) {
  if (tensor->data != nullptr) {
    tensor->data =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor->data) + tensor->byte_offset);
  }
  tensor->byte_offset = 0;
}

// The producer may write to its struct meanwhile.
template <class Managed>
const void* DeleterOf(const Managed& tensor) {
  return reinterpret_cast<const void*>(Load(&tensor.deleter));
}

// The function that a root calls to release its source; NULL if it is a function of this library.
const void* ReleaserOf(Node* root) {
  switch (root->source_kind) {
    case SourceKind::kLegacy:
      return DeleterOf(*static_cast<DLManagedTensor*>(root->source));
    case SourceKind::kVersioned:
      return DeleterOf(*static_cast<DLManagedTensorVersioned*>(root->source));
    case SourceKind::kWrapped:
      return reinterpret_cast<const void*>(static_cast<WrapTail*>(root->tail())->release);
    case SourceKind::kAllocation:
      break;
  }
  return reinterpret_cast<const void*>(static_cast<AllocationTail*>(root->tail())->deallocate);
}

// The releaser of any tensor, dlbridge-owned or foreign.
template <class Managed>
const void* ReleaserOf(const Managed& tensor) {
  const Node* node = OwnNode(&tensor);
  return node != nullptr ? ReleaserOf(node->root) : DeleterOf(tensor);
}

bool HasSameArray(int32_t ndim, const int64_t* a, const int64_t* b) {
  for (int32_t i = 0; i < ndim; ++i) {
    if (Load(a + i) != b[i]) {
      return false;
    }
  }
  return true;
}

// If the source has no strides, the node's must be the compact ones that were filled in.
bool HasSameStrides(const DLTensor& source, Node* node) {
  if (source.strides != nullptr) {
    return HasSameArray(node->ndim, source.strides, node->strides());
  }
  int64_t shape[DLBRIDGE_MAX_NDIM];
  int64_t strides[DLBRIDGE_MAX_NDIM];
  CopyAxes(node->ndim, node->shape(), nullptr, shape, strides);
  return HasSameArray(node->ndim, strides, node->strides());
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

DLBridgeStatus CheckFold(const Subject& subject, const Options& options, DLBridgeError* error) {
  const int32_t type = TypeOf(subject.tensor.device);
  if (!options.Has(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET) ||
      DeviceTypeOf(type).data == DataIs::kAddress) {
    return DLBRIDGE_OK;
  }
  return Reject(error, {DLBRIDGE_RULE_OFFSET_FOLD, kNoAxis, 0, static_cast<uint32_t>(type)});
}

bool IsSameTensor(const DLTensor& source, Node* node, const DLTensor& own) {
  return source.data == own.data && Packed(source.device) == Packed(own.device) &&
         source.ndim == node->ndim && Packed(source.dtype) == Packed(own.dtype) &&
         source.byte_offset == own.byte_offset && (source.ndim == 0 || source.shape != nullptr) &&
         HasSameArray(node->ndim, source.shape, node->shape()) && HasSameStrides(source, node);
}

bool LabelFits(const Subject& subject, const Options& options) {
  return subject.version <= options.reads ||
         (options.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN) &&
          RequiredVersion(subject.tensor, subject.flags) > options.version);
}

bool Satisfies(const Subject& subject, const Options& options) {
  if (!LabelFits(subject, options) || CheckSource(subject, options, nullptr) != DLBRIDGE_OK) {
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
      // `node` is not NULL: the preparation succeeded.
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
      node->wraps_source = false;
      Replace(node, prepared.old);
      break;
    case Prepared::How::kOriginal:
      return TakeSource(prepared.old);
    case Prepared::How::kAsIs:
      return source;
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
