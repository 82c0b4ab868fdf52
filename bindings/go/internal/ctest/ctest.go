// SPDX-License-Identifier: Apache-2.0

// Package ctest is the foreign side of the tests: producers in C memory whose deleters count, and
// threads that Go did not create. Test files cannot use cgo themselves.
package ctest

/*
#cgo LDFLAGS: -lpthread
#include "producer.h"
*/
import "C"

import (
	"encoding/binary"
	"unsafe"
)

// Kinds of structs, as the header numbers them.
const (
	Legacy    = 1
	Versioned = 2
	Borrowed  = 3
)

// Spec describes a producer's tensor; nil Shape and Strides are NULL.
type Spec struct {
	Bytes      []byte // Real memory; Data is an offset in it. nil: Data is the address.
	Data       uint64
	DeviceType int32
	DeviceID   int32
	NDim       int32
	Code, Bits uint8
	Lanes      uint16
	Shape      []int64
	Strides    []int64
	ByteOffset uint64
	Major      uint32
	Minor      uint32
	Flags      uint64
	Deleter    bool
}

// Producer is a foreign tensor, as each kind of struct at once.
type Producer struct {
	c      *C.ctest_producer
	blocks []unsafe.Pointer
}

// New makes a producer; Free must follow.
func New(spec Spec) *Producer {
	p := &Producer{}
	data := uintptr(spec.Data)
	if spec.Bytes != nil {
		data += uintptr(p.block(spec.Bytes))
	}
	given := C.ctest_spec{
		data:        C.uintptr_t(data),
		device:      C.DLDevice{device_type: C.DLDeviceType(spec.DeviceType), device_id: C.int32_t(spec.DeviceID)},
		ndim:        C.int32_t(spec.NDim),
		dtype:       C.DLDataType{code: C.uint8_t(spec.Code), bits: C.uint8_t(spec.Bits), lanes: C.uint16_t(spec.Lanes)},
		shape:       p.list(spec.Shape),
		strides:     p.list(spec.Strides),
		byte_offset: C.uint64_t(spec.ByteOffset),
		version:     C.DLPackVersion{major: C.uint32_t(spec.Major), minor: C.uint32_t(spec.Minor)},
		flags:       C.uint64_t(spec.Flags),
	}
	if spec.Deleter {
		given.has_deleter = 1
	}
	p.c = C.ctest_new(given)
	return p
}

// Float32 is a producer of a float32 tensor on the CPU with a deleter, of DLPack 1.3.
func Float32(values []float32, shape ...int64) *Producer {
	bytes, err := binary.Append(nil, binary.NativeEndian, values)
	if err != nil {
		panic(err)
	}
	return New(Spec{Bytes: bytes, DeviceType: 1, NDim: int32(len(shape)), Code: 2, Bits: 32, Lanes: 1,
		Shape: shape, Strides: compact(shape), Major: 1, Minor: 3, Deleter: true})
}

func compact(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	stride := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= shape[i]
	}
	return strides
}

// block copies bytes to C memory, also if there are none.
func (p *Producer) block(bytes []byte) unsafe.Pointer {
	block := C.CBytes(append(bytes, 0))
	p.blocks = append(p.blocks, block)
	return block
}

func (p *Producer) list(values []int64) *C.int64_t {
	if values == nil {
		return nil
	}
	bytes, err := binary.Append(nil, binary.NativeEndian, values)
	if err != nil {
		panic(err)
	}
	return (*C.int64_t)(p.block(bytes))
}

// Free frees the memory; the deleters must have run.
func (p *Producer) Free() {
	C.free(unsafe.Pointer(p.c))
	for _, block := range p.blocks {
		C.free(block)
	}
}

// Legacy is the DLManagedTensor.
func (p *Producer) Legacy() unsafe.Pointer { return unsafe.Pointer(&p.c.legacy) }

// Versioned is the DLManagedTensorVersioned.
func (p *Producer) Versioned() unsafe.Pointer { return unsafe.Pointer(&p.c.versioned) }

// Borrowed is the DLTensor.
func (p *Producer) Borrowed() unsafe.Pointer { return unsafe.Pointer(&p.c.borrowed) }

// SetNDim alters the legacy struct.
func (p *Producer) SetNDim(ndim int32) { p.c.legacy.dl_tensor.ndim = C.int32_t(ndim) }

// Deletes is how often a deleter ran.
func (p *Producer) Deletes() int { return int(C.ctest_deletes(p.c)) }

// ReleaseOnThread releases a managed tensor on a thread that Go did not create.
func ReleaseOnThread(tensor unsafe.Pointer, kind int32) {
	var legacy C.int32_t
	if kind == Legacy {
		legacy = 1
	}
	if status := C.ctest_release_on_thread(C.uintptr_t(uintptr(tensor)), legacy); status != 0 {
		panic("no thread")
	}
}

// Fields are those of a DLTensor, as they are.
type Fields struct {
	Version    [2]uint32 // Versioned only.
	Flags      uint64    // Versioned only.
	Data       uint64
	Device     [2]int32
	NDim       int32
	DType      [3]int
	Shape      []int64
	Strides    []int64
	ByteOffset uint64
}

// Read copies the fields of a tensor that was validated.
func Read(tensor unsafe.Pointer, kind int32) Fields {
	inside := C.ctest_inside(C.uintptr_t(uintptr(tensor)), C.DLBridgeKind(kind))
	fields := Fields{
		Data:       uint64(*(*C.uintptr_t)(unsafe.Pointer(&inside.data))),
		Device:     [2]int32{int32(inside.device.device_type), int32(inside.device.device_id)},
		NDim:       int32(inside.ndim),
		DType:      [3]int{int(inside.dtype.code), int(inside.dtype.bits), int(inside.dtype.lanes)},
		Shape:      axes(inside.shape, inside.ndim),
		Strides:    axes(inside.strides, inside.ndim),
		ByteOffset: uint64(inside.byte_offset),
	}
	if kind == Versioned {
		versioned := (*C.DLManagedTensorVersioned)(tensor)
		fields.Version = [2]uint32{uint32(versioned.version.major), uint32(versioned.version.minor)}
		fields.Flags = uint64(versioned.flags)
	}
	return fields
}

// NDim is of any tensor, also a broken one.
func NDim(tensor unsafe.Pointer, kind int32) int32 {
	return int32(C.ctest_inside(C.uintptr_t(uintptr(tensor)), C.DLBridgeKind(kind)).ndim)
}

// Data is the data pointer as a number.
func Data(tensor unsafe.Pointer, kind int32) uint64 {
	inside := C.ctest_inside(C.uintptr_t(uintptr(tensor)), C.DLBridgeKind(kind))
	return uint64(*(*C.uintptr_t)(unsafe.Pointer(&inside.data)))
}

func axes(list *C.int64_t, ndim C.int32_t) []int64 {
	if list == nil && ndim > 0 {
		return nil
	}
	return append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(list)), ndim)...)
}

// Memory copies bytes at an address of C memory.
func Memory(address uint64, size int) []byte {
	if size == 0 {
		return nil
	}
	number := uintptr(address)
	return C.GoBytes(*(*unsafe.Pointer)(unsafe.Pointer(&number)), C.int(size))
}

// Malloc is the C library's.
func Malloc(size uint64) unsafe.Pointer { return C.malloc(C.size_t(size)) }

// AlignedAlloc is the C library's, of a whole number of alignments.
func AlignedAlloc(alignment, size uint64) unsafe.Pointer {
	alignment = max(alignment, 16)
	return C.aligned_alloc(C.size_t(alignment), C.size_t((size+alignment-1)/alignment*alignment))
}

// Free is the C library's.
func Free(memory unsafe.Pointer) { C.free(memory) }

// Table is one exchange table; Missing has a bit for each function that is NULL.
type Table struct {
	Major, Minor uint32
	Missing      uint32
}

// Chain makes exchange tables, newest first; FreeChain must follow.
func Chain(tables []Table, ring bool) unsafe.Pointer {
	list := make([]C.ctest_table, len(tables))
	for i, table := range tables {
		list[i].version = C.DLPackVersion{major: C.uint32_t(table.Major), minor: C.uint32_t(table.Minor)}
		list[i].missing = C.uint32_t(table.Missing)
	}
	var closed C.int32_t
	if ring {
		closed = 1
	}
	return unsafe.Pointer(C.ctest_chain(&list[0], C.size_t(len(list)), closed))
}

// FreeChain frees a chain.
func FreeChain(chain unsafe.Pointer) { C.free(chain) }

// TableSize is the size of one table of a chain.
const TableSize = C.sizeof_DLPackExchangeAPI

// Answer is the outcome of a raw call.
type Answer struct {
	Status, Rule int32
	Axis         int
	Message      string
	Out          unsafe.Pointer
}

func answerOf(status C.DLBridgeStatus, from *C.ctest_answer) Answer {
	return Answer{int32(status), int32(from.error.rule), int(from.error.axis),
		C.GoString(&from.error.message[0]), *(*unsafe.Pointer)(unsafe.Pointer(&from.out))}
}

// View calls dlbridge_view with a number of axes that need not be that of the shape.
func View(tensor unsafe.Pointer, ndim int32, shape, strides []int64, offset int64) Answer {
	var answer C.ctest_answer
	status := C.ctest_view(C.uintptr_t(uintptr(tensor)), C.int32_t(ndim), pointerTo(shape),
		pointerTo(strides), C.int64_t(offset), &answer)
	return answerOf(status, &answer)
}

// Allocate calls dlbridge_allocate likewise.
func Allocate(ndim int32, shape []int64, device [2]int32, dtype [3]int) Answer {
	var answer C.ctest_answer
	status := C.ctest_allocate(C.int32_t(ndim), pointerTo(shape),
		C.DLDevice{device_type: C.DLDeviceType(device[0]), device_id: C.int32_t(device[1])},
		C.DLDataType{code: C.uint8_t(dtype[0]), bits: C.uint8_t(dtype[1]), lanes: C.uint16_t(dtype[2])},
		&answer)
	return answerOf(status, &answer)
}

// Wrap calls dlbridge_wrap likewise, for an address.
func Wrap(address uint64, ndim int32, shape []int64, device [2]int32, dtype [3]int) Answer {
	var answer C.ctest_answer
	status := C.ctest_wrap(C.uint64_t(address), C.int32_t(ndim), pointerTo(shape),
		C.DLDevice{device_type: C.DLDeviceType(device[0]), device_id: C.int32_t(device[1])},
		C.DLDataType{code: C.uint8_t(dtype[0]), bits: C.uint8_t(dtype[1]), lanes: C.uint16_t(dtype[2])},
		&answer)
	return answerOf(status, &answer)
}

func pointerTo(list []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(list)))
}
