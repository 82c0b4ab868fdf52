// SPDX-License-Identifier: Apache-2.0
// Copies: strided to compact, between host and devices.

package dlbridge

// #include "bridge.h"
import "C"

import "runtime/cgo"

// CopySpec describes the destination and the options of a copy. The zero value copies to new memory of
// the host.
type CopySpec struct {
	Options CopyOptions
	Device  Device // Device of the copy; the zero value is the CPU.
	// Stream orders the copy after earlier work on it; the zero value: all work on the source is done.
	// [Tensor.CopyAsync] needs it.
	Stream       Stream
	Target       Buffer // The caller's memory; the zero value: allocate.
	TargetOffset uint64 // Bytes from the handle to the copy.
	TargetSize   uint64 // Bytes at the handle; 0 without a target.
	// Release is called after the last owner of a copy in the caller's memory is released; may be nil.
	Release   ReleaseFunc
	Allocator *Allocator // Memory of the device; nil: the system's, on the host.
	// TensorFlags are the DLPack flags of the copy; FlagIsCopied is added.
	TensorFlags TensorFlags
	Version     Version // Newest DLPack that the consumer reads; the zero value: the default.
	Policy      *Policy // Validates the source; nil: the default policy.
}

func (s *CopySpec) c() C.godl_copy_spec {
	return C.godl_copy_spec{
		options:       C.uint32_t(s.Options),
		device:        s.Device.c(),
		version:       s.Version.c(),
		stream:        s.Stream.c(),
		target:        s.Target.c(),
		target_offset: C.uint64_t(s.TargetOffset),
		target_size:   C.uint64_t(s.TargetSize),
		tensor_flags:  C.uint64_t(s.TensorFlags),
		policy:        s.Policy.c(),
	}
}

// Copy copies the tensor, which is validated and only read, to compact memory; the call returns when the
// copy is complete. On any error Release was not called.
func (b Borrowed) Copy(spec CopySpec) (*Tensor, error) { return b.copy(spec) }

// Copy copies the tensor, which is validated and only read, to compact memory; the call returns when the
// copy is complete. On any error Release was not called.
func (o *owner) Copy(spec CopySpec) (*Tensor, error) {
	if err := o.use(); err != nil {
		return nil, err
	}
	defer o.done()
	return o.described().copy(spec)
}

func (d described) copy(spec CopySpec) (*Tensor, error) {
	return spec.run(func(given C.godl_copy_spec) C.godl_result {
		return C.godl_copy(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), given,
			spec.Policy.lists())
	})
}

// run calls a copying function with the spec's callback and allocator; on failure it removes the
// callback.
func (s *CopySpec) run(call func(C.godl_copy_spec) C.godl_result) (*Tensor, error) {
	if err := s.Policy.valid(); err != nil {
		return nil, err
	}
	number, err := s.Allocator.begin()
	if err != nil {
		return nil, err
	}
	defer s.Allocator.end()
	given := s.c()
	given.allocator = number
	if s.Release != nil {
		given.release = C.uintptr_t(cgo.NewHandle(s.Release))
	}
	result := call(given)
	if result.status != C.DLBRIDGE_OK {
		if given.release != 0 {
			cgo.Handle(given.release).Delete()
		}
		return nil, failure(result)
	}
	return newTensor(result), nil
}
