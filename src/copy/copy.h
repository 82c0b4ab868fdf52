// SPDX-License-Identifier: Apache-2.0
// Strided to compact: what every copy shares, and the copy of the converters, which is on the host.
#ifndef DLBRIDGE_SRC_COPY_COPY_H_
#define DLBRIDGE_SRC_COPY_COPY_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "tensor/allocate.h"
#include "tensor/node.h"
#include "tensor/options.h"
#include "validate/rules.h"

namespace dlbridge {

// A private snapshot of shape and strides, without an allocation where they are few: what is
// checked is what is copied by.
class LayoutSnapshot {
 public:
  explicit LayoutSnapshot(int32_t ndim);  // not negative
  ~LayoutSnapshot();
  LayoutSnapshot(const LayoutSnapshot&) = delete;
  LayoutSnapshot& operator=(const LayoutSnapshot&) = delete;

  // Checks the layout whatever options say, since it decides which bytes are read.
  DLBridgeStatus Take(const Subject& subject, const Policy& policy, DLBridgeError* error);

  int32_t ndim() const { return ndim_; }
  const int64_t* shape() const { return shape_; }
  const int64_t* strides() const { return shape_ + ndim_; }

 private:
  static constexpr int32_t kInPlace = 16;

  int32_t ndim_;
  int64_t* shape_;  // NULL where there was no memory
  int64_t in_place_[2 * kInPlace];
};

// The bits of each element on their way.
struct ItemWidths {
  uint32_t element;  // that mean something
  uint32_t from;     // from one to the next, padded where the flags say so
  uint32_t to;
};
ItemWidths WidthsOf(DLDataType dtype, uint64_t from_flags, uint64_t to_flags);

// Copies elements whose first is at `from`, laid out as a snapshot says, to compact memory.
void CopyElements(const void* from, const LayoutSnapshot& layout, const ItemWidths& widths,
                  void* to);

// Copies the tensor of `subject` to compact memory of the options' allocator, as a root of its own
// with `flags`; elements are padded there where `flags` says so. The source stays as it is.
DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_COPY_H_
