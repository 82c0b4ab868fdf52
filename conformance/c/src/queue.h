// SPDX-License-Identifier: Apache-2.0
#ifndef DLBRIDGE_CONFORMANCE_QUEUE_H_
#define DLBRIDGE_CONFORMANCE_QUEUE_H_

#include "dlbridge/conformance.h"
#include "text.h"

namespace dlbridge_conformance {

// Work, or the mark of another queue up to which that one must have run first.
struct Task {
  void (*work)(void*);
  void* context;
  DLBridgeConformanceQueue* other;
  size_t mark;
};

}  // namespace dlbridge_conformance

struct DLBridgeConformanceQueue {
  dlbridge_conformance::List<dlbridge_conformance::Task> tasks;
  size_t done = 0;

  // Runs the first `mark` tasks, each once.
  void RunUntil(size_t mark);
};

#endif  // DLBRIDGE_CONFORMANCE_QUEUE_H_
