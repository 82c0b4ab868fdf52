// SPDX-License-Identifier: Apache-2.0
// Moves the elements of a checked layout from one memory to another, on any device.
#ifndef DLBRIDGE_SRC_NATIVE_TRANSFER_H_
#define DLBRIDGE_SRC_NATIVE_TRANSFER_H_

#include <cstdint>

#include "copy/copy.h"
#include "native/backend.h"

namespace dlbridge {

// One side of a transfer, and the offset of its first element.
struct Side {
  CopySide side;
  uint64_t offset;
  const Backend* backend;  // NULL: the host
};

// The parameters of one copy.
struct Transfer {
  const DLBridgeCopySpec* spec;
  Side from;
  Side to;
  const LayoutSnapshot* layout;  // of the source
  ItemWidths widths;
  ByteExtent reach;  // of the source, from its first element
  uint64_t packed;   // bytes of the copy
  bool staged;       // the copy goes through host memory
  bool* unfinished;  // a driver failed to wait for the copy
  bool* read_only;   // kernels must not write to the target
  StreamMark* mark;  // receives the end of the enqueued copy; NULL: wait for the copy
};

// Carries out a transfer. With a mark, the work is only enqueued; `mark` is written on success.
DLBridgeStatus Move(Transfer* transfer, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_TRANSFER_H_
