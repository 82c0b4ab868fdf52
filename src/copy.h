// SPDX-License-Identifier: Apache-2.0
// Strided to compact: what every copy shares, and the copy of the converters, which is on the host.
#ifndef DLBRIDGE_SRC_COPY_H_
#define DLBRIDGE_SRC_COPY_H_

#include <cstdint>

#include "allocate.h"
#include "dlbridge/dlbridge.h"
#include "node.h"
#include "options.h"
#include "validate.h"

namespace dlbridge {

// A private snapshot of shape and strides, in a node that is nobody's: what is checked is what is
// copied by. The layout is checked whatever the options say, since it decides which bytes are read.
// To be given back by DiscardNode.
DLBridgeStatus SnapshotLayout(const Subject& subject, const Policy& policy, Node** out,
                              DLBridgeError* error);

// The bits of each element on their way.
struct ItemWidths {
  uint32_t element;  // that mean something
  uint32_t from;     // from one to the next, padded where the flags say so
  uint32_t to;
};
ItemWidths WidthsOf(DLDataType dtype, uint64_t from_flags, uint64_t to_flags);

// Copies elements whose first is at `from`, laid out as the snapshot says, to compact memory.
void CopyElements(const void* from, Node* snapshot, const ItemWidths& widths, void* to);

// Copies the tensor of `subject` to compact memory of the options' allocator, as a root of its own
// with `flags`; elements are padded there where `flags` says so. The source stays as it is.
DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_H_
