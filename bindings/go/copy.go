// SPDX-License-Identifier: Apache-2.0
// Copies: strided to compact, between host and devices.

package dlbridge

// #include "bridge.h"
import "C"

import "runtime/cgo"

// CopySpec says where to and how. The zero value copies to new memory of the host.
type CopySpec struct {
	Options CopyOptions
	Device  Device // Device of the copy; the zero value stands for the CPU.
	// Stream orders the copy behind earlier work on it; the zero value: all work on the source is done.
	Stream       Stream
	Target       Buffer // Memory of the caller's; the zero value: allocate.
	TargetOffset uint64 // Bytes from the handle to the copy.
	TargetSize   uint64 // Bytes at the handle.
	// Release, for memory of the caller's, is called once when the last owner of the copy is gone, on
	// any thread; may be nil. A panic in it goes to [OnPanic].
	Release   func(Buffer)
	Allocator *Allocator  // Memory of the device; nil: the system's, on the host.
	Flags     TensorFlags // Of the copy; FlagIsCopied is added.
	Version   Version     // Newest DLPack that the consumer speaks.
	Policy    *Policy     // Validates the source; nil: the default policy.
}

func (s *CopySpec) c() C.godl_copy_spec {
	given := C.godl_copy_spec{
		options:       C.uint32_t(s.Options),
		device:        orCPU(s.Device).c(),
		version:       s.Version.c(),
		stream:        s.Stream.c(),
		target_offset: C.uint64_t(s.TargetOffset),
		target_size:   C.uint64_t(s.TargetSize),
		flags:         C.uint64_t(s.Flags),
		policy:        s.Policy.c(),
	}
	if s.Target != (Buffer{}) {
		given.target = s.Target.c()
	}
	return given
}

// Copy copies the tensor, which is only read, to compact memory; the call returns when the copy is
// whole. On any error Release was not called.
func (b Bare) Copy(spec CopySpec) (*Tensor, error) { return b.copy(spec) }

// Copy copies the tensor, which is validated, only read and stays the owner's, to compact memory; the
// call returns when the copy is whole. On any error Release was not called.
func (o *owner) Copy(spec CopySpec) (*Tensor, error) {
	if err := o.use(); err != nil {
		return nil, err
	}
	defer o.done()
	return o.described().copy(spec)
}

func (d described) copy(spec CopySpec) (*Tensor, error) {
	number, err := spec.Allocator.begin()
	if err != nil {
		return nil, err
	}
	defer spec.Allocator.end()
	given := spec.c()
	given.allocator = number
	if spec.Release != nil {
		given.release = C.uintptr_t(cgo.NewHandle(releaseHook(spec.Release)))
	}
	result := C.godl_copy(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), given,
		spec.Policy.devices(), spec.Policy.dtypes())
	if result.status != C.DLBRIDGE_OK {
		if given.release != 0 {
			cgo.Handle(given.release).Delete()
		}
		return nil, failure(result)
	}
	return newTensor(result), nil
}
