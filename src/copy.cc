// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <cstring>

#include "support/boundary.h"

namespace dlbridge {
namespace {

// A tensor of 2^63 elements has at most 62 axes longer than 1.
constexpr int kMaxAxes = 64;

// The axes longer than 1, from the slowest, with those that continue each other joined.
struct Walk {
  int64_t extent[kMaxAxes];
  int64_t stride[kMaxAxes];
  int axes;
};

Walk MakeWalk(int32_t ndim, const int64_t* shape, const int64_t* strides) {
  Walk walk;
  walk.axes = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] == 1) {
      continue;
    }
    const int last = walk.axes - 1;
    int64_t joined = 0;
    if (last >= 0 && !MulOverflows(strides[i], shape[i], &joined) && walk.stride[last] == joined) {
      walk.extent[last] *= shape[i];
      walk.stride[last] = strides[i];
    } else {
      walk.extent[walk.axes] = shape[i];
      walk.stride[walk.axes] = strides[i];
      ++walk.axes;
    }
  }
  if (walk.axes == 0) {
    walk.extent[0] = 1;
    walk.stride[0] = 1;
    walk.axes = 1;
  }
  return walk;
}

// Goes through all rows, a row being the last axis, and tells the offset of the first element of
// each.
class Rows {
 public:
  explicit Rows(const Walk& walk) : walk_(walk) {}
  int64_t length() const { return walk_.extent[walk_.axes - 1]; }
  int64_t stride() const { return walk_.stride[walk_.axes - 1]; }
  int64_t offset() const { return static_cast<int64_t>(offset_); }

  // False behind the last row.
  bool Next() {
    for (int i = walk_.axes - 2; i >= 0; --i) {
      offset_ += Unsigned(walk_.stride[i]);
      if (++index_[i] < walk_.extent[i]) {
        return true;
      }
      offset_ -= Unsigned(walk_.stride[i]) * Unsigned(walk_.extent[i]);
      index_[i] = 0;
    }
    return false;
  }

 private:
  static uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

  const Walk& walk_;
  int64_t index_[kMaxAxes] = {};
  uint64_t offset_ = 0;  // wraps between two rows, where a step behind the end may not fit
};

void CopyBytes(const Walk& walk, int64_t item, const char* from, char* to) {
  Rows rows(walk);
  const auto size = static_cast<size_t>(item);
  do {
    const char* at = from + rows.offset() * item;
    if (rows.stride() == 1) {
      std::memcpy(to, at, size * static_cast<size_t>(rows.length()));
      to += item * rows.length();
      continue;
    }
    for (int64_t i = 0; i < rows.length(); ++i, to += item) {
      std::memcpy(to, at + i * rows.stride() * item, size);
    }
  } while (rows.Next());
}

// Ors `bits` bits from one place to another; both count from the start of their memory.
void OrBits(int64_t bits, const unsigned char* from, Wide source, unsigned char* to, Wide target) {
  for (int64_t bit = 0; bit < bits; ++bit, ++source, ++target) {
    const unsigned value = (from[static_cast<int64_t>(source >> 3)] >> (source & 7)) & 1U;
    to[static_cast<int64_t>(target >> 3)] |= static_cast<unsigned char>(value << (target & 7));
  }
}

// Elements of odd widths, packed or padded on either side; `to` was zeroed.
void CopyBits(const Walk& walk, int64_t bits, int64_t from_item, int64_t to_item,
              const unsigned char* from, unsigned char* to) {
  Rows rows(walk);
  Wide target = 0;
  do {
    for (int64_t i = 0; i < rows.length(); ++i, target += to_item) {
      const Wide source = static_cast<Wide>(rows.offset() + i * rows.stride()) * from_item;
      OrBits(bits, from, source, to, target);
    }
  } while (rows.Next());
}

void CopyElements(const DLTensor& from, uint64_t from_flags, const int64_t* strides, Node* to) {
  const auto* source = reinterpret_cast<const unsigned char*>(
      reinterpret_cast<uintptr_t>(from.data) + from.byte_offset);
  auto* target = static_cast<unsigned char*>(to->versioned.dl_tensor.data);
  const Walk walk = MakeWalk(to->ndim, to->shape(), strides);
  const uint32_t from_item = ItemBits(from.dtype, from_flags);
  const uint32_t to_item = ItemBits(from.dtype, to->flags);
  if (from_item == to_item && from_item % 8 == 0) {
    CopyBytes(walk, from_item / 8, reinterpret_cast<const char*>(source),
              reinterpret_cast<char*>(target));
    return;
  }
  const auto& tail = *static_cast<AllocationTail*>(to->tail());
  std::memset(target, 0, static_cast<size_t>(tail.bytes));
  CopyBits(walk, ItemBits(from.dtype, 0), from_item, to_item, source, target);
}

}  // namespace

DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error) {
  const DLTensor& from = *subject.tensor;
  const int32_t type = TypeOf(from.device);
  if (DeviceTypeOf(type).readable != DLBRIDGE_YES) {
    return Refuse(error, {DLBRIDGE_RULE_COPY_DEVICE, kNoAxis, 0, static_cast<uint32_t>(type)});
  }
  // Shape and strides as they are checked are what is copied by: a private snapshot of both.
  Node* snapshot = AllocateNode(from.ndim, 0);
  if (snapshot == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(snapshot, from.ndim, subject.flags);
  FirstBroken sink(error);
  CheckLayout<true>(subject, *options.policy, snapshot->shape(), snapshot->strides(), &sink);
  DLBridgeStatus status = sink.status();
  Node* node = nullptr;
  if (status == DLBRIDGE_OK) {
    const NewTensor tensor = {
        from.ndim, snapshot->shape(), MakeDevice(kDLCPU, 0), from.dtype,
        flags,     options.version,   kDefaultAlignment,     options.allocator};
    status = AllocateTensor(tensor, &node, error);
  }
  if (status == DLBRIDGE_OK) {
    if (node->versioned.dl_tensor.data != nullptr) {
      CopyElements(from, subject.flags, snapshot->strides(), node);
    }
    *out = node;
  }
  DiscardNode(snapshot);
  return status;
}

}  // namespace dlbridge
