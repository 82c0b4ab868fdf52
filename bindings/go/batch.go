// SPDX-License-Identifier: Apache-2.0
// Batches: many tensors in one crossing into C, which costs more than the work on one of them.

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

// BatchError is the error of a batch.
type BatchError struct {
	// Index of the tensor that was rejected; -1 if none caused the error.
	Index int
	// Err is an *Error, ErrClosed or ErrInUse.
	Err error
}

// Error has the index and the reason.
func (e *BatchError) Error() string {
	if e.Index < 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("tensor %d of the batch: %v", e.Index, e.Err)
}

// Unwrap is the error of the tensor.
func (e *BatchError) Unwrap() error { return e.Err }

// Batch owns tensors that one call has made. They share one Go allocation, which lives while
// any of them is reachable.
type Batch struct {
	tensors []Tensor
}

// Len is the number of tensors.
func (b *Batch) Len() int { return len(b.tensors) }

// At is a tensor of the batch, which may be closed or consumed on its own.
func (b *Batch) At(index int) *Tensor { return &b.tensors[index] }

// All iterates over the tensors.
func (b *Batch) All() iter.Seq2[int, *Tensor] {
	return func(yield func(int, *Tensor) bool) {
		for i := range b.tensors {
			if !yield(i, &b.tensors[i]) {
				return
			}
		}
	}
}

// Close closes all tensors, in one crossing into C for those that are not in use; see [Tensor.Close]. It
// always returns nil.
func (b *Batch) Close() error {
	if len(b.tensors) == 0 {
		return nil
	}
	left := 0
	for i := range b.tensors {
		tensor := &b.tensors[i]
		// Nearly always: neither in use nor closed, and without AutoClose.
		if tensor.state.CompareAndSwap(0, stateClosed|stateReleasing) {
			continue
		}
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

// ImportMany imports the legacy tensors at pointers, all or none, in one crossing into C. The caller
// must own them; on any error, a [*BatchError], the caller still owns them. A pointer given twice and
// ConvertCopy are invalid arguments.
func ImportMany(pointers []unsafe.Pointer, options *ConvertOptions) (*Batch, error) {
	batch := new(Batch)
	err := batch.upgrade((*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(pointers))), len(pointers), options)
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// UpgradeMany upgrades all sources or none, in one crossing into C. Success consumes them all, and the
// results have their order. On any error, a [*BatchError], all are untouched and must still be closed.
// ConvertCopy is an invalid argument.
func UpgradeMany(sources []*Legacy, options *ConvertOptions) (*Batch, error) {
	batch := new(Batch)
	var few [64]C.uintptr_t
	numbers := few[:0]
	for i, source := range sources {
		if err := takeSource(source); err != nil {
			cancelTake(sources[:i])
			return nil, &BatchError{i, err}
		}
		numbers = append(numbers, source.number())
	}
	if err := batch.upgrade(unsafe.SliceData(numbers), len(numbers), options); err != nil {
		cancelTake(sources)
		return nil, err
	}
	return batch, nil
}

func takeSource(source *Legacy) error {
	if source == nil {
		return invalid("sources: expected tensors, found nil")
	}
	return source.take()
}

func cancelTake(sources []*Legacy) {
	for _, source := range sources {
		source.cancelTake()
	}
}

func (b *Batch) upgrade(from *C.uintptr_t, count int, options *ConvertOptions) error {
	if options != nil && options.Allocator != nil {
		return &BatchError{-1, invalid("options: Allocator must be nil, since a batch copies nothing")}
	}
	if options != nil {
		if err := options.Policy.valid(); err != nil {
			return &BatchError{-1, err}
		}
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
		return C.godl_upgrade_many(from, C.size_t(count), 0, nil, C.godl_lists{}, &to[0])
	}
	if options.Policy != nil && options.Policy.Level == LevelDevice {
		return upgradeManyDevice(unsafe.Slice(from, count), options, to)
	}
	given := options.c()
	return C.godl_upgrade_many(from, C.size_t(count), 1, &given, options.Policy.lists(), &to[0])
}

// upgradeManyDevice asks drivers, which may run Go callbacks: all memory that C gets is on the heap.
func upgradeManyDevice(from []C.uintptr_t, options *ConvertOptions, to []C.uintptr_t) C.godl_result {
	given := options.c()
	numbers := append(make([]C.uintptr_t, 0, 2*len(to)), from...)
	outs := numbers[len(from) : len(from)+len(to)]
	result := C.godl_upgrade_many_device(unsafe.SliceData(numbers), C.size_t(len(from)), 1, &given,
		options.Policy.lists(), &outs[0])
	copy(to, outs)
	return result
}

// A batch is an array of godl_owner in C.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Tensor{})-C.sizeof_godl_owner]
	_ = [1]struct{}{}[unsafe.Offsetof(owner{}.state)-unsafe.Offsetof(C.godl_owner{}.state)]
)
