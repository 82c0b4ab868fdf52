// SPDX-License-Identifier: Apache-2.0
// The quick decision on the kind of a tensor. identify.cc has the whole one.
#ifndef DLBRIDGE_SRC_PROTOCOL_IDENTIFY_H_
#define DLBRIDGE_SRC_PROTOCOL_IDENTIFY_H_

#include "dlbridge/dlbridge.h"
#include "support/load.h"
#include "tensor/node.h"

namespace dlbridge {

// Versions above this are not expected. The lower half of a pointer is hardly ever that small.
constexpr uint32_t kMaxPlausibleVersion = 255;

// True if the first eight bytes can be a version. A versioned tensor never has major 0, and a data
// pointer hardly ever has two halves that small.
constexpr bool CanBeVersion(DLPackVersion version) {
  return version.major != 0 && version.major <= kMaxPlausibleVersion &&
         version.minor <= kMaxPlausibleVersion;
}

// True if the tensor surely is a legacy one that dlbridge did not create. With KIND_UNKNOWN it
// loads a part of the bytes that identify.cc loads.
DLBRIDGE_INLINE bool IsForeignLegacy(const void* tensor, DLBridgeKind kind) {
  const auto* legacy = static_cast<const DLManagedTensor*>(tensor);
  if (kind == DLBRIDGE_KIND_LEGACY) {
    return OwnNode(legacy) == nullptr;
  }
  const auto* versioned = static_cast<const DLManagedTensorVersioned*>(tensor);
  return kind == DLBRIDGE_KIND_UNKNOWN && !CanBeVersion(LoadVersion(versioned->version)) &&
         Load(&versioned->deleter) != DeleteVersioned && Load(&legacy->deleter) != DeleteLegacy;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_PROTOCOL_IDENTIFY_H_
