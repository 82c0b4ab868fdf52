// SPDX-License-Identifier: Apache-2.0
// Tensors of native memory.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Buffer is memory of a device: an address or a driver's handle.
type Buffer struct {
	Backend Backend    // The driver of the memory; BackendNone: that of the device.
	Kind    BufferKind // The kind of the handle; BufferDefault: that of the device.
	Handle  Handle     // The address or handle; see [HandleOf] and [UnsafeHandle].
	Context Handle     // ze_context_handle_t or cl_context that it belongs to; zero: not set.
}

// AddressOf is a buffer at pointer: memory that Go does not manage, or that is pinned.
func AddressOf(pointer unsafe.Pointer) Buffer {
	return Buffer{Kind: BufferAddress, Handle: HandleOf(pointer)}
}

func (b Buffer) c() C.DLBridgeBuffer {
	return C.DLBridgeBuffer{
		backend: C.DLBridgeBackend(b.Backend),
		kind:    C.int32_t(b.Kind),
		handle:  C.uint64_t(b.Handle.number),
		context: C.uint64_t(b.Context.number),
	}
}

func bufferOf(b C.DLBridgeBuffer) Buffer {
	return Buffer{Backend(b.backend), BufferKind(b.kind), Handle{uint64(b.handle)},
		Handle{uint64(b.context)}}
}

// WrapSpec describes native memory to make a tensor of. For Go memory use [FromSlice].
type WrapSpec struct {
	Options    WrapOptions
	Buffer     Buffer
	Shape      []int64
	Strides    []int64 // In elements; nil: compact, last axis fastest.
	DType      DType   // Must be set.
	Device     Device  // Must be set.
	ByteOffset uint64  // Bytes from the handle to element (0,...,0).
	// BufferSize is the number of bytes at the handle that all elements must lie inside. It is read with
	// WrapLimitBuffer and must be 0 without it.
	BufferSize uint64
	// TensorFlags are the DLPack flags of the tensor.
	TensorFlags TensorFlags
	Version     Version // Newest DLPack that the consumer reads; the zero value: the default.
	Policy      *Policy // nil: the default policy.
	// Release is called after the last owner is released; nil: nothing is called.
	Release ReleaseFunc
}

// Wrap makes a dlbridge-owned tensor of native memory, which then belongs to the tensor until Release
// has run. On any error the caller still owns the memory, and Release was not called.
func Wrap(spec WrapSpec) (*Tensor, error) {
	result, err := spec.wrap(false)
	if err != nil {
		return nil, err
	}
	return newTensor(result), nil
}

// WrapLegacy is Wrap for consumers that read legacy tensors only; Version must be zero.
func WrapLegacy(spec WrapSpec) (*Legacy, error) {
	result, err := spec.wrap(true)
	if err != nil {
		return nil, err
	}
	return TakeLegacy(pointerOf(result.value)), nil
}

func (spec *WrapSpec) wrap(legacy bool) (C.godl_result, error) {
	var hook releaser
	if spec.Release != nil {
		hook = spec.Release
	}
	return spec.wrapWith(hook, legacy)
}

// wrapWith registers hook, and removes it on any error.
func (spec *WrapSpec) wrapWith(hook releaser, legacy bool) (C.godl_result, error) {
	if err := sameLength(spec.Shape, spec.Strides); err != nil {
		return C.godl_result{}, err
	}
	if err := spec.Policy.valid(); err != nil {
		return C.godl_result{}, err
	}
	given := spec.c()
	if hook != nil {
		given.release = C.uintptr_t(cgo.NewHandle(hook))
	}
	if legacy {
		given.legacy = 1
	}
	result := C.godl_wrap(given, ndimOf(spec.Shape), extents(spec.Shape), extents(spec.Strides),
		spec.Policy.lists())
	if result.status != C.DLBRIDGE_OK {
		if hook != nil {
			cgo.Handle(given.release).Delete()
		}
		return C.godl_result{}, failure(result)
	}
	return result, nil
}

func (spec *WrapSpec) c() C.godl_wrap_spec {
	return C.godl_wrap_spec{
		buffer:       spec.Buffer.c(),
		dtype:        spec.DType.c(),
		device:       spec.Device.c(),
		byte_offset:  C.uint64_t(spec.ByteOffset),
		buffer_size:  C.uint64_t(spec.BufferSize),
		options:      C.uint32_t(spec.Options),
		tensor_flags: C.uint64_t(spec.TensorFlags),
		version:      spec.Version.c(),
		policy:       spec.Policy.c(),
	}
}
