// SPDX-License-Identifier: Apache-2.0
// A checked DLBridgePolicy, in the form that validation reads.
#ifndef DLBRIDGE_SRC_VALIDATE_POLICY_H_
#define DLBRIDGE_SRC_VALIDATE_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "describe/status.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge {

// No default values, so that a call with the default policy writes no field.
struct Policy {
  int32_t max_ndim;
  int32_t min_ndim;
  uint32_t options;
  int32_t level;
  bool demands;  // the policy demands more than DLPack does; false keeps the common path short
  int32_t contiguity;
  Version version;
  uint64_t alignment;
  uint64_t buffer_size;  // only read with LIMIT_BUFFER
  List<DLDevice> devices;
  List<DLDataType> dtypes;
  const int64_t* shape;  // `max_ndim` extents, or NULL

  bool Has(uint32_t option) const { return (options & option) != 0; }
};

constexpr Policy kDefaultPolicy = {DLBRIDGE_MAX_NDIM,
                                   0,
                                   0,
                                   DLBRIDGE_LEVEL_METADATA,
                                   false,
                                   DLBRIDGE_CONTIGUITY_ANY,
                                   kNewestVersion,
                                   0,
                                   0,
                                   {nullptr, 0},
                                   {nullptr, 0},
                                   nullptr};

// Checks `source` and fills `*out`.
DLBridgeStatus ReadPolicy(const DLBridgePolicy* source, Policy* out, DLBridgeError* error);

// Sets `*out` to the caller's policy, read into `*storage`, or to the default policy for NULL.
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

#endif  // DLBRIDGE_SRC_VALIDATE_POLICY_H_
