// SPDX-License-Identifier: Apache-2.0
// The tables that tools/tables.py writes from conformance/checks.toml and conformance/hostile.json.
#ifndef DLBRIDGE_CONFORMANCE_CHECKS_H_
#define DLBRIDGE_CONFORMANCE_CHECKS_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/conformance.h"

namespace dlbridge_conformance {

struct Check {
  const char* name;
  const char* group;
  const char* title;
  const char* specification;
  int32_t severity;
  bool producer;  // the side that is checked
};

// A broken tensor. Arrays are NULL where the tensor's pointer is.
struct Hostile {
  const char* name;
  const char* rule;
  bool must_reject;  // no array can represent it
  bool null_data;
  DLBridgeKind kind;
  DLPackVersion version;
  uint64_t flags;
  int32_t device_type;
  int32_t device_id;
  DLDataType dtype;
  int32_t ndim;
  uint64_t byte_offset;
  const int64_t* shape;
  const int64_t* strides;
  size_t shape_count;
  size_t strides_count;
};

extern const Check kChecks[];
extern const size_t kCheckCount;
extern const Hostile kHostile[];
extern const size_t kHostileCount;

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_CHECKS_H_
