// SPDX-License-Identifier: Apache-2.0
#include "tensor/owned.h"

#include "describe/boundary.h"

namespace dlbridge {
namespace {

DLBridgeStatus RejectFlags(uint64_t recorded, uint64_t found, DLBridgeError* error) {
  char problem[160];
  TextWriter(problem, sizeof problem)
      .String("of a dlbridge-owned tensor were changed: only READ_ONLY may be added, expected ")
      .Hex(recorded)
      .String(", found ")
      .Hex(found);
  return RejectArgument(error, "flags", problem);
}

}  // namespace

DLBridgeStatus RejectSharing(const Node* node, DLBridgeError* error) {
  if (node == nullptr) {
    return RejectStatus(error, DLBRIDGE_ERROR_FOREIGN_TENSOR, "tensor",
                        "is not dlbridge-owned: call dlbridge_import first");
  }
  return Reject(error, {DLBRIDGE_RULE_IN_STORAGE, kNoAxis, 0, 0});
}

bool AddsReadOnly(Node* node, uint64_t flags) {
  const uint64_t changed = flags ^ Load(&node->flags);
  if (changed != (flags & kReadOnly)) {
    return false;
  }
  __atomic_fetch_or(&node->flags, kReadOnly, __ATOMIC_RELAXED);
  return true;
}

DLBridgeStatus RejectChanged(Node* node, const DLTensor& tensor, uint64_t flags,
                             DLPackVersion label, DLBridgeError* error) {
  if (tensor.ndim != node->ndim) {
    char problem[120];
    TextWriter(problem, sizeof problem)
        .String("of a dlbridge-owned tensor was changed: expected ")
        .Signed(node->ndim);
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "ndim", problem, tensor.ndim);
  }
  if (!HasOwnArrays(node, tensor)) {
    return RejectArgument(error, tensor.shape != node->shape() ? "shape" : "strides",
                          "of a dlbridge-owned tensor must point to the array that the library "
                          "made: use dlbridge_view for another layout");
  }
  if (label.major != kMajor || label.minor != node->minor) {
    char problem[80];
    TextWriter(problem, sizeof problem)
        .String("of a dlbridge-owned tensor was changed: expected 1.")
        .Unsigned(node->minor);
    return RejectVersion(error, "version", problem, label);
  }
  return RejectFlags(node->flags, flags, error);
}

}  // namespace dlbridge
