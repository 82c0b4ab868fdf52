// SPDX-License-Identifier: Apache-2.0
// Strided to compact copies: the part that all copies share, and the copy that conversions make on
// the host.
#ifndef DLBRIDGE_SRC_COPY_COPY_H_
#define DLBRIDGE_SRC_COPY_COPY_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "tensor/allocate.h"
#include "tensor/node.h"
#include "tensor/options.h"
#include "validate/rules.h"

namespace dlbridge {

// A private copy of shape and strides, so that the checked layout is the one that the copy uses. It
// allocates memory only for many axes.
class LayoutSnapshot {
 public:
  explicit LayoutSnapshot(int32_t ndim);  // not negative
  ~LayoutSnapshot();
  LayoutSnapshot(const LayoutSnapshot&) = delete;
  LayoutSnapshot& operator=(const LayoutSnapshot&) = delete;

  // Always checks the layout, also when validation is skipped: it decides which bytes are read.
  DLBridgeStatus Take(const Subject& subject, const Policy& policy, DLBridgeError* error);

  int32_t ndim() const { return ndim_; }
  const int64_t* shape() const { return shape_; }
  const int64_t* strides() const { return shape_ + ndim_; }

 private:
  static constexpr int32_t kInPlace = 16;

  int32_t ndim_;
  int64_t* shape_;  // NULL if there was no memory
  int64_t in_place_[2 * kInPlace];
};

// Widths of an element in bits.
struct ItemWidths {
  uint32_t element;  // without padding
  uint32_t from;     // from one element of the source to the next, with padding if flagged
  uint32_t to;       // the same of the target
};
ItemWidths WidthsOf(DLDataType dtype, uint64_t from_flags, uint64_t to_flags);

// Copies elements to compact memory. Element (0,...,0) is at `from`.
void CopyElements(const void* from, const LayoutSnapshot& layout, const ItemWidths& widths,
                  void* to);

// Copies the tensor of `subject` to compact memory of the options' allocator. The result is a new
// root with `flags`, its elements padded if `flags` has the padded flag. The source is not changed.
DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_COPY_H_
