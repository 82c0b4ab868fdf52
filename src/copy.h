// SPDX-License-Identifier: Apache-2.0
// Strided to compact, on the host.
#ifndef DLBRIDGE_SRC_COPY_H_
#define DLBRIDGE_SRC_COPY_H_

#include <cstdint>

#include "allocate.h"
#include "dlbridge/dlbridge.h"
#include "node.h"
#include "options.h"
#include "validate.h"

namespace dlbridge {

// Copies the tensor of `subject` to compact memory of the options' allocator, as a root of its own
// with `flags`; elements are padded there where `flags` says so. The source stays as it is. The
// layout is checked whatever the options say, since it decides which bytes are read.
DLBridgeStatus CopyToNode(const Subject& subject, const Options& options, uint64_t flags,
                          Node** out, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_H_
