// SPDX-License-Identifier: Apache-2.0
// Queues of the emulated device.

package conformance

// #include "bridge.h"
import "C"

import "runtime/cgo"

// A Queue is a queue of work on an emulated device in host memory. Nothing runs before Synchronize:
// missing order between two queues shows as wrong values every time. The kit owns the queue, which
// lives until the end of the check. A nil Queue is none.
type Queue struct{ pointer *C.DLBridgeConformanceQueue }

func queueOf(pointer *C.DLBridgeConformanceQueue) *Queue {
	if pointer == nil {
		return nil
	}
	return &Queue{pointer}
}

// Submit appends work, which runs once, on the thread that synchronizes. A panic in it ends the process
// of the check.
func (queue *Queue) Submit(work func()) {
	if C.godlc_submit(queue.pointer, C.uintptr_t(cgo.NewHandle(work))) != 0 {
		panic("conformance: the queue has no memory")
	}
}

// Wait orders later work of the queue after all work that other has now.
func (queue *Queue) Wait(other *Queue) {
	if C.dlbridge_conformance_queue_wait(queue.pointer, other.pointer) != 0 {
		panic("conformance: the queue has no memory")
	}
}

// Synchronize runs all work of the queue, and the work that it waits for.
func (queue *Queue) Synchronize() { C.dlbridge_conformance_queue_synchronize(queue.pointer) }

//export godlcWork
func godlcWork(work C.uintptr_t) {
	handle := cgo.Handle(work)
	run := handle.Value().(func())
	handle.Delete()
	run()
}
