// SPDX-License-Identifier: Apache-2.0
// Conversions: of foreign tensors to dlbridge-owned ones, and of those for a consumer.

package dlbridge

/*
// With the default options a conversion calls no deleter, allocator or driver.
#cgo noescape godl_upgrade_plain
#cgo nocallback godl_upgrade_plain
#cgo noescape godl_import_plain
#cgo nocallback godl_import_plain
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Import makes a validated, dlbridge-owned tensor of the managed tensor at pointer: the function for
// tensors from foreign code. kind is KindLegacy, KindVersioned, or KindUnknown for a channel that
// carries a void*; a tensor that can be of either kind is then rejected (StatusAmbiguous). nil options
// mean the zero value.
//
// pointer must be a live managed tensor that the caller owns. Success consumes it. On any error it is
// untouched, and the caller still owns it. The result can be shared and viewed; a legacy tensor becomes
// read-only without ConvertVouchWritable.
func Import(pointer unsafe.Pointer, kind Kind, options *ConvertOptions) (*Tensor, error) {
	return new(Tensor).importFrom(pointer, kind, options)
}

// importFrom fills in t, which the caller made so that it can stay on a stack.
func (t *Tensor) importFrom(pointer unsafe.Pointer, kind Kind, options *ConvertOptions) (*Tensor, error) {
	result, err := importBy(C.uintptr_t(uintptr(pointer)), kind, options)
	if err == nil {
		err = check(result)
	}
	if err != nil {
		return nil, err
	}
	t.become(result)
	return t, nil
}

func importBy(number C.uintptr_t, kind Kind, options *ConvertOptions) (C.godl_result, error) {
	if options == nil {
		return C.godl_import_plain(number, C.DLBridgeKind(kind)), nil
	}
	return options.run(func(_ C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result {
		return C.godl_import(number, C.DLBridgeKind(kind), given, lists)
	})
}

// Export converts the managed tensor at pointer, of a kind as for [Import], for a consumer of DLPack
// target. The result is a legacy tensor if target.Major is 0, else a versioned one. The caller owns it,
// and passes it on or calls [Release]. A tensor that the consumer can already read is returned as it
// is. Success consumes pointer. On any error it is untouched, and the caller still owns it.
func Export(pointer unsafe.Pointer, kind Kind, target Version, options *ConvertOptions) (unsafe.Pointer, Kind, error) {
	result, err := exportBy(C.uintptr_t(uintptr(pointer)), kind, target, options)
	if err == nil {
		err = check(result)
	}
	if err != nil {
		return nil, KindUnknown, err
	}
	return pointerOf(result.value), Kind(result.extra), nil
}

func exportBy(number C.uintptr_t, kind Kind, target Version, options *ConvertOptions) (C.godl_result, error) {
	return options.run(func(any C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result {
		return C.godl_export(number, C.DLBridgeKind(kind), target.c(), any, given, lists)
	})
}

// Release calls the deleter of the managed tensor at pointer, if it has one. Call it for a tensor that
// [Import] rejected, and for a result of [Export] or Detach that no consumer took. nil is accepted. A kind other than KindLegacy or
// KindVersioned is an invalid argument, and nothing is called.
func Release(pointer unsafe.Pointer, kind Kind) error {
	if C.dlbridge_release(pointer, C.DLBridgeKind(kind)) != C.DLBRIDGE_OK {
		return invalid(fmt.Sprintf("kind: expected KindLegacy or KindVersioned, found %d", kind))
	}
	return nil
}

// ConvertOptions are the options of a conversion. The zero value, like nil, is the default.
type ConvertOptions struct {
	Options ConvertBits
	// Version is the newest DLPack that the consumer reads; a tensor that needs more is rejected. To
	// versioned: of major 1, the zero value means the default. To legacy: of major 0, the zero value means 0.8.
	// [Export]: must be zero.
	Version Version
	// TensorFlags are DLPack flags of a legacy source that the caller knows and the source cannot
	// record.
	TensorFlags TensorFlags
	// Policy validates the source first; nil: the default policy.
	Policy *Policy
	// Allocator allocates the memory of a copy; nil: the system's allocator.
	Allocator *Allocator
}

// c is the options without an allocator.
func (o *ConvertOptions) c() C.godl_options {
	return C.godl_options{
		options:      C.uint32_t(o.Options),
		version:      o.Version.c(),
		tensor_flags: C.uint64_t(o.TensorFlags),
		policy:       o.Policy.c(),
	}
}

// begin returns the options for C and holds the allocator until end.
func (o *ConvertOptions) begin() (C.godl_options, error) {
	if err := o.Policy.valid(); err != nil {
		return C.godl_options{}, err
	}
	given := o.c()
	number, err := o.Allocator.begin()
	given.allocator = number
	return given, err
}

func (o *ConvertOptions) end() {
	o.Allocator.end()
	runtime.KeepAlive(o)
}

// conversion calls C between begin and end. any is 0 without options.
type conversion func(any C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result

func (o *ConvertOptions) run(call conversion) (C.godl_result, error) {
	if o == nil {
		return call(0, C.godl_options{}, C.godl_lists{}), nil
	}
	given, err := o.begin()
	if err != nil {
		return C.godl_result{}, err
	}
	defer o.end()
	return call(1, given, o.Policy.lists()), nil
}

// convert consumes the tensor of o if call succeeds, and returns the result.
func (o *owner) convert(options *ConvertOptions, call conversion) (C.godl_result, error) {
	if err := o.take(); err != nil {
		return C.godl_result{}, err
	}
	result, err := options.run(call)
	if err == nil {
		err = check(result)
	}
	if err != nil {
		o.cancelTake()
		return C.godl_result{}, err
	}
	return result, nil
}

// Managed is a managed tensor of any kind: a [*Legacy], [*Foreign] or [*Tensor].
type Managed interface {
	Close() error
	ReleaseAfter(streams ...Stream) error
	Validate(policy *Policy) error
	Diagnose(policy *Policy) ([]Finding, error)
	Export(target Version, options *ConvertOptions) (unsafe.Pointer, Kind, error)
	String() string
	Pointer() unsafe.Pointer
	Detach() (unsafe.Pointer, error)
	own() *owner
}

func (o *owner) own() *owner { return o }

// Legacy owns a legacy DLManagedTensor, which is not validated: only its description can be reached
// before it is upgraded.
type Legacy struct {
	_ [0]legacy
	owner
}

// Foreign owns a DLManagedTensorVersioned that is not validated, of any major version: only its
// description can be reached before it is imported or accepted.
type Foreign struct {
	_ [0]foreign
	owner
}

// Tensor owns a versioned tensor that was validated, unless the caller asked to skip the validation.
// [Read] and [Write] reach its elements. A dlbridge-owned tensor can be shared and viewed.
type Tensor struct {
	_ [0]validated
	owner
}

// Markers: without them Go would convert a *Foreign, which is not validated, to a *Tensor.
type (
	legacy    struct{}
	foreign   struct{}
	validated struct{}
)

// TakeLegacy takes ownership of the live DLManagedTensor at pointer, which the caller must own, without
// validating it. [Import] takes and validates in one call.
func TakeLegacy(pointer unsafe.Pointer) *Legacy {
	return &Legacy{owner: owner{address: uintptr(pointer), kind: KindLegacy}}
}

// TakeVersioned takes ownership of the live DLManagedTensorVersioned at pointer, which the caller must
// own, without validating it. [Import] takes and validates in one call.
func TakeVersioned(pointer unsafe.Pointer) *Foreign {
	return &Foreign{owner: owner{address: uintptr(pointer), kind: KindVersioned}}
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

// pointerOf is the pointer to C memory that came as an integer.
func pointerOf(number C.uintptr_t) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&number))
}

// Upgrade makes a versioned tensor of a legacy one, without copying data unless asked to. Shape and
// strides are copied. A legacy tensor does not record whether it may be written to, so the result is
// read-only without ConvertVouchWritable.
// Success consumes the legacy tensor; on any error it is untouched and must still be closed.
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
		l.cancelTake()
		return failure(result)
	}
	t.become(result)
	return nil
}

func (l *Legacy) upgradeBy(options *ConvertOptions, t *Tensor) error {
	result, err := l.convert(options, func(_ C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result {
		return C.godl_upgrade(l.number(), given, lists)
	})
	if err == nil {
		t.become(result)
	}
	return err
}

// UpgradeInto is Upgrade into storage, without allocating C memory. The result cannot be shared or
// viewed. On any error the storage is unused again.
func (l *Legacy) UpgradeInto(storage *Storage, options *ConvertOptions) (*Tensor, error) {
	room, err := storage.begin()
	if err != nil {
		return nil, err
	}
	defer storage.end(room)
	result, err := l.convert(options, func(any C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result {
		return C.godl_upgrade_into(l.number(), any, given, lists, room)
	})
	if err != nil {
		return nil, err
	}
	return newTensor(result), nil
}

// Import makes a validated, dlbridge-owned tensor of a foreign one; see [Import].
func (f *Foreign) Import(options *ConvertOptions) (*Tensor, error) {
	return new(Tensor).importOf(&f.owner, options)
}

// Import makes a dlbridge-owned tensor of one that was only accepted. A tensor that is dlbridge-owned
// already and satisfies the options is returned as it is, in a new owner.
func (t *Tensor) Import(options *ConvertOptions) (*Tensor, error) {
	return new(Tensor).importOf(&t.owner, options)
}

func (t *Tensor) importOf(source *owner, options *ConvertOptions) (*Tensor, error) {
	if err := source.take(); err != nil {
		return nil, err
	}
	made, err := t.importFrom(source.pointer(), source.kind, options)
	if err != nil {
		source.cancelTake()
	}
	return made, err
}

// Accept validates a foreign tensor in place and makes a Tensor of the same struct, which allocates
// nothing in C. The result cannot be shared or viewed, and the producer must not change the struct while
// it lives; [Foreign.Import] has neither limit. On any error the foreign tensor must still be closed.
func (f *Foreign) Accept(policy *Policy) (*Tensor, error) {
	if err := f.take(); err != nil {
		return nil, err
	}
	if err := f.described().validate(policy); err != nil {
		f.cancelTake()
		return nil, err
	}
	return &Tensor{owner: owner{address: f.address, kind: KindVersioned}}, nil
}

// Downgrade makes a legacy tensor of a versioned one. A property that legacy cannot record is an error,
// unless the options allow its loss or ask for a copy. Ownership as for [Legacy.Upgrade].
func (f *Foreign) Downgrade(options *ConvertOptions) (*Legacy, error) {
	return f.downgrade(options)
}

// Downgrade makes a legacy tensor of a versioned one; see [Foreign.Downgrade].
func (t *Tensor) Downgrade(options *ConvertOptions) (*Legacy, error) {
	return t.downgrade(options)
}

func (o *owner) downgrade(options *ConvertOptions) (*Legacy, error) {
	result, err := o.convert(options, func(any C.int32_t, given C.godl_options, lists C.godl_lists) C.godl_result {
		return C.godl_downgrade(o.number(), any, given, lists)
	})
	if err != nil {
		return nil, err
	}
	return TakeLegacy(pointerOf(result.value)), nil
}

// Export makes of the tensor what a consumer of DLPack target reads, for the caller to hand over or to
// [Release]; see the function [Export]. Success consumes the tensor; on any error it is untouched and
// must still be closed.
func (o *owner) Export(target Version, options *ConvertOptions) (unsafe.Pointer, Kind, error) {
	if err := o.take(); err != nil {
		return nil, KindUnknown, err
	}
	pointer, kind, err := Export(o.pointer(), o.kind, target, options)
	if err != nil {
		o.cancelTake()
		return nil, KindUnknown, err
	}
	return pointer, kind, nil
}
