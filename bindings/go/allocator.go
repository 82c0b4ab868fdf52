// SPDX-License-Identifier: Apache-2.0
// Allocators: memory of the caller's choice.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"sync"
)

// Allocator gives memory for tensors, by two functions of Go's.
type Allocator struct {
	allocate   func(device Device, bytes, alignment uint64) uintptr
	deallocate func(device Device, memory uintptr, bytes, alignment uint64)

	mutex  sync.Mutex
	handle cgo.Handle
	users  int // Calls and blocks that still need the handle.
	closed bool
}

// NewAllocator makes an allocator of two functions. allocate gets the bytes wanted, never 0, and a
// power of two; it returns the address of memory of the device that is not the Go heap's (or is
// pinned), or 0. deallocate gets the same values back, once, on any thread and possibly much later,
// also after Close. A panic of allocate counts as 0; see [OnPanic].
func NewAllocator(allocate func(device Device, bytes, alignment uint64) uintptr,
	deallocate func(device Device, memory uintptr, bytes, alignment uint64)) (*Allocator, error) {
	if allocate == nil || deallocate == nil {
		return nil, invalid("an allocator needs both of its functions")
	}
	a := &Allocator{allocate: allocate, deallocate: deallocate}
	a.handle = cgo.NewHandle(a)
	return a, nil
}

// Blocks is how many blocks are out, and calls under way.
func (a *Allocator) Blocks() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.users
}

// Close gives the allocator up: no call takes it any more. What it gave is deallocated by its
// functions all the same. Closing again does nothing. It always returns nil.
func (a *Allocator) Close() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.closed {
		a.closed = true
		a.forget()
	}
	return nil
}

// forget drops the handle once nobody can come with it any more.
func (a *Allocator) forget() {
	if a.closed && a.users == 0 && a.handle != 0 {
		a.handle.Delete()
	}
}

// begin is the number that C calls back with, 0 for no allocator; end must follow.
func (a *Allocator) begin() (C.uintptr_t, error) {
	if a == nil {
		return 0, nil
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.closed {
		return 0, ErrClosed
	}
	if a.handle == 0 {
		return 0, invalid("the allocator was not made by NewAllocator")
	}
	a.users++
	return C.uintptr_t(a.handle), nil
}

func (a *Allocator) end() {
	if a != nil {
		a.count(-1)
	}
}

func (a *Allocator) count(change int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.users += change
	a.forget()
}
