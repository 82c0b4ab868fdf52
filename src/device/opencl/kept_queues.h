// SPDX-License-Identifier: Apache-2.0
// Queues for copies that have none: one per context and device is kept for the next copy.
//
// A queue keeps its context alive, so a kept queue must not outlive the last object of the
// application in that context. It is therefore tied to a buffer that the application copied, which
// keeps the context alive as well: when the driver destroys that buffer, the queue is released.
#ifndef DLBRIDGE_SRC_DEVICE_OPENCL_KEPT_QUEUES_H_
#define DLBRIDGE_SRC_DEVICE_OPENCL_KEPT_QUEUES_H_

#include "device/opencl/driver.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::opencl {

// An in-order queue that one thread uses alone.
struct QueueLease {
  Queue queue;
  uint64_t slot;  // 0: the queue is not kept
};

// Takes the kept queue of the context and device, or creates a queue. A new one is kept if `anchor`
// is a buffer of the context and there is room; NULL: it is not kept.
DLBridgeStatus TakeQueue(Context context, Device device, Mem anchor, QueueLease* out,
                         DLBridgeError* error);

// Ends the lease. A queue that is not `usable` any more is released.
DLBridgeStatus GiveQueue(const QueueLease& lease, bool usable, DLBridgeError* error);

}  // namespace dlbridge::opencl

#endif  // DLBRIDGE_SRC_DEVICE_OPENCL_KEPT_QUEUES_H_
