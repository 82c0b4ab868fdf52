// SPDX-License-Identifier: Apache-2.0
// Tensors that the kit offers to a consumer, in guarded memory, and the count of their deleter's
// calls.
#ifndef DLBRIDGE_CONFORMANCE_OFFERED_H_
#define DLBRIDGE_CONFORMANCE_OFFERED_H_

#include <atomic>

#include "dlbridge/conformance.h"
#include "memory.h"
#include "values.h"

namespace dlbridge_conformance {

// The tensor to make; the defaults are a compact writable versioned tensor of shape [2, 3].
struct Plan {
  DLBridgeKind kind = DLBRIDGE_KIND_VERSIONED;
  DLPackVersion version = {1, 3};
  uint64_t flags = 0;
  DLDataType dtype = {kDLFloat, 32, 1};
  DLDevice device = {kDLCPU, 0};
  int32_t ndim = 2;
  const int64_t* shape = nullptr;  // NULL with shape_count 0: a NULL pointer
  size_t shape_count = 0;
  const int64_t* strides = nullptr;
  size_t strides_count = 0;
  uint64_t byte_offset = 0;
  const void* memory = nullptr;  // NULL: a NULL data pointer
  size_t bytes = 0;
  size_t origin = 0;  // from the start of the memory to `data`
  uint32_t features = 0;
  DLBridgeConformanceQueue* queue = nullptr;
  Side side = Side::kEnd;
  bool has_deleter = true;
  bool only_head = false;  // nothing after `flags` is readable
  bool read_only_struct = false;
  bool read_only_memory = false;
  bool reports_message = true;  // a rejection must have a message
};

struct Offered {
  void* tensor;
  DLTensor* fields;
  Plan plan;
  Region* head;
  Region* shape;
  Region* strides;
  Region* memory;
  bool seal;  // forbid every access after the deleter has run
  std::atomic<int> deletes;
  std::atomic<int> wrong_self;
};

// False without memory.
bool MakeOffered(const Plan& plan, bool seal, Offered* out);
// Frees what the deleter would free.
void FreeOffered(Offered* offered);
void CallOfferedDeleter(Offered* offered);

// C code that makes the same tensor.
void Reproduce(const Plan& plan, Snippet* out);

// A plan for the values of a sample, shape [2, 3].
Plan PlanOf(const Sample& sample);

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_OFFERED_H_
