// SPDX-License-Identifier: Apache-2.0
// Who owns a managed tensor, and until when: the part that Legacy, Foreign and Tensor share.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Bits of owner.state; above them the number of uses that are going on.
const (
	stateClosed    uint32 = 1 << iota // Close was called: the last use releases.
	stateTaken                        // A call is consuming the tensor, or has done so.
	stateAuto                         // AutoClose was called, so that there is a cleanup.
	stateReleasing                    // Of a batch that C is about to release; see bridge.h.
	stateUse                          // One use.
)

// owner holds a managed tensor of C. The state sees to it that the tensor is released once, not
// while a call looks at it, and not after a call has consumed it. It has no pointers that the garbage
// collector would follow, so that a batch of owners costs it nothing.
type owner struct {
	address uintptr // The managed tensor, which is not Go's.
	state   atomic.Uint32
	kind    Kind
}

// cleanups has the cleanup of each owner with stateAuto, by the address of the owner.
var cleanups = struct {
	sync.Mutex
	of map[uintptr]*autoClose
}{of: map[uintptr]*autoClose{}}

// autoClose is one AutoClose that may still have to close something.
type autoClose struct {
	cleanup runtime.Cleanup
	owner   uintptr // Its address; the owner may be gone, and another there.
	address uintptr
	kind    Kind
}

// use begins a use; done ends it.
func (o *owner) use() error {
	for {
		state := o.state.Load()
		if state&(stateClosed|stateTaken) != 0 {
			return ErrClosed
		}
		if o.state.CompareAndSwap(state, state+stateUse) {
			return nil
		}
	}
}

func (o *owner) done() {
	if o.state.Add(^(stateUse-1))&^stateAuto == stateClosed {
		o.release()
	}
}

// take begins a call that consumes the tensor. Where that call fails, giveBack must follow; where it
// succeeds, the tensor is somebody else's and the state stays.
func (o *owner) take() error {
	for {
		state := o.state.Load()
		if state&(stateClosed|stateTaken) != 0 {
			return ErrClosed
		}
		if state >= stateUse {
			return ErrInUse
		}
		if o.state.CompareAndSwap(state, state|stateTaken) {
			if state&stateAuto != 0 {
				o.stopCleanup()
			}
			return nil
		}
	}
}

// giveBack ends a take that came to nothing. A Close meanwhile is made good now.
func (o *owner) giveBack() {
	if o.state.Load()&stateAuto != 0 {
		onHeap(o).startCleanup()
	}
	if o.state.And(^stateTaken)&stateClosed != 0 {
		o.release()
	}
}

// onHeap is an owner with stateAuto, which AutoClose has brought to the heap: the compiler need not
// do so for every owner that is given back.
func onHeap(o *owner) *owner {
	return (*owner)(pointerOf(C.uintptr_t(uintptr(unsafe.Pointer(o)))))
}

func (o *owner) startCleanup() {
	entry := &autoClose{owner: uintptr(unsafe.Pointer(o)), address: o.address, kind: o.kind}
	entry.cleanup = runtime.AddCleanup(o, releaseUnreachable, entry)
	cleanups.Lock()
	defer cleanups.Unlock()
	cleanups.of[entry.owner] = entry
}

func (o *owner) stopCleanup() {
	cleanups.Lock()
	defer cleanups.Unlock()
	key := uintptr(unsafe.Pointer(o))
	cleanups.of[key].cleanup.Stop()
	delete(cleanups.of, key)
}

// releaseUnreachable closes what nobody can reach any more.
func releaseUnreachable(left *autoClose) {
	left.forget()
	C.godl_release(C.uintptr_t(left.address), C.DLBridgeKind(left.kind))
}

func (left *autoClose) forget() {
	cleanups.Lock()
	defer cleanups.Unlock()
	if cleanups.of[left.owner] == left {
		delete(cleanups.of, left.owner)
	}
}

func (o *owner) release() {
	if o.state.Load()&stateAuto != 0 {
		o.stopCleanup()
	}
	C.godl_release(o.number(), C.DLBridgeKind(o.kind))
}

// number is the pointer as cgo need not check it: it leads to C's memory.
func (o *owner) number() C.uintptr_t {
	return C.uintptr_t(o.address)
}

// pointer is the managed tensor as C's functions and Go's unsafe code take it.
func (o *owner) pointer() unsafe.Pointer {
	return pointerOf(C.uintptr_t(o.address))
}

// Close gives up the tensor; its deleter runs now, or when the last use ends that is going on in
// another goroutine or through open elements. Closing again, or after the tensor was consumed, does
// nothing. It always returns nil, and may be called from any goroutine.
func (o *owner) Close() error {
	if o.close() {
		o.release()
	}
	return nil
}

// close tells whether the caller must release the tensor, which nothing uses.
func (o *owner) close() bool {
	state := o.state.Or(stateClosed)
	return state&^stateAuto == 0
}

// AutoClose closes the tensor some time after it has become unreachable, should nobody have closed it
// by then. It costs more than Close, which remains the way to release at a known time, and it counts
// on the garbage collector, which does not know how large the memory behind a tensor is. What is made of
// the tensor does not inherit it.
func (o *owner) AutoClose() error {
	if err := o.use(); err != nil {
		return err
	}
	defer o.done()
	if o.state.Or(stateAuto)&stateAuto == 0 {
		o.startCleanup()
	}
	return nil
}

// Pointer is the managed tensor itself, borrowed: valid until the owner is closed, detached or
// consumed; nil after that. Of a tensor that closes itself (AutoClose) it is valid while the owner is
// reachable: see [runtime.KeepAlive].
func (o *owner) Pointer() unsafe.Pointer {
	if o.state.Load()&(stateClosed|stateTaken) != 0 {
		return nil
	}
	return o.pointer()
}

// Detach hands the managed tensor to the caller, who must see to its release, or pass it on to a
// consumer that does.
func (o *owner) Detach() (unsafe.Pointer, error) {
	if err := o.take(); err != nil {
		return nil, err
	}
	return o.pointer(), nil
}
