// SPDX-License-Identifier: Apache-2.0

// A plugin in Go, built as a C shared library, for host.c.
package main

import "C"

import (
	"unsafe"

	dlbridge "dlbridge/bindings/go"
)

// PluginSum consumes a tensor of float32 of either kind and returns the sum of its elements, or -1 if
// it is rejected: then the caller still owns it.
//
//export PluginSum
func PluginSum(pointer unsafe.Pointer) float64 {
	tensor, err := dlbridge.Import(pointer, dlbridge.KindUnknown, nil)
	if err != nil {
		return -1
	}
	share, err := tensor.Share()
	_ = tensor.Close()
	if err != nil {
		return -1
	}
	defer share.Close()
	elements, err := dlbridge.Read[float32](share)
	if err != nil {
		return -1
	}
	defer elements.Close()
	sum := 0.0
	for _, value := range elements.All() {
		sum += float64(value)
	}
	return sum
}

// PluginLend lends a Go slice to the host, with a release callback that panics.
//
//export PluginLend
func PluginLend() unsafe.Pointer {
	tensor, err := dlbridge.FromSlice([]float32{1, 2, 3}, dlbridge.LendSpec{
		Release: func() { panic("no panic leaves Go") },
	})
	if err != nil {
		return nil
	}
	pointer, _ := tensor.Detach()
	return pointer
}

func main() {}
