// SPDX-License-Identifier: Apache-2.0
#include "protocol/plain.h"

namespace dlbridge {

template <class Managed>
DLBridgeStatus CheckCopies(Node* node, bool has_strides, DLBridgeError* error) {
  Subject subject = {StructOf<Managed>(node)->dl_tensor, node->flags, {0, 0}, 0, false};
  if (!has_strides) {
    subject.tensor.strides = nullptr;
  }
  FirstBroken sink(error);
  CheckLayout(subject, kDefaultPolicy, node->shape(), node->strides(), &sink);
  return sink.status();
}

template DLBridgeStatus CheckCopies<DLManagedTensor>(Node*, bool, DLBridgeError*);
template DLBridgeStatus CheckCopies<DLManagedTensorVersioned>(Node*, bool, DLBridgeError*);

}  // namespace dlbridge
