// SPDX-License-Identifier: Apache-2.0
// Allocators that the caller provides.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"sync"
	"unsafe"
)

// AllocateFunc returns `bytes` (never 0) of memory of device, aligned to alignment (a power of two), or
// nil. The memory must not be on the Go heap, unless it is pinned. Work on stream may use it; with the
// zero Stream any code may use it from now on. A panic counts as nil; see [OnPanic].
type AllocateFunc func(device Device, bytes, alignment uint64, stream Stream) unsafe.Pointer

// DeallocateFunc receives the same values, once, on any thread and possibly much later. The memory is
// unused after the work that is on stream now; with the zero Stream it is unused now.
type DeallocateFunc func(device Device, memory unsafe.Pointer, bytes, alignment uint64, stream Stream)

// Allocator allocates and frees memory with two Go functions.
type Allocator struct {
	allocate   AllocateFunc
	deallocate DeallocateFunc

	mutex  sync.Mutex
	handle cgo.Handle
	users  int // Calls and blocks that still need the handle.
	closed bool
}

// NewAllocator makes an allocator of two functions. deallocate may also be called after Close.
func NewAllocator(allocate AllocateFunc, deallocate DeallocateFunc) (*Allocator, error) {
	if allocate == nil || deallocate == nil {
		return nil, invalid("NewAllocator: both functions must be set")
	}
	a := &Allocator{allocate: allocate, deallocate: deallocate}
	a.handle = cgo.NewHandle(a)
	return a, nil
}

// Blocks is the number of allocated blocks and of calls in progress.
func (a *Allocator) Blocks() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.users
}

// Close ends the allocator: no call accepts it from then on. Its function still deallocates its memory.
// Closing again does nothing. It always returns nil.
func (a *Allocator) Close() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.closed {
		a.closed = true
		a.forget()
	}
	return nil
}

// forget deletes the handle when C can no longer use it.
func (a *Allocator) forget() {
	if a.closed && a.users == 0 && a.handle != 0 {
		a.handle.Delete()
	}
}

// begin returns the handle that C calls back with, 0 for no allocator; end must follow.
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
		return 0, invalid("allocator: expected one made by NewAllocator")
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
