// SPDX-License-Identifier: Apache-2.0
// Policies: the requirements of a consumer.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// Policy has the requirements of a consumer. The zero value, like nil, is the default policy: the rules
// of DLPack itself, at most [MaxNDim] axes, any device and dtype.
type Policy struct {
	Options PolicyOptions
	// Version is the newest DLPack that the consumer reads; the zero value: the default.
	Version Version
	// Level limits the memory that is read; 0: LevelMetadata. At LevelStruct a requirement on shape or
	// strides is an invalid argument.
	Level      Level
	Contiguity Contiguity
	// MinNDim and MaxNDim are the smallest and largest ndim accepted. They are read with
	// PolicyLimitNDim and must be 0 without it.
	MinNDim, MaxNDim int32
	// Alignment is a power of two that the address of element (0,...,0) must be a multiple of; 0: any.
	Alignment uint64
	// BufferSize is the number of bytes at the data pointer that all elements must lie inside. It is
	// read with PolicyLimitBuffer and must be 0 without it.
	BufferSize uint64
	// Devices that are accepted, with id -1 for any id; nil: all. An empty list is an invalid argument.
	Devices []Device
	// DTypes that are accepted; nil: all. An empty list is an invalid argument.
	DTypes []DType
	// Shape has the extents that the tensor must have, -1 for any; nil: any shape. Its length is the
	// only ndim accepted: without PolicyLimitNDim, or with both limits equal to that length.
	Shape []int64
}

// valid rejects limits that differ from the length of Shape: C reads MaxNDim extents.
func (p *Policy) valid() error {
	if p == nil || p.Shape == nil || !p.limited() {
		return nil
	}
	if length := len(p.Shape); int(p.MinNDim) != length || int(p.MaxNDim) != length {
		return invalid(fmt.Sprintf("policy: Shape has %d extents, but MinNDim is %d and MaxNDim is %d: "+
			"leave both out or set both to the length of Shape", length, p.MinNDim, p.MaxNDim))
	}
	return nil
}

func (p *Policy) limited() bool {
	return p.Options&PolicyLimitNDim != 0 || p.MinNDim != 0 || p.MaxNDim != 0
}

// c is the policy without its lists; it must be valid.
func (p *Policy) c() C.godl_policy {
	if p == nil {
		return C.godl_policy{}
	}
	given := C.godl_policy{
		given:        1,
		options:      C.uint32_t(p.Options),
		version:      p.Version.c(),
		level:        C.int32_t(p.Level),
		contiguity:   C.int32_t(p.Contiguity),
		min_ndim:     C.int32_t(p.MinNDim),
		max_ndim:     C.int32_t(p.MaxNDim),
		alignment:    C.uint64_t(p.Alignment),
		buffer_size:  C.uint64_t(p.BufferSize),
		device_count: listLength(p.Devices),
		dtype_count:  listLength(p.DTypes),
	}
	if p.Shape != nil {
		given.options |= C.DLBRIDGE_POLICY_LIMIT_NDIM
		given.min_ndim, given.max_ndim = ndimOf(p.Shape), ndimOf(p.Shape)
	}
	return given
}

// lists are the lists of the policy for C: the structs have the same layout.
func (p *Policy) lists() C.godl_lists {
	if p == nil {
		return C.godl_lists{}
	}
	return C.godl_lists{
		devices: (*C.DLDevice)(unsafe.Pointer(unsafe.SliceData(p.Devices))),
		dtypes:  (*C.DLDataType)(unsafe.Pointer(unsafe.SliceData(p.DTypes))),
		shape:   extents(p.Shape),
	}
}

func listLength[T any](list []T) C.int32_t {
	if list == nil {
		return -1
	}
	return C.int32_t(min(len(list), math.MaxInt32))
}

// The structs of Go and C have the same sizes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Device{})-C.sizeof_DLDevice]
	_ = [1]struct{}{}[unsafe.Sizeof(DType{})-C.sizeof_DLDataType]
)
