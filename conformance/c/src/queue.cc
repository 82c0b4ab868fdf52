// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

// Work may submit more work, so the list is read anew for each task. A queue that waits for itself,
// or in a circle, finds its marks already passed.
void DLBridgeConformanceQueue::RunUntil(size_t mark) {
  while (done < mark && done < tasks.size()) {
    const dlbridge_conformance::Task task = tasks[done];
    ++done;
    if (task.work != nullptr) {
      task.work(task.context);
    } else {
      task.other->RunUntil(task.mark);
    }
  }
}

extern "C" {

int32_t dlbridge_conformance_queue_submit(DLBridgeConformanceQueue* queue, void (*work)(void*),
                                          void* context) {
  return work != nullptr && queue->tasks.Add({work, context, nullptr, 0}) ? 0 : -1;
}

int32_t dlbridge_conformance_queue_wait(DLBridgeConformanceQueue* queue,
                                        DLBridgeConformanceQueue* other) {
  return queue->tasks.Add({nullptr, nullptr, other, other->tasks.size()}) ? 0 : -1;
}

void dlbridge_conformance_queue_synchronize(DLBridgeConformanceQueue* queue) {
  queue->RunUntil(queue->tasks.size());
}

}  // extern "C"
