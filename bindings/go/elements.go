// SPDX-License-Identifier: Apache-2.0
// Typed elements of a tensor.

package dlbridge

/*
#cgo noescape godl_open
#cgo nocallback godl_open
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Elements reads the elements of a tensor. It gives no slice or pointer to them, and Go converts it
// neither to another type of element nor to [MutableElements]: a read-only tensor cannot be written
// without package unsafe. It keeps the tensor's memory from being released, also when the tensor is
// closed meanwhile, until it is closed itself. Any number of goroutines may read. Close must not run at
// the same time as another method: that is a data race and might read released memory. Copies of an
// Elements are closed together.
type Elements[T Element] struct {
	reading[T]
}

// MutableElements reads and writes the elements of a tensor; see [Elements].
type MutableElements[T Element] struct {
	_ [0]writing
	reading[T]
}

// writing keeps Go from converting an Elements to a MutableElements.
type writing struct{}

// reading is the part that both have in common. It differs for each T, so that Go converts no Elements
// to one of another type, and it has no exported name, so that no literal makes one of the other.
type reading[T Element] struct {
	*look
}

// look is the part that Elements of all types have in common. Copies of an Elements share it, so that it
// is closed once.
type look struct {
	owner   *owner
	base    unsafe.Pointer // Element (0,...,0); nil if there are no elements, and after Close.
	shape   []int
	strides []int // In bytes.
	length  int
	compact bool // C-contiguous.
	closed  atomic.Bool
}

// sliced has the looks that returned a slice and are still open. The garbage collector does not see that
// the slice needs their tensor, and must not close it.
var sliced sync.Map

// Read returns the elements of a tensor for reading. It rejects a tensor whose dtype is not T's
// (RuleDTypeRejected), whose memory the CPU cannot read (RuleDeviceRejected), whose elements are not
// aligned for Go (RuleAlignment), or that has an unknown flag (RuleFlagsUnknown).
func Read[T Element](t *Tensor) (*Elements[T], error) {
	e := &Elements[T]{reading[T]{new(look)}}
	if err := e.open(&t.owner, DTypeOf[T](), false); err != nil {
		return nil, err
	}
	return e, nil
}

// Write returns the elements of a tensor for reading and writing. It rejects all that [Read] rejects,
// and a tensor that is read-only (RuleNotWritable) or has elements that share memory (RuleSelfOverlap).
func Write[T Element](t *Tensor) (*MutableElements[T], error) {
	e := &MutableElements[T]{reading: reading[T]{new(look)}}
	if err := e.open(&t.owner, DTypeOf[T](), true); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *look) open(o *owner, dtype DType, writable bool) error {
	if err := o.use(); err != nil {
		return err
	}
	var layout C.godl_look
	if err := openElements(o, dtype, writable, &layout); err != nil {
		o.done()
		return err
	}
	e.owner = o
	e.describe(&layout, int(dtype.Bits/8))
	return nil
}

// openElements validates the tensor and copies its layout.
func openElements(o *owner, dtype DType, writable bool, out *C.godl_look) error {
	var wanted C.int32_t
	if writable {
		wanted = 1
	}
	// Complex numbers are aligned as their parts are.
	alignment := uint64(dtype.Bits / 8)
	if dtype.Code == CodeComplex {
		alignment /= 2
	}
	return check(C.godl_open(o.number(), dtype.c(), C.uint64_t(alignment), wanted, out))
}

// describe stores a validated layout, so nothing here overflows.
func (e *look) describe(layout *C.godl_look, size int) {
	ndim := int(layout.ndim)
	axes := make([]int, 2*ndim)
	e.shape, e.strides = axes[:ndim], axes[ndim:]
	e.length, e.compact = 1, true
	for i := ndim - 1; i >= 0; i-- {
		stride := e.length
		if layout.has_strides != 0 {
			stride = int(layout.strides[i])
		}
		e.shape[i] = int(layout.shape[i])
		e.strides[i] = stride * size
		if e.shape[i] > 1 && stride != e.length {
			e.compact = false
		}
		e.length *= e.shape[i]
	}
	if e.length == 0 {
		e.compact = true
		return
	}
	e.base = addressOf(uintptr(layout.address))
}

// addressOf is the address of memory that Go does not move.
func addressOf(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Close ends the access: reading or writing an element then panics with [ErrClosed], and Len is 0.
// Closing again does nothing. It always returns nil.
func (e *look) Close() error {
	if e.closed.CompareAndSwap(false, true) {
		e.base, e.length, e.shape, e.strides = nil, 0, nil, nil
		sliced.Delete(e)
		e.owner.done()
	}
	return nil
}

// Len is the number of elements; 0 after Close.
func (e *look) Len() int { return e.length }

// NDim is the number of axes; 0 after Close.
func (e *look) NDim() int { return len(e.shape) }

// Dim is the extent of an axis; it panics if there is no such axis.
func (e *look) Dim(axis int) int { return e.shape[axis] }

// Contiguous reports whether the elements lie compactly, the last axis fastest.
func (e *look) Contiguous() bool { return e.compact }

// element is the address for At; the caller keeps the look alive while it uses the address.
func (e *look) element(index []int) unsafe.Pointer {
	if len(index) != len(e.shape) || e.base == nil {
		e.rejectIndex(index)
	}
	offset := 0
	for axis, i := range index {
		if uint(i) >= uint(e.shape[axis]) {
			outOfRange(i, e.shape[axis])
		}
		offset += i * e.strides[axis]
	}
	return unsafe.Add(e.base, offset)
}

// place is the address for Index, likewise.
func (e *look) place(place int, size uintptr) unsafe.Pointer {
	if uint(place) >= uint(e.length) {
		e.rejectPlace(place)
	}
	if e.compact {
		return unsafe.Add(e.base, place*int(size))
	}
	return e.strided(place)
}

func (e *look) strided(place int) unsafe.Pointer {
	offset := 0
	for axis := len(e.shape) - 1; axis >= 0; axis-- {
		extent := e.shape[axis]
		offset += place % extent * e.strides[axis]
		place /= extent
	}
	return unsafe.Add(e.base, offset)
}

// At is the element at one index for each axis; it panics if an index is out of range or the number
// of indices is not the number of axes.
func (e *reading[T]) At(index ...int) T {
	value := *(*T)(e.element(index))
	runtime.KeepAlive(e.look)
	return value
}

// Index is the element at a place below Len, in the order of the last axis fastest. It is fast on
// contiguous tensors. It panics if the place is out of range.
func (e *reading[T]) Index(place int) T {
	var zero T
	value := *(*T)(e.place(place, unsafe.Sizeof(zero)))
	runtime.KeepAlive(e.look)
	return value
}

// All iterates over the elements, last axis fastest, with their places; there are none after Close.
func (e *reading[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for place := range e.length {
			if !yield(place, e.Index(place)) {
				return
			}
		}
	}
}

// CopyTo copies elements, last axis fastest, and returns their number: the smaller of Len and the
// length of target. It panics after Close.
func (e *reading[T]) CopyTo(target []T) int {
	e.mustBeOpen()
	count := min(e.length, len(target))
	if e.compact {
		copy(target, unsafe.Slice((*T)(e.base), count))
	} else {
		for place := range count {
			target[place] = e.Index(place)
		}
	}
	runtime.KeepAlive(e.look)
	return count
}

// Set writes the element at one index for each axis; it panics as At does.
func (e *MutableElements[T]) Set(value T, index ...int) {
	*(*T)(e.element(index)) = value
	runtime.KeepAlive(e.look)
}

// SetIndex writes the element at a place; it panics as Index does.
func (e *MutableElements[T]) SetIndex(place int, value T) {
	*(*T)(e.place(place, unsafe.Sizeof(value))) = value
	runtime.KeepAlive(e.look)
}

// ReadOnly is the same elements for reading only. Both are closed together.
func (e *MutableElements[T]) ReadOnly() *Elements[T] { return &Elements[T]{e.reading} }

// Slice is the memory of a contiguous tensor itself; StatusPolicy with RuleContiguity if it is not
// contiguous. The slice must not be used after Close, which Go cannot check. Elements that returned a
// slice must be closed: AutoClose does not release their tensor before.
func (e *MutableElements[T]) Slice() ([]T, error) {
	if e.closed.Load() {
		return nil, ErrClosed
	}
	if !e.compact {
		return nil, &Error{Status: StatusPolicy, Rule: RuleContiguity, Axis: -1,
			Message: "Slice: expected contiguous elements; use CopyTo, All or At, or copy the tensor first"}
	}
	sliced.Store(e.look, struct{}{})
	return unsafe.Slice((*T)(e.base), e.length), nil
}

func (e *look) mustBeOpen() {
	if e.closed.Load() {
		panic(ErrClosed)
	}
}

// rejectIndex panics for At: the number of indices is wrong, or an axis has no extent.
func (e *look) rejectIndex(index []int) {
	e.mustBeOpen()
	if len(index) != len(e.shape) {
		panic(fmt.Sprintf("dlbridge: %d indices for %d axes", len(index), len(e.shape)))
	}
	panic("dlbridge: no element: an axis has no extent")
}

func (e *look) rejectPlace(place int) {
	e.mustBeOpen()
	outOfRange(place, e.length)
}

// outOfRange panics as a slice would.
func outOfRange(index, length int) {
	panic(fmt.Sprintf("dlbridge: index %d out of range with length %d", index, length))
}
