// SPDX-License-Identifier: Apache-2.0
// Foreign tensors become tensors of ours, and ours become what a consumer reads.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// ConvertOptions say how to convert. nil stands for the zero value.
type ConvertOptions struct {
	Flags ConvertFlags
	// Version is the newest DLPack that the consumer speaks; a tensor that needs more is refused.
	Version Version
	// SourceFlags are flags that the caller knows of a legacy source, which cannot say them.
	SourceFlags TensorFlags
	// Policy validates the source first; nil: the default policy.
	Policy *Policy
	// Allocator gives the memory of a copy; nil: the system's.
	Allocator *Allocator
}

// begin is what C gets of the options, and holds the allocator until end.
func (o *ConvertOptions) begin() (C.godl_options, error) {
	number, err := o.Allocator.begin()
	return C.godl_options{
		flags:        C.uint32_t(o.Flags),
		version:      o.Version.c(),
		source_flags: C.uint64_t(o.SourceFlags),
		allocator:    number,
		policy:       o.Policy.c(),
	}, err
}

func (o *ConvertOptions) end() {
	o.Allocator.end()
	runtime.KeepAlive(o)
}

// conversion calls C between begin and end. given is 0 where there are no options.
type conversion func(any C.int32_t, given C.godl_options, devices *C.DLDevice,
	dtypes *C.DLDataType) C.godl_result

func (o *ConvertOptions) run(call conversion) (C.godl_result, error) {
	if o == nil {
		return call(0, C.godl_options{}, nil, nil), nil
	}
	given, err := o.begin()
	if err != nil {
		return C.godl_result{}, err
	}
	defer o.end()
	return call(1, given, o.Policy.devices(), o.Policy.dtypes()), nil
}

// convert consumes the tensor of o where call succeeds, and gives what came of it.
func (o *owner) convert(options *ConvertOptions, call conversion) (C.godl_result, error) {
	if err := o.take(); err != nil {
		return C.godl_result{}, err
	}
	result, err := options.run(call)
	if err == nil {
		err = check(result)
	}
	if err != nil {
		o.giveBack()
		return C.godl_result{}, err
	}
	return result, nil
}

// Managed is a managed tensor of any kind: a [*Legacy], [*Foreign] or [*Tensor].
type Managed interface {
	Close() error
	Validate(policy *Policy) error
	Diagnose(policy *Policy) ([]Finding, error)
	String() string
	Pointer() unsafe.Pointer
	Detach() (unsafe.Pointer, error)
	own() *owner
}

func (o *owner) own() *owner { return o }

// Legacy owns a legacy DLManagedTensor, which is not validated: nothing but its description can be
// reached before it is upgraded.
type Legacy struct {
	owner
}

// ImportLegacy takes over the DLManagedTensor at pointer, which must be live and the caller's.
func ImportLegacy(pointer unsafe.Pointer) *Legacy {
	return &Legacy{owner{address: uintptr(pointer), kind: KindLegacy}}
}

// Foreign owns a DLManagedTensorVersioned that is not validated, of any major version: nothing but
// its description can be reached before it is adopted or accepted.
type Foreign struct {
	owner
}

// ImportVersioned takes over the DLManagedTensorVersioned at pointer, which must be live and the
// caller's.
func ImportVersioned(pointer unsafe.Pointer) *Foreign {
	return &Foreign{owner{address: uintptr(pointer), kind: KindVersioned}}
}

// Tensor owns a versioned tensor that was validated, or that the caller vouched for. Its elements are
// reached by [Read] and [Write]. Tensors of the library's own can be shared and viewed.
type Tensor struct {
	owner
}

// become fills in a tensor that a call has made.
func (t *Tensor) become(result C.godl_result) {
	t.address = uintptr(result.value)
	t.kind = KindVersioned
}

func newTensor(result C.godl_result) *Tensor {
	t := new(Tensor)
	t.become(result)
	return t
}

// pointerOf is the pointer to C memory that came as a number.
func pointerOf(number C.uintptr_t) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&number))
}

// Upgrade makes a versioned tensor of a legacy one, without copying data unless asked to. Shape and
// strides are snapshotted. Legacy says nothing about writing, so the result is read-only unless the
// caller knows better (ConvertWritable).
// Success consumes the legacy tensor; on any error it is untouched and still to be closed.
func (l *Legacy) Upgrade(options *ConvertOptions) (*Tensor, error) {
	t := new(Tensor)
	if err := l.upgrade(options, t); err != nil {
		return nil, err
	}
	return t, nil
}

func (l *Legacy) upgrade(options *ConvertOptions, t *Tensor) error {
	if options != nil {
		return l.upgradeBy(options, t)
	}
	if err := l.take(); err != nil {
		return err
	}
	result := C.godl_upgrade_plain(l.number())
	if result.status != C.DLBRIDGE_OK {
		l.giveBack()
		return failure(result)
	}
	t.become(result)
	return nil
}

func (l *Legacy) upgradeBy(options *ConvertOptions, t *Tensor) error {
	result, err := l.convert(options, func(_ C.int32_t, given C.godl_options, devices *C.DLDevice,
		dtypes *C.DLDataType) C.godl_result {
		return C.godl_upgrade(l.number(), given, devices, dtypes)
	})
	if err == nil {
		t.become(result)
	}
	return err
}

// UpgradeInto is Upgrade into storage, without allocating memory of C's. Such a tensor cannot be
// shared or viewed. On any error the storage is free again.
func (l *Legacy) UpgradeInto(storage *Storage, options *ConvertOptions) (*Tensor, error) {
	room, err := storage.begin()
	if err != nil {
		return nil, err
	}
	defer storage.end(room)
	result, err := l.convert(options, func(any C.int32_t, given C.godl_options, devices *C.DLDevice,
		dtypes *C.DLDataType) C.godl_result {
		return C.godl_upgrade_into(l.number(), any, given, devices, dtypes, room)
	})
	if err != nil {
		return nil, err
	}
	return newTensor(result), nil
}

// Adopt makes one of ours of a foreign tensor: validated, shape and strides snapshotted. Ownership as
// for [Legacy.Upgrade].
func (f *Foreign) Adopt(options *ConvertOptions) (*Tensor, error) {
	return f.adopt(options)
}

// Adopt makes one of ours of a tensor that was only accepted. One that is ours already and satisfies
// the options comes back as it is, in a new owner.
func (t *Tensor) Adopt(options *ConvertOptions) (*Tensor, error) {
	return t.adopt(options)
}

func (o *owner) adopt(options *ConvertOptions) (*Tensor, error) {
	result, err := o.convert(options, func(any C.int32_t, given C.godl_options, devices *C.DLDevice,
		dtypes *C.DLDataType) C.godl_result {
		return C.godl_adopt(o.number(), any, given, devices, dtypes)
	})
	if err != nil {
		return nil, err
	}
	return newTensor(result), nil
}

// Accept validates a foreign tensor where it is and makes a Tensor of it, which is the same struct:
// it cannot be shared or viewed (see [Foreign.Adopt]), and nothing is allocated in C. On any error the
// foreign tensor is still to be closed.
func (f *Foreign) Accept(policy *Policy) (*Tensor, error) {
	if err := f.take(); err != nil {
		return nil, err
	}
	if err := f.described().validate(policy); err != nil {
		f.giveBack()
		return nil, err
	}
	return &Tensor{owner{address: f.address, kind: KindVersioned}}, nil
}

// Downgrade makes a legacy tensor of a versioned one. It refuses what legacy cannot say, unless the
// options allow that loss or ask for a copy. Ownership as for [Legacy.Upgrade].
func (f *Foreign) Downgrade(options *ConvertOptions) (*Legacy, error) {
	return f.downgrade(options)
}

// Downgrade makes a legacy tensor of a versioned one; see [Foreign.Downgrade].
func (t *Tensor) Downgrade(options *ConvertOptions) (*Legacy, error) {
	return t.downgrade(options)
}

func (o *owner) downgrade(options *ConvertOptions) (*Legacy, error) {
	result, err := o.convert(options, func(any C.int32_t, given C.godl_options, devices *C.DLDevice,
		dtypes *C.DLDataType) C.godl_result {
		return C.godl_downgrade(o.number(), any, given, devices, dtypes)
	})
	if err != nil {
		return nil, err
	}
	return ImportLegacy(pointerOf(result.value)), nil
}

// Convert makes of source what a consumer of DLPack target reads: a [*Legacy] where target.Major is 0,
// else a [*Tensor]. What already is what the target asks for is validated and comes back in a new
// owner. Ownership as for [Legacy.Upgrade].
func Convert(source Managed, target Version, options *ConvertOptions) (Managed, error) {
	o := source.own()
	result, err := o.convert(options, func(any C.int32_t, given C.godl_options, devices *C.DLDevice,
		dtypes *C.DLDataType) C.godl_result {
		return C.godl_convert(o.number(), C.DLBridgeKind(o.kind), target.c(), any, given, devices,
			dtypes)
	})
	if err != nil {
		return nil, err
	}
	if Kind(result.extra) == KindLegacy {
		return ImportLegacy(pointerOf(result.value)), nil
	}
	return newTensor(result), nil
}
