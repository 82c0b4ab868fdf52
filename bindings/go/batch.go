// SPDX-License-Identifier: Apache-2.0
// Many tensors in one crossing, since a crossing costs more than the work of one.

package dlbridge

/*
#cgo noescape godl_upgrade_many
#cgo nocallback godl_upgrade_many
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"iter"
	"unsafe"
)

// BatchError is the refusal of a batch.
type BatchError struct {
	// Index of the tensor that was refused; -1 where none is to blame.
	Index int
	// Err is an *Error, ErrClosed or ErrInUse.
	Err error
}

// Error names the tensor and why it was refused.
func (e *BatchError) Error() string {
	if e.Index < 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("tensor %d of the batch: %v", e.Index, e.Err)
}

// Unwrap is the refusal itself.
func (e *BatchError) Unwrap() error { return e.Err }

// Batch owns tensors that one call has made, in one piece of memory of Go's, which the garbage
// collector keeps while one of them is reachable.
type Batch struct {
	tensors []Tensor
}

// Len is the number of tensors.
func (b *Batch) Len() int { return len(b.tensors) }

// At is a tensor of the batch, which may be closed or consumed apart from the others.
func (b *Batch) At(index int) *Tensor { return &b.tensors[index] }

// All goes through the tensors.
func (b *Batch) All() iter.Seq2[int, *Tensor] {
	return func(yield func(int, *Tensor) bool) {
		for i := range b.tensors {
			if !yield(i, &b.tensors[i]) {
				return
			}
		}
	}
}

// Close closes all tensors, in one crossing into C for those that nothing is using; see
// [Tensor.Close]. It always returns nil.
func (b *Batch) Close() error {
	if len(b.tensors) == 0 {
		return nil
	}
	left := 0
	for i := range b.tensors {
		tensor := &b.tensors[i]
		if !tensor.close() {
			left++
			continue
		}
		if tensor.state.Load()&stateAuto != 0 {
			tensor.stopCleanup()
		}
		tensor.state.Or(stateReleasing)
	}
	if left < len(b.tensors) {
		C.godl_release_owners((*C.godl_owner)(unsafe.Pointer(unsafe.SliceData(b.tensors))),
			C.size_t(len(b.tensors)))
	}
	return nil
}

// ImportMany takes over and upgrades the DLManagedTensors at pointers, all or none, in one crossing
// into C and without an owner for each source. They must be live and the caller's; on any error, a
// [*BatchError], they still are. ConvertCopy is refused here.
func ImportMany(pointers []unsafe.Pointer, options *ConvertOptions) (*Batch, error) {
	batch := new(Batch)
	err := batch.upgrade((*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(pointers))), len(pointers), options)
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// UpgradeMany upgrades all sources or none, in one crossing into C. Success consumes them all, and
// the results stand in their order. On any error, a [*BatchError], all are untouched and still to be
// closed. ConvertCopy is refused here.
func UpgradeMany(sources []*Legacy, options *ConvertOptions) (*Batch, error) {
	batch := new(Batch)
	var few [64]C.uintptr_t
	numbers := few[:0]
	for i, source := range sources {
		if err := takeSource(source); err != nil {
			giveBack(sources[:i])
			return nil, &BatchError{i, err}
		}
		numbers = append(numbers, source.number())
	}
	if err := batch.upgrade(unsafe.SliceData(numbers), len(numbers), options); err != nil {
		giveBack(sources)
		return nil, err
	}
	return batch, nil
}

func takeSource(source *Legacy) error {
	if source == nil {
		return invalid("a source is nil")
	}
	return source.take()
}

func giveBack(sources []*Legacy) {
	for _, source := range sources {
		source.giveBack()
	}
}

func (b *Batch) upgrade(from *C.uintptr_t, count int, options *ConvertOptions) error {
	if options != nil && options.Allocator != nil {
		return &BatchError{-1, invalid("a batch copies nothing, so it needs no allocator")}
	}
	var none C.uintptr_t
	var few [64]C.uintptr_t
	to := few[:]
	if count > len(few) {
		to = make([]C.uintptr_t, count)
	}
	if count == 0 {
		from = &none
	}
	result := upgradeMany(from, count, options, to)
	if result.status != C.DLBRIDGE_OK {
		index := int(result.value)
		if index >= count {
			index = -1
		}
		return &BatchError{index, failure(result)}
	}
	b.tensors = make([]Tensor, count)
	for i := range b.tensors {
		b.tensors[i].address = uintptr(to[i])
		b.tensors[i].kind = KindVersioned
	}
	return nil
}

func upgradeMany(from *C.uintptr_t, count int, options *ConvertOptions, to []C.uintptr_t) C.godl_result {
	if options == nil {
		return C.godl_upgrade_many(from, C.size_t(count), 0, nil, nil, nil, &to[0])
	}
	if options.Policy != nil && options.Policy.Level == LevelDevice {
		return upgradeManyDevice(unsafe.Slice(from, count), options, to)
	}
	given := C.godl_options{
		flags:        C.uint32_t(options.Flags),
		version:      options.Version.c(),
		source_flags: C.uint64_t(options.SourceFlags),
		policy:       options.Policy.c(),
	}
	return C.godl_upgrade_many(from, C.size_t(count), 1, &given, options.Policy.devices(),
		options.Policy.dtypes(), &to[0])
}

// upgradeManyDevice asks drivers, which may run callbacks of Go's: all that C gets is on the heap.
func upgradeManyDevice(from []C.uintptr_t, options *ConvertOptions, to []C.uintptr_t) C.godl_result {
	given := C.godl_options{
		flags:        C.uint32_t(options.Flags),
		version:      options.Version.c(),
		source_flags: C.uint64_t(options.SourceFlags),
		policy:       options.Policy.c(),
	}
	numbers := append(make([]C.uintptr_t, 0, 2*len(to)), from...)
	outs := numbers[len(from) : len(from)+len(to)]
	result := C.godl_upgrade_many_device(unsafe.SliceData(numbers), C.size_t(len(from)), 1, &given,
		options.Policy.devices(), options.Policy.dtypes(), &outs[0])
	copy(to, outs)
	return result
}

// What C sees of an owner is what it is.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Tensor{})-C.sizeof_godl_owner]
	_ = [1]struct{}{}[unsafe.Offsetof(owner{}.state)-unsafe.Offsetof(C.godl_owner{}.state)]
)
