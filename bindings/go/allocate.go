// SPDX-License-Identifier: Apache-2.0
// New tensors.

package dlbridge

// #include "bridge.h"
import "C"

// AllocateSpec describes a tensor to allocate.
type AllocateSpec struct {
	Shape     []int64
	DType     DType
	Device    Device // The zero value is the CPU; another device needs an Allocator.
	Options   AllocateOptions
	Alignment uint64 // A power of two; 0: 256.
	// TensorFlags are the DLPack flags of the tensor.
	TensorFlags TensorFlags
	Version     Version    // Newest DLPack that the consumer reads; the zero value: the default.
	Allocator   *Allocator // nil: the system's allocator.
}

// Allocate allocates a compact dlbridge-owned tensor; its bytes are unspecified.
func Allocate(spec AllocateSpec) (*Tensor, error) {
	number, err := spec.Allocator.begin()
	if err != nil {
		return nil, err
	}
	defer spec.Allocator.end()
	given := C.godl_new{
		device:       spec.Device.c(),
		dtype:        spec.DType.c(),
		options:      C.uint32_t(spec.Options),
		alignment:    C.uint64_t(spec.Alignment),
		tensor_flags: C.uint64_t(spec.TensorFlags),
		version:      spec.Version.c(),
		allocator:    number,
	}
	result := C.godl_allocate(given, ndimOf(spec.Shape), extents(spec.Shape))
	if result.status != C.DLBRIDGE_OK {
		return nil, failure(result)
	}
	return newTensor(result), nil
}
