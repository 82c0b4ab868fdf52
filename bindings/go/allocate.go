// SPDX-License-Identifier: Apache-2.0
// New tensors.

package dlbridge

// #include "bridge.h"
import "C"

// AllocateSpec is a tensor to allocate.
type AllocateSpec struct {
	Shape     []int64
	DType     DType
	Device    Device // The zero value stands for the CPU.
	Options   AllocateOptions
	Alignment uint64 // A power of two; 0: 256.
	Flags     TensorFlags
	Version   Version    // Newest DLPack that the consumer speaks.
	Allocator *Allocator // nil: the system's.
}

// Allocate makes a compact tensor of ours; its bytes are unspecified.
func Allocate(spec AllocateSpec) (*Tensor, error) {
	number, err := spec.Allocator.begin()
	if err != nil {
		return nil, err
	}
	defer spec.Allocator.end()
	given := C.godl_new{
		device:    orCPU(spec.Device).c(),
		dtype:     spec.DType.c(),
		options:   C.uint32_t(spec.Options),
		alignment: C.uint64_t(spec.Alignment),
		flags:     C.uint64_t(spec.Flags),
		version:   spec.Version.c(),
		allocator: number,
	}
	result := C.godl_allocate(given, ndimOf(spec.Shape), extents(spec.Shape))
	if result.status != C.DLBRIDGE_OK {
		return nil, failure(result)
	}
	return newTensor(result), nil
}

// orCPU is the device, or the CPU where nothing was said: 0 is no device type.
func orCPU(device Device) Device {
	if device == (Device{}) {
		return CPU
	}
	return device
}
