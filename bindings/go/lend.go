// SPDX-License-Identifier: Apache-2.0
// Go slices lent as tensors.

package dlbridge

import (
	"fmt"
	"runtime"
	"unsafe"
)

// LendSpec describes the tensor of a slice. The zero value lends all of it, as one axis, writable.
type LendSpec struct {
	Shape   []int64 // nil: one axis as long as the slice.
	Strides []int64 // In elements; nil: compact, last axis fastest.
	Offset  int64   // Elements from the start of the slice to element (0,...,0).
	// TensorFlags are the DLPack flags of the tensor.
	TensorFlags TensorFlags
	Version     Version // Newest DLPack that the consumer reads; the zero value: the default.
	// Release is called once after the last owner is released, on any thread; may be nil. Until then the
	// consumer may read the slice, and write to it unless FlagReadOnly is set.
	Release func()
}

// FromSlice lends a slice as a tensor on the CPU, without copying it: the slice is pinned until the
// last owner of the tensor is released. The layout must stay inside the slice.
func FromSlice[T Element](slice []T, spec LendSpec) (*Tensor, error) {
	wrapped, err := wrapOf(slice, spec)
	if err != nil {
		return nil, err
	}
	loan := lend(slice, spec.Release)
	result, err := wrapped.wrapWith(loan, false)
	if err != nil {
		loan.pins.Unpin()
		return nil, err
	}
	return newTensor(result), nil
}

// FromSliceLegacy is FromSlice for consumers that read legacy tensors only.
func FromSliceLegacy[T Element](slice []T, spec LendSpec) (*Legacy, error) {
	wrapped, err := wrapOf(slice, spec)
	if err != nil {
		return nil, err
	}
	loan := lend(slice, spec.Release)
	result, err := wrapped.wrapWith(loan, true)
	if err != nil {
		loan.pins.Unpin()
		return nil, err
	}
	return TakeLegacy(pointerOf(result.value)), nil
}

// wrapOf describes the memory of a slice, with its size as the limit of the layout.
func wrapOf[T Element](slice []T, spec LendSpec) (*WrapSpec, error) {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	if spec.Offset < 0 || spec.Offset > int64(len(slice)) {
		return nil, &Error{Status: StatusBounds, Rule: RuleBufferBounds, Axis: -1,
			Message: fmt.Sprintf("offset: expected 0 to %d, the length of the slice, found %d", len(slice),
				spec.Offset)}
	}
	shape := spec.Shape
	if shape == nil {
		shape = []int64{int64(len(slice)) - spec.Offset}
	}
	return &WrapSpec{
		Options:     WrapLimitBuffer,
		Buffer:      AddressOf(unsafe.Pointer(unsafe.SliceData(slice))),
		Shape:       shape,
		Strides:     spec.Strides,
		DType:       DTypeOf[T](),
		Device:      CPU,
		ByteOffset:  uint64(spec.Offset * size),
		BufferSize:  uint64(size) * uint64(len(slice)),
		TensorFlags: spec.TensorFlags,
		Version:     spec.Version,
	}, nil
}

// loan is a slice that is pinned while a tensor uses it.
type loan struct {
	pins    runtime.Pinner
	release func()
}

func lend[T Element](slice []T, release func()) *loan {
	l := &loan{release: release}
	if cap(slice) > 0 {
		l.pins.Pin(unsafe.SliceData(slice))
	}
	return l
}

func (l *loan) released(Buffer, Stream) {
	l.pins.Unpin()
	if l.release != nil {
		guard(l.release)
	}
}
