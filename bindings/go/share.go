// SPDX-License-Identifier: Apache-2.0
// Further owners of the same data.

package dlbridge

/*
#cgo noescape godl_share
#cgo nocallback godl_share
#cgo noescape godl_view
#cgo nocallback godl_view
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// Share makes another, independent owner of the same data; the data is released with its last owner.
// The tensor must be dlbridge-owned: a tensor that was only accepted is rejected (StatusForeignTensor).
func (t *Tensor) Share() (*Tensor, error) {
	out := new(Tensor)
	if err := t.share(out); err != nil {
		return nil, err
	}
	return out, nil
}

func (t *Tensor) share(out *Tensor) error {
	if err := t.use(); err != nil {
		return err
	}
	defer t.done()
	result := C.godl_share(t.number())
	if result.status != C.DLBRIDGE_OK {
		return failure(result)
	}
	out.become(result)
	return nil
}

// ViewSpec is a shape, strides and an offset on the data of a tensor. The zero value is its first
// element as a scalar.
type ViewSpec struct {
	DType   DType // With as many bits as the parent's; the zero value: the parent's.
	Shape   []int64
	Strides []int64 // In elements; nil: compact, last axis fastest.
	Offset  int64   // Elements from the parent's (0,...,0) to the view's.
}

// View is Share with another shape, strides and offset. Its elements must lie between the lowest and the
// highest element of the tensor.
func (t *Tensor) View(spec ViewSpec) (*Tensor, error) {
	out := new(Tensor)
	if err := t.view(spec, out); err != nil {
		return nil, err
	}
	return out, nil
}

func (t *Tensor) view(spec ViewSpec, out *Tensor) error {
	if err := sameLength(spec.Shape, spec.Strides); err != nil {
		return err
	}
	if err := t.use(); err != nil {
		return err
	}
	defer t.done()
	result := C.godl_view(t.number(), ndimOf(spec.Shape), extents(spec.Shape), extents(spec.Strides),
		C.int64_t(spec.Offset), spec.DType.c())
	if result.status != C.DLBRIDGE_OK {
		return failure(result)
	}
	out.become(result)
	return nil
}

// sameLength rejects strides that C would read past their end.
func sameLength(shape, strides []int64) error {
	if strides == nil || len(strides) == len(shape) {
		return nil
	}
	return invalid(fmt.Sprintf("strides: expected nil or as many as extents, %d, found %d", len(shape),
		len(strides)))
}

func ndimOf(shape []int64) C.int32_t {
	return C.int32_t(min(len(shape), math.MaxInt32))
}

// extents is a list for C; NULL for nil.
func extents(list []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(list)))
}
