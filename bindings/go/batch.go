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

// UpgradeMany upgrades all sources or none, in one crossing into C. Success consumes them all, and
// the results stand in their order. On any error, a [*BatchError], all are untouched and still to be
// closed. ConvertCopy is refused here.
func UpgradeMany(sources []*Legacy, options *ConvertOptions) ([]*Tensor, error) {
	if options != nil && options.Allocator != nil {
		return nil, &BatchError{-1, &Error{Status: StatusInvalidArgument, Axis: -1,
			Message: "a batch copies nothing, so it needs no allocator"}}
	}
	var few [128]C.uintptr_t
	numbers := few[:]
	if 2*len(sources) > len(few) {
		numbers = make([]C.uintptr_t, 2*len(sources))
	}
	from, to := numbers[:len(sources)], numbers[len(sources):2*len(sources)]
	for i, source := range sources {
		if err := source.take(); err != nil {
			giveBack(sources[:i])
			return nil, &BatchError{i, err}
		}
		from[i] = source.number()
	}
	result := upgradeMany(from, to, options)
	if result.status != C.DLBRIDGE_OK {
		giveBack(sources)
		index := int(result.value)
		if index >= len(sources) {
			index = -1
		}
		return nil, &BatchError{index, failure(result)}
	}
	return tensorsOf(to), nil
}

func upgradeMany(from, to []C.uintptr_t, options *ConvertOptions) C.godl_result {
	var none C.uintptr_t
	if len(from) == 0 {
		from, to = unsafe.Slice(&none, 1), unsafe.Slice(&none, 1)
		return C.godl_upgrade_many(&from[0], 0, 0, nil, nil, nil, &to[0])
	}
	if options == nil {
		return C.godl_upgrade_many(&from[0], C.size_t(len(from)), 0, nil, nil, nil, &to[0])
	}
	given := C.godl_options{
		flags:        C.uint32_t(options.Flags),
		version:      options.Version.c(),
		source_flags: C.uint64_t(options.SourceFlags),
		policy:       options.Policy.c(),
	}
	return C.godl_upgrade_many(&from[0], C.size_t(len(from)), 1, &given, options.Policy.devices(),
		options.Policy.dtypes(), &to[0])
}

func giveBack(sources []*Legacy) {
	for _, source := range sources {
		source.giveBack()
	}
}

// tensorsOf makes all owners at once.
func tensorsOf(numbers []C.uintptr_t) []*Tensor {
	owners := make([]Tensor, len(numbers))
	tensors := make([]*Tensor, len(numbers))
	for i, number := range numbers {
		owners[i].address = uintptr(number)
		owners[i].kind = KindVersioned
		tensors[i] = &owners[i]
	}
	return tensors
}

// CloseMany closes all tensors, in one crossing into C for those that nothing is using. It always
// returns nil.
func CloseMany(tensors ...*Tensor) error {
	numbers := make([]C.uintptr_t, 0, len(tensors))
	for _, tensor := range tensors {
		if tensor.close() {
			if tensor.state.Load()&stateAuto != 0 {
				stopCleanup(tensor.address)
			}
			numbers = append(numbers, tensor.number())
		}
	}
	if len(numbers) > 0 {
		C.godl_release_many(unsafe.SliceData(numbers), C.size_t(len(numbers)))
	}
	return nil
}
