// SPDX-License-Identifier: Apache-2.0
// Typed looks at the elements of a tensor.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Elements is a typed look at a tensor that only reads: nothing of it leads to a slice or pointer
// that could be written through. It keeps the tensor's memory from being released, also when the
// tensor is closed meanwhile, until the look itself is closed. Any number of goroutines may read; Close
// must not run at the same time as another method, which would be a data race and might read memory that
// was released. A copy of a look is the same look.
type Elements[T Element] struct {
	*look
}

// MutableElements is an [Elements] through which elements can be written, too.
type MutableElements[T Element] struct {
	Elements[T]
}

// look is what Elements of any type have. Copies of an Elements share it, so that it is closed once.
type look struct {
	owner   *owner
	base    unsafe.Pointer // Element (0,...,0); nil where there are no elements, and after Close.
	shape   []int
	strides []int // In bytes.
	length  int
	compact bool // C-contiguous.
	closed  atomic.Bool
}

// sliced has the looks that have given a slice and are still open: the collector, which does not see
// that the slice leads to their tensor, must not close that.
var sliced sync.Map

// Read looks at the elements of a tensor. It is refused where the dtype is not T's (RuleDTypeRefused),
// the CPU cannot read the memory (RuleDeviceRefused), the elements are not aligned for Go
// (RuleAlignment), or the tensor has a flag that nobody knows (RuleFlagsUnknown).
func Read[T Element](t *Tensor) (*Elements[T], error) {
	e := &Elements[T]{new(look)}
	if err := e.open(&t.owner, DTypeOf[T](), false); err != nil {
		return nil, err
	}
	return e, nil
}

// Write is Read for those who want to write: refused, besides, where the tensor says that it is
// read-only (RuleNotWritable), or where elements share memory (RuleSelfOverlap).
func Write[T Element](t *Tensor) (*MutableElements[T], error) {
	e := &MutableElements[T]{Elements[T]{new(look)}}
	if err := e.open(&t.owner, DTypeOf[T](), true); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *look) open(o *owner, dtype DType, writable bool) error {
	if err := o.use(); err != nil {
		return err
	}
	if err := checkElements(o, dtype, writable); err != nil {
		o.done()
		return err
	}
	e.owner = o
	e.describe(&(*C.DLManagedTensorVersioned)(o.pointer()).dl_tensor, int(dtype.Bits/8))
	return nil
}

func checkElements(o *owner, dtype DType, writable bool) error {
	var wanted C.int32_t
	if writable {
		wanted = 1
	}
	// Complex numbers are aligned as their parts are.
	alignment := uint64(dtype.Bits / 8)
	if dtype.Code == CodeComplex {
		alignment /= 2
	}
	return check(C.godl_check_elements(o.number(), dtype.c(), C.uint64_t(alignment), wanted))
}

// describe takes the layout of a tensor that was validated: nothing here overflows.
func (e *look) describe(tensor *C.DLTensor, size int) {
	shape := listOf(tensor.shape, tensor.ndim)
	strides := listOf(tensor.strides, tensor.ndim)
	axes := make([]int, 2*len(shape))
	e.shape, e.strides = axes[:len(shape)], axes[len(shape):]
	e.length, e.compact = 1, true
	for i := len(shape) - 1; i >= 0; i-- {
		stride := e.length
		if tensor.strides != nil {
			stride = int(strides[i])
		}
		e.shape[i] = int(shape[i])
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
	e.base = addressOf(dataOf(tensor) + uintptr(tensor.byte_offset))
}

// addressOf is the address of memory that is not Go's to move.
func addressOf(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Close ends the look; reading or writing an element through it panics with [ErrClosed] from then on,
// and it has no elements. Closing again does nothing. It always returns nil.
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

// Dim is the extent of an axis; it panics where there is no such axis.
func (e *look) Dim(axis int) int { return e.shape[axis] }

// Contiguous tells whether the elements lie compactly, the last axis fastest.
func (e *look) Contiguous() bool { return e.compact }

// element is the address for At; the look must be kept alive until it was used.
func (e *look) element(index []int) unsafe.Pointer {
	if len(index) != len(e.shape) || e.base == nil {
		e.refuse(index)
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
		e.refusePlace(place)
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

// At is the element at an index for each axis; it panics where an index is out of range, or their
// number is not that of the axes.
func (e *Elements[T]) At(index ...int) T {
	value := *(*T)(e.element(index))
	runtime.KeepAlive(e.look)
	return value
}

// Index is the element at a place in the order of the last axis fastest, from 0 to Len: the fast way
// through a contiguous tensor. It panics where the place is out of range.
func (e *Elements[T]) Index(place int) T {
	var zero T
	value := *(*T)(e.place(place, unsafe.Sizeof(zero)))
	runtime.KeepAlive(e.look)
	return value
}

// All goes through the elements, last axis fastest, with their places; there are none after Close.
func (e *Elements[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for place := range e.length {
			if !yield(place, e.Index(place)) {
				return
			}
		}
	}
}

// CopyTo copies elements, last axis fastest, and returns how many: the smaller of Len and the length
// of target. It panics after Close.
func (e *Elements[T]) CopyTo(target []T) int {
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

// Set writes the element at an index for each axis; it panics as [Elements.At] does.
func (e *MutableElements[T]) Set(value T, index ...int) {
	*(*T)(e.element(index)) = value
	runtime.KeepAlive(e.look)
}

// SetIndex writes the element at a place; see [Elements.Index].
func (e *MutableElements[T]) SetIndex(place int, value T) {
	*(*T)(e.place(place, unsafe.Sizeof(value))) = value
	runtime.KeepAlive(e.look)
}

// Slice is the memory of a contiguous tensor itself; StatusPolicy with RuleContiguity where it is not
// contiguous. The slice must not be used after the look was closed: nothing can stop it. A look that
// has given a slice must be closed: the garbage collector does not close its tensor (AutoClose) before.
func (e *MutableElements[T]) Slice() ([]T, error) {
	if e.closed.Load() {
		return nil, ErrClosed
	}
	if !e.compact {
		return nil, &Error{Status: StatusPolicy, Rule: RuleContiguity, Axis: -1,
			Message: "a slice needs contiguous elements: copy them, or go through them by index"}
	}
	sliced.Store(e.look, struct{}{})
	return unsafe.Slice((*T)(e.base), e.length), nil
}

func (e *look) mustBeOpen() {
	if e.closed.Load() {
		panic(ErrClosed)
	}
}

// refuse panics for At, out of line: it says what is wrong with an index that may be right but for an
// axis without extent.
func (e *look) refuse(index []int) {
	e.mustBeOpen()
	if len(index) != len(e.shape) {
		panic(fmt.Sprintf("dlbridge: %d indices for %d axes", len(index), len(e.shape)))
	}
	panic("dlbridge: no element: an axis has no extent")
}

func (e *look) refusePlace(place int) {
	e.mustBeOpen()
	outOfRange(place, e.length)
}

// outOfRange panics as a slice would.
func outOfRange(index, length int) {
	panic(fmt.Sprintf("dlbridge: index %d out of range with length %d", index, length))
}
