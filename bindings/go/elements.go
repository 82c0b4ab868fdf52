// SPDX-License-Identifier: Apache-2.0
// Typed looks at the elements of a tensor.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"fmt"
	"iter"
	"unsafe"
)

// Elements is a typed look at a tensor that only reads: nothing of it leads to a slice or pointer
// that could be written through. It keeps the tensor's memory from being released, also when the
// tensor is closed meanwhile, until the look itself is closed. One goroutine at a time may use a
// look's Close; reading is for any number of goroutines.
type Elements[T Element] struct {
	owner   *owner
	base    unsafe.Pointer // Element (0,...,0); nil where there are no elements, and after Close.
	shape   []int
	strides []int // In bytes.
	length  int
	compact bool // C-contiguous.
}

// MutableElements is an [Elements] through which elements can be written, too.
type MutableElements[T Element] struct {
	Elements[T]
}

// Read looks at the elements of a tensor. It is refused where the dtype is not T's (RuleDTypeRefused),
// the CPU cannot read the memory (RuleDeviceRefused), or the elements are not aligned for Go
// (RuleAlignment).
func Read[T Element](t *Tensor) (*Elements[T], error) {
	e := new(Elements[T])
	if err := e.open(&t.owner, DTypeOf[T](), false); err != nil {
		return nil, err
	}
	return e, nil
}

// Write is Read for those who want to write: refused, besides, where the tensor says that it is
// read-only (RuleNotWritable), or where elements share memory (RuleSelfOverlap).
func Write[T Element](t *Tensor) (*MutableElements[T], error) {
	e := new(MutableElements[T])
	if err := e.open(&t.owner, DTypeOf[T](), true); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Elements[T]) open(o *owner, dtype DType, writable bool) error {
	if err := o.use(); err != nil {
		return err
	}
	if err := checkElements(o, dtype, writable); err != nil {
		o.done()
		return err
	}
	var zero T
	e.owner = o
	e.describe(&(*C.DLManagedTensorVersioned)(o.pointer()).dl_tensor, int(unsafe.Sizeof(zero)))
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
func (e *Elements[T]) describe(tensor *C.DLTensor, size int) {
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

// Close ends the look; reading through it panics from then on. Closing again does nothing. It always
// returns nil.
func (e *Elements[T]) Close() error {
	if e.owner != nil {
		e.base, e.length, e.shape, e.strides = nil, 0, nil, nil
		e.owner.done()
		e.owner = nil
	}
	return nil
}

// Len is the number of elements; 0 after Close.
func (e *Elements[T]) Len() int { return e.length }

// NDim is the number of axes.
func (e *Elements[T]) NDim() int { return len(e.shape) }

// Dim is the extent of an axis.
func (e *Elements[T]) Dim(axis int) int { return e.shape[axis] }

// Contiguous tells whether the elements lie compactly, the last axis fastest.
func (e *Elements[T]) Contiguous() bool { return e.compact }

// At is the element at an index for each axis; it panics where an index is out of range, or their
// number is not that of the axes.
func (e *Elements[T]) At(index ...int) T {
	return *(*T)(e.element(index))
}

func (e *Elements[T]) element(index []int) unsafe.Pointer {
	if len(index) != len(e.shape) || e.base == nil {
		e.refuse(len(index))
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

// Index is the element at a place in the order of the last axis fastest, from 0 to Len: the fast way
// through a contiguous tensor. It panics where the place is out of range.
func (e *Elements[T]) Index(place int) T {
	return *(*T)(e.place(place))
}

func (e *Elements[T]) place(place int) unsafe.Pointer {
	if uint(place) >= uint(e.length) {
		outOfRange(place, e.length)
	}
	if e.compact {
		var zero T
		return unsafe.Add(e.base, place*int(unsafe.Sizeof(zero)))
	}
	return e.strided(place)
}

func (e *Elements[T]) strided(place int) unsafe.Pointer {
	offset := 0
	for axis := len(e.shape) - 1; axis >= 0; axis-- {
		extent := e.shape[axis]
		offset += place % extent * e.strides[axis]
		place /= extent
	}
	return unsafe.Add(e.base, offset)
}

// All goes through the elements, last axis fastest, with their places.
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
// of target.
func (e *Elements[T]) CopyTo(target []T) int {
	count := min(e.length, len(target))
	if e.compact {
		return copy(target, unsafe.Slice((*T)(e.base), count))
	}
	for place := range count {
		target[place] = e.Index(place)
	}
	return count
}

// Set writes the element at an index for each axis; it panics as [Elements.At] does.
func (e *MutableElements[T]) Set(value T, index ...int) {
	*(*T)(e.element(index)) = value
}

// SetIndex writes the element at a place; see [Elements.Index].
func (e *MutableElements[T]) SetIndex(place int, value T) {
	*(*T)(e.place(place)) = value
}

// Slice is the memory of a contiguous tensor itself; StatusPolicy with RuleContiguity where it is not
// contiguous. The slice must not be used after the look was closed: nothing can stop it.
func (e *MutableElements[T]) Slice() ([]T, error) {
	if e.owner == nil {
		return nil, ErrClosed
	}
	if !e.compact {
		return nil, &Error{Status: StatusPolicy, Rule: RuleContiguity, Axis: -1,
			Message: "a slice needs contiguous elements: copy them, or go through them by index"}
	}
	return unsafe.Slice((*T)(e.base), e.length), nil
}

// refuse panics for At, out of line.
func (e *Elements[T]) refuse(indices int) {
	if e.owner == nil {
		panic(ErrClosed)
	}
	if indices != len(e.shape) {
		panic(fmt.Sprintf("dlbridge: %d indices for %d axes", indices, len(e.shape)))
	}
}

// outOfRange panics as a slice would.
func outOfRange(index, length int) {
	panic(fmt.Sprintf("dlbridge: index %d out of range with length %d", index, length))
}
