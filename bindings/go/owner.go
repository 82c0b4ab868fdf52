// SPDX-License-Identifier: Apache-2.0
// Who owns a managed tensor, and until when: the part that Legacy, Foreign and Tensor share.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Bits of owner.state; above them the number of uses that are going on.
const (
	stateClosed uint32 = 1 << iota // Close was called: the last use releases.
	stateTaken                     // A call is consuming the tensor, or has done so.
	stateAuto                      // AutoClose was called, so that there is a cleanup.
	stateUse                       // One use.
)

// owner holds a managed tensor of C. The state sees to it that the tensor is released once, not
// while a call looks at it, and not after a call has consumed it.
type owner struct {
	pointer unsafe.Pointer
	// Written once, by the use that set stateAuto; read by who takes or releases, when no use is left.
	cleanup *runtime.Cleanup
	state   atomic.Uint32
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

// take begins a call that consumes the tensor; where that call fails, giveBack must follow, else
// gone.
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
			return nil
		}
	}
}

// giveBack ends a take that came to nothing. A Close meanwhile is made good now.
func (o *owner) giveBack() {
	if o.state.And(^stateTaken)&stateClosed != 0 {
		o.release()
	}
}

// gone ends a take that succeeded: the tensor is somebody else's, and the state stays.
func (o *owner) gone() {
	o.stopCleanup()
}

func (o *owner) stopCleanup() {
	if o.cleanup != nil {
		o.cleanup.Stop()
	}
}

func (o *owner) release() {
	o.stopCleanup()
	C.godl_release(o.number(), C.DLBridgeKind(o.kind))
}

// number is the pointer as cgo need not check it: it leads to C's memory.
func (o *owner) number() C.uintptr_t {
	return C.uintptr_t(uintptr(o.pointer))
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
// on the garbage collector, which does not know how large the memory behind a tensor is.
func (o *owner) AutoClose() error {
	if err := o.use(); err != nil {
		return err
	}
	defer o.done()
	if o.state.Or(stateAuto)&stateAuto == 0 {
		cleanup := runtime.AddCleanup(o, releaseUnreachable, unreachable{o.pointer, o.kind})
		o.cleanup = &cleanup
	}
	return nil
}

// unreachable is what is left of an owner that nobody can reach any more.
type unreachable struct {
	pointer unsafe.Pointer
	kind    Kind
}

func releaseUnreachable(left unreachable) {
	C.godl_release(C.uintptr_t(uintptr(left.pointer)), C.DLBridgeKind(left.kind))
}

// Pointer is the managed tensor itself, borrowed: valid until the owner is closed, detached or
// consumed; nil after that.
func (o *owner) Pointer() unsafe.Pointer {
	if o.state.Load()&(stateClosed|stateTaken) != 0 {
		return nil
	}
	return o.pointer
}

// Detach hands the managed tensor to the caller, who must see to its release, or pass it on to a
// consumer that does.
func (o *owner) Detach() (unsafe.Pointer, error) {
	if err := o.take(); err != nil {
		return nil, err
	}
	o.gone()
	return o.pointer, nil
}
