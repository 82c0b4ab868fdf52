// SPDX-License-Identifier: Apache-2.0

// The plugin of plugin.h in Go, a shared library for other languages.
package main

/*
#cgo pkg-config: dlbridge
#include "../plugin.h"
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
)

func main() {}

// statusOf is the status of an error, for C.
func statusOf(err error) C.int32_t {
	var failure *dlbridge.Error
	if errors.As(err, &failure) {
		return C.int32_t(failure.Status)
	}
	return -1
}

func sumOf(tensor *dlbridge.Tensor) (float64, error) {
	elements, err := dlbridge.Read[float32](tensor)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, value := range elements.All() {
		sum += float64(value)
	}
	return sum, elements.Close()
}

//export go_take
func go_take(managed *C.DLManagedTensorVersioned, holder *C.uintptr_t, sum *C.double) C.int32_t {
	tensor, err := dlbridge.Import(unsafe.Pointer(managed), dlbridge.KindVersioned, nil)
	if err != nil {
		C.dlbridge_release_versioned(managed)
		return statusOf(err)
	}
	total, err := sumOf(tensor)
	if err != nil {
		_ = tensor.Close()
		return statusOf(err)
	}
	*sum = C.double(total)
	*holder = C.uintptr_t(cgo.NewHandle(tensor))
	return 0
}

func tensorOf(holder C.uintptr_t) *dlbridge.Tensor {
	return cgo.Handle(holder).Value().(*dlbridge.Tensor)
}

//export go_share
func go_share(holder C.uintptr_t, out **C.DLManagedTensorVersioned) C.int32_t {
	shared, err := tensorOf(holder).Share()
	if err != nil {
		return statusOf(err)
	}
	pointer, err := shared.Detach()
	if err != nil {
		return statusOf(err)
	}
	*out = (*C.DLManagedTensorVersioned)(pointer)
	return 0
}

//export go_drop
func go_drop(holder C.uintptr_t) {
	_ = tensorOf(holder).Close()
	cgo.Handle(holder).Delete()
}
