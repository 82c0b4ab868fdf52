// SPDX-License-Identifier: Apache-2.0
// The fields of a validated tensor.

package dlbridge

// #include "bridge.h"
import "C"

import "unsafe"

// Info is a copy of the fields of a tensor.
type Info struct {
	Version    Version
	Flags      TensorFlags
	Data       uintptr // Address or handle; element (0,...,0) is ByteOffset after an address.
	Device     Device
	DType      DType
	Shape      []int64
	Strides    []int64 // In elements; nil if an accepted tensor has none.
	ByteOffset uint64
}

// Info copies the fields of the tensor.
func (t *Tensor) Info() (Info, error) {
	if err := t.use(); err != nil {
		return Info{}, err
	}
	defer t.done()
	versioned := t.c()
	info := infoOf(&versioned.dl_tensor)
	info.Version = versionOf(versioned.version)
	info.Flags = TensorFlags(versioned.flags)
	return info, nil
}

// Shape copies the extents.
func (t *Tensor) Shape() ([]int64, error) {
	if err := t.use(); err != nil {
		return nil, err
	}
	defer t.done()
	return axes(t.c().dl_tensor.shape, t.c().dl_tensor.ndim), nil
}

func (t *Tensor) c() *C.DLManagedTensorVersioned {
	return (*C.DLManagedTensorVersioned)(t.pointer())
}

func infoOf(tensor *C.DLTensor) Info {
	return Info{
		Data:       dataOf(tensor),
		Device:     deviceOf(tensor.device),
		DType:      dtypeOf(tensor.dtype),
		Shape:      axes(tensor.shape, tensor.ndim),
		Strides:    axes(tensor.strides, tensor.ndim),
		ByteOffset: uint64(tensor.byte_offset),
	}
}

// dataOf is the data pointer as an integer: it may be a handle, which is not a Go pointer.
func dataOf(tensor *C.DLTensor) uintptr {
	return *(*uintptr)(unsafe.Pointer(&tensor.data))
}

// listOf is a C array; nil for NULL.
func listOf(list *C.int64_t, ndim C.int32_t) []int64 {
	if list == nil {
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(list)), ndim)
}

// axes copies a C array; nil for NULL, empty if there are no axes.
func axes(list *C.int64_t, ndim C.int32_t) []int64 {
	if list == nil && ndim > 0 {
		return nil
	}
	return append(make([]int64, 0, ndim), listOf(list, ndim)...)
}
