// SPDX-License-Identifier: Apache-2.0
// Ownership of a managed tensor: the part that Legacy, Foreign and Tensor have in common.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Bits of owner.state; above them the number of uses in progress.
const (
	stateClosed    uint32 = 1 << iota // Close was called: the last use releases.
	stateTaken                        // A call is consuming the tensor, or has consumed it.
	stateAuto                         // AutoClose was called: there is a cleanup.
	stateReleasing                    // Of a batch that C is going to release; see bridge.h.
	stateUse                          // One use.
)

// owner holds a managed tensor of C. The state ensures that the tensor is released once, not while a
// call uses it, and not after a call has consumed it. It has no pointers, so that a batch of owners
// costs the garbage collector nothing.
type owner struct {
	address uintptr // Of the managed tensor, in C's memory.
	state   atomic.Uint32
	kind    Kind
}

// cleanups maps the address of each owner with stateAuto to its cleanup.
var cleanups = struct {
	sync.Mutex
	of map[uintptr]*autoClose
}{of: map[uintptr]*autoClose{}}

// autoClose is a pending AutoClose.
type autoClose struct {
	cleanup runtime.Cleanup
	owner   uintptr // Its address, where another owner may be later.
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

// take begins a call that consumes the tensor. If that call fails, cancelTake must follow; if it succeeds,
// the state stays.
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

// cancelTake ends a take whose call failed. A Close in the meantime takes effect now.
func (o *owner) cancelTake() {
	if o.state.Load()&stateAuto != 0 {
		onHeap(o).startCleanup()
	}
	if o.state.And(^stateTaken)&stateClosed != 0 {
		o.release()
	}
}

// onHeap returns an owner with stateAuto, which is on the heap since AutoClose. It hides that cancelTake
// keeps the owner, so that the compiler does not move every owner to the heap.
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

// releaseUnreachable releases the tensor of an owner that became unreachable.
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

// number is the pointer as an integer, which cgo does not check.
func (o *owner) number() C.uintptr_t {
	return C.uintptr_t(o.address)
}

// pointer is the managed tensor.
func (o *owner) pointer() unsafe.Pointer {
	return pointerOf(C.uintptr_t(o.address))
}

// Close releases the tensor: its deleter runs now, or when the last use of it in another goroutine or
// through open elements ends. Closing again, or after the tensor was consumed, does nothing. It always
// returns nil, and may be called from any goroutine.
func (o *owner) Close() error {
	if o.close() {
		o.release()
	}
	return nil
}

// close reports whether the caller must release the tensor, since no use is in progress.
func (o *owner) close() bool {
	state := o.state.Or(stateClosed)
	return state&^stateAuto == 0
}

// AutoClose lets the garbage collector close the tensor some time after it became unreachable, unless it
// was closed before. It costs more than Close, and the collector does not know how much memory a tensor
// holds. Tensors that are made of this one do not inherit it.
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
// consumed; nil after that. With AutoClose it is valid while the owner is reachable: see
// [runtime.KeepAlive].
func (o *owner) Pointer() unsafe.Pointer {
	if o.state.Load()&(stateClosed|stateTaken) != 0 {
		return nil
	}
	return o.pointer()
}

// Detach transfers ownership of the managed tensor to the caller, who must release it ([Release]) or
// pass it to a consumer that releases it.
func (o *owner) Detach() (unsafe.Pointer, error) {
	if err := o.take(); err != nil {
		return nil, err
	}
	return o.pointer(), nil
}
