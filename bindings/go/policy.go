// SPDX-License-Identifier: Apache-2.0
// Policies: what a consumer demands of a tensor.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"math"
	"unsafe"
)

// Policy is what a consumer demands of a tensor. The zero value, as nil, is the default policy: what
// DLPack itself demands, at most 64 axes, any device and dtype.
type Policy struct {
	// Level says how much memory is read; 0 stands for LevelMetadata. At LevelStruct a demand that
	// needs shape or strides is refused as an invalid argument, never ignored.
	Level Level
	// Version is the newest DLPack that the consumer speaks.
	Version Version
	Flags   PolicyFlags
	// MaxNDim is the largest number of axes accepted; nil stands for 64.
	MaxNDim    *int32
	Contiguity Contiguity
	// Alignment is a power of two that the address of element (0,...,0) must be a multiple of; 0: any.
	Alignment uint64
	// BufferSize is how many bytes at the data pointer the tensor must stay inside; nil: not checked.
	BufferSize *uint64
	// Devices that are accepted, with id -1 for any id; nil: all. An empty list accepts none.
	Devices []Device
	// DTypes that are accepted; nil: all. An empty list accepts none.
	DTypes []DType
}

// c is the policy without its lists.
func (p *Policy) c() C.godl_policy {
	if p == nil {
		return C.godl_policy{}
	}
	given := C.godl_policy{
		given:        1,
		level:        C.int32_t(p.Level),
		version:      p.Version.c(),
		flags:        C.uint32_t(p.Flags),
		max_ndim:     64,
		contiguity:   C.int32_t(p.Contiguity),
		alignment:    C.uint64_t(p.Alignment),
		buffer_size:  math.MaxUint64,
		device_count: listLength(p.Devices),
		dtype_count:  listLength(p.DTypes),
	}
	if p.Level == 0 {
		given.level = C.DLBRIDGE_LEVEL_METADATA
	}
	if p.MaxNDim != nil {
		given.max_ndim = C.int32_t(*p.MaxNDim)
	}
	if p.BufferSize != nil {
		given.buffer_size = C.uint64_t(*p.BufferSize)
	}
	return given
}

func listLength[T any](list []T) C.int32_t {
	if list == nil {
		return -1
	}
	return C.int32_t(min(len(list), math.MaxInt32))
}

// devices is the list as C takes it: both structs are two integers.
func (p *Policy) devices() *C.DLDevice {
	if p == nil || len(p.Devices) == 0 {
		return nil
	}
	return (*C.DLDevice)(unsafe.Pointer(unsafe.SliceData(p.Devices)))
}

// dtypes is the list as C takes it: both structs have the same layout.
func (p *Policy) dtypes() *C.DLDataType {
	if p == nil || len(p.DTypes) == 0 {
		return nil
	}
	return (*C.DLDataType)(unsafe.Pointer(unsafe.SliceData(p.DTypes)))
}

// The structs that stand for each other have the same sizes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Device{})-C.sizeof_DLDevice]
	_ = [1]struct{}{}[unsafe.Sizeof(DType{})-C.sizeof_DLDataType]
)
