// SPDX-License-Identifier: Apache-2.0
// Native memory becomes a tensor.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"math"
	"runtime/cgo"
	"unsafe"
)

// Buffer is memory of a device, as its driver names it.
type Buffer struct {
	Backend Backend    // Whose memory; BackendNone: not said.
	Kind    BufferKind // What the handle is; 0 stands for BufferAddress.
	Handle  uint64     // The address or handle.
	Context uint64     // ze_context_handle_t or cl_context that it belongs to; 0: not said.
}

// AddressOf is a buffer of memory that Go does not manage, at pointer.
func AddressOf(pointer unsafe.Pointer) Buffer {
	return Buffer{Kind: BufferAddress, Handle: uint64(uintptr(pointer))}
}

func (b Buffer) c() C.DLBridgeBuffer {
	kind := b.Kind
	if kind == 0 {
		kind = BufferAddress
	}
	return C.DLBridgeBuffer{
		backend: C.DLBridgeBackend(b.Backend),
		kind:    C.int32_t(kind),
		handle:  C.uint64_t(b.Handle),
		context: C.uint64_t(b.Context),
	}
}

func bufferOf(b C.DLBridgeBuffer) Buffer {
	return Buffer{Backend(b.backend), BufferKind(b.kind), uint64(b.handle), uint64(b.context)}
}

// WrapSpec is native memory to make a tensor of. Memory of Go's is lent by [FromSlice] instead.
type WrapSpec struct {
	Buffer     Buffer
	Shape      []int64
	Strides    []int64 // In elements; nil: compact, last axis fastest.
	DType      DType
	Device     Device // The zero value stands for the CPU.
	ByteOffset uint64
	BufferSize *uint64 // Bytes at the handle; nil: not said.
	Options    WrapOptions
	Flags      TensorFlags
	Version    Version // Newest DLPack that the consumer speaks.
	Policy     *Policy // nil: the default policy.
	// Release is called once when the last owner is gone, on any thread; nil: nothing is called. It
	// may use this package. A panic in it goes to [OnPanic].
	Release func(Buffer)
}

// Wrap makes a tensor of ours of native memory, which then belongs to the tensor until Release has
// run. On any error the memory is the caller's and Release was not called.
func Wrap(spec WrapSpec) (*Tensor, error) {
	result, err := spec.wrap(false)
	if err != nil {
		return nil, err
	}
	return newTensor(result), nil
}

// WrapLegacy is Wrap for consumers that know legacy tensors only; Version must be zero.
func WrapLegacy(spec WrapSpec) (*Legacy, error) {
	result, err := spec.wrap(true)
	if err != nil {
		return nil, err
	}
	return ImportLegacy(pointerOf(result.value)), nil
}

func (spec *WrapSpec) wrap(legacy bool) (C.godl_result, error) {
	var hook releaser
	if spec.Release != nil {
		hook = releaseHook(spec.Release)
	}
	return spec.wrapWith(hook, legacy)
}

// wrapWith registers hook and lets go of it where nothing was made.
func (spec *WrapSpec) wrapWith(hook releaser, legacy bool) (C.godl_result, error) {
	if err := sameLength(spec.Shape, spec.Strides); err != nil {
		return C.godl_result{}, err
	}
	given := spec.c()
	if hook != nil {
		handle := cgo.NewHandle(hook)
		given.release = C.uintptr_t(handle)
	}
	if legacy {
		given.legacy = 1
	}
	result := C.godl_wrap(given, ndimOf(spec.Shape), extents(spec.Shape), extents(spec.Strides),
		spec.Policy.devices(), spec.Policy.dtypes())
	if result.status != C.DLBRIDGE_OK {
		if hook != nil {
			cgo.Handle(given.release).Delete()
		}
		return C.godl_result{}, failure(result)
	}
	return result, nil
}

func (spec *WrapSpec) c() C.godl_wrap_spec {
	given := C.godl_wrap_spec{
		buffer:      spec.Buffer.c(),
		dtype:       spec.DType.c(),
		device:      orCPU(spec.Device).c(),
		byte_offset: C.uint64_t(spec.ByteOffset),
		buffer_size: math.MaxUint64,
		options:     C.uint32_t(spec.Options),
		flags:       C.uint64_t(spec.Flags),
		version:     spec.Version.c(),
		policy:      spec.Policy.c(),
	}
	if spec.BufferSize != nil {
		given.buffer_size = C.uint64_t(*spec.BufferSize)
	}
	return given
}
