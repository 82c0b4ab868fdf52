// SPDX-License-Identifier: Apache-2.0
// Fast paths of the conversions: a source that dlbridge did not create, with options that are
// constants, and most likely compact. They only accept: what they do not recognise takes the
// general path from its beginning. They fill the node while they read, so that few values are alive
// at once.
#ifndef DLBRIDGE_SRC_PROTOCOL_PLAIN_H_
#define DLBRIDGE_SRC_PROTOCOL_PLAIN_H_

#include <cstdint>
#include <cstdlib>

#include "describe/required.h"
#include "protocol/convert.h"
#include "support/load.h"
#include "tensor/node.h"
#include "validate/rules.h"

namespace dlbridge {

constexpr uint64_t kMaxAxes = DLBRIDGE_MAX_NDIM;

// Not a status: the general path decides.
constexpr DLBridgeStatus kUndecided = -1;

// True if the dtype breaks no rule of the default policy and `kVersion` knows its code.
template <Version kVersion>
DLBRIDGE_INLINE bool HasPlainDtype(const Head& head) {
  constexpr uint64_t kFree = FreeDtypesKnownTo(kVersion);
  static_assert(kMaxLanes == 0x7fff, "more lanes have the highest bit of the word");
  const uint32_t code = head.code();
  return (DLBRIDGE_LIKELY(IsIn(kFree, code)) ||
          (code < DtypesKnownTo(kVersion) && FixedBits(head.code()) == head.bits())) &&
         static_cast<int32_t>(head.dtype) >= 0 && head.bits() != 0 && head.lanes() != 0;
}

// True if the head breaks no rule for a consumer of kVersion; without kValidates, if a node can be
// made of it.
template <Version kVersion, bool kValidates>
DLBRIDGE_INLINE bool IsPlain(const Head& head) {
  if (head.ndim > kMaxAxes) {
    return false;
  }
  const bool dtype =
      kValidates ? HasPlainDtype<kVersion>(head) : head.code() < DtypesKnownTo(kVersion);
  return dtype && IsIn(DevicesKnownTo(kVersion), head.device_type) &&
         (!kValidates || head.device_id >= 0);
}

// True if the bytes of `count` adjacent elements fit; `count` is what ScanPlain returns. Elements
// that are not whole bytes are not recognised.
DLBRIDGE_INLINE bool FitsPlain(const Head& head, const void* data, uint64_t byte_offset,
                               int64_t count) {
  Head again = head;
  DLBRIDGE_FORGET(again.dtype);
  const uint32_t item_bits = again.bits() * again.lanes();
  int64_t bytes = 0;
  uint64_t end = 0;
  return count >= 0 && item_bits % 8 == 0 &&
         !MulOverflows(count, static_cast<int64_t>(item_bits / 8), &bytes) &&
         (count == 0 ||
          (data != nullptr && !AddOverflows(reinterpret_cast<uintptr_t>(data), byte_offset, &end) &&
           !AddOverflows(end, static_cast<uint64_t>(bytes), &end)));
}

// The struct of a node.
template <class Managed>
DLBRIDGE_INLINE Managed* StructOf(Node* node) {
  return reinterpret_cast<Managed*>(node);
}

// Validates the copies in a node of a tensor that is not recognised, by the default policy. Managed
// is the type of the node's struct.
template <class Managed>
DLBRIDGE_NOINLINE DLBridgeStatus CheckCopies(Node* node, bool has_strides, DLBridgeError* error);
extern template DLBridgeStatus CheckCopies<DLManagedTensor>(Node*, bool, DLBridgeError*);
extern template DLBridgeStatus CheckCopies<DLManagedTensorVersioned>(Node*, bool, DLBridgeError*);

DLBRIDGE_INLINE Node* AllocatePlain(const Head& head) {
  return static_cast<Node*>(std::malloc(NodeSize(head.ndim)));
}

// Copies a source with a plain head to the struct of `node`, and its arrays to the arrays of the
// node. With kValidates, the copies are validated by the default policy.
template <class Managed, bool kValidates>
DLBRIDGE_INLINE DLBridgeStatus FillPlain(const DLTensor& source, const Head& head,
                                         bool needs_strides, Node* node, DLBridgeError* error) {
  auto* shape_out = reinterpret_cast<int64_t*>(node + 1);
  int64_t* strides_out = shape_out + head.ndim;
  DLTensor* out = &StructOf<Managed>(node)->dl_tensor;
  void* data = Load(&source.data);
  const uint64_t byte_offset = Load(&source.byte_offset);
  StoreHead(head, out);
  out->data = data;
  out->byte_offset = byte_offset;
  out->shape = shape_out;
  out->strides = strides_out;
  if (DLBRIDGE_UNLIKELY(head.ndim == 0)) {
    if (!kValidates) {
      return DLBRIDGE_OK;
    }
    if (data == nullptr) {
      return kUndecided;
    }
    return FitsPlain(head, data, byte_offset, 1) ? DLBRIDGE_OK
                                                 : CheckCopies<Managed>(node, true, error);
  }
  const int64_t* shape = Load(&source.shape);
  const int64_t* strides = Load(&source.strides);
  if (DLBRIDGE_UNLIKELY(shape == nullptr || (needs_strides && strides == nullptr))) {
    return kUndecided;
  }
  if (!kValidates) {
    CopyAxes(static_cast<int32_t>(head.ndim), shape, strides, shape_out, strides_out);
    return DLBRIDGE_OK;
  }
  const int64_t count =
      ScanPlain<true>(static_cast<int32_t>(head.ndim), shape, strides, shape_out, strides_out);
  return DLBRIDGE_LIKELY(FitsPlain(head, data, byte_offset, count))
             ? DLBRIDGE_OK
             : CheckCopies<Managed>(node, strides != nullptr, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_PROTOCOL_PLAIN_H_
