// SPDX-License-Identifier: Apache-2.0
// A DLBridgePolicy, checked and brought into the form that validation reads.
#ifndef DLBRIDGE_SRC_POLICY_H_
#define DLBRIDGE_SRC_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "version.h"

namespace dlbridge {

// No default values: where the default policy stands in, nothing of this is to be written.
struct Policy {
  int32_t max_ndim;
  uint32_t flags;
  int32_t level;
  bool demands;  // anything beyond what DLPack itself asks: keeps the common path short
  int32_t contiguity;
  Version version;
  uint64_t alignment;
  uint64_t buffer_size;
  const DLDevice* devices;
  size_t device_count;
  const DLDataType* dtypes;
  size_t dtype_count;

  bool Has(uint32_t flag) const { return (flags & flag) != 0; }
};

constexpr Policy kDefaultPolicy = {64,
                                   0,
                                   DLBRIDGE_LEVEL_METADATA,
                                   false,
                                   DLBRIDGE_CONTIGUITY_ANY,
                                   kNewestVersion,
                                   0,
                                   UINT64_MAX,
                                   nullptr,
                                   0,
                                   nullptr,
                                   0};

// Checks `source` and fills `*out`.
DLBridgeStatus ReadPolicy(const DLBridgePolicy* source, Policy* out, DLBridgeError* error);

// The policy behind a pointer of the caller's: the default one where it is NULL, else `*storage`.
inline DLBridgeStatus ResolvePolicy(const DLBridgePolicy* source, Policy* storage,
                                    const Policy** out, DLBridgeError* error) {
  *out = &kDefaultPolicy;
  if (source == nullptr) {
    return DLBRIDGE_OK;
  }
  *out = storage;
  return ReadPolicy(source, storage, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_POLICY_H_
