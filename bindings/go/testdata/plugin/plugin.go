// SPDX-License-Identifier: Apache-2.0

// A plugin in Go, built as a C shared library, for host.c.
package main

import "C"

import (
	"unsafe"

	dlbridge "dlbridge/bindings/go"
)

// PluginSum consumes a versioned tensor of float32 and gives the sum of its elements; -1 where it is
// refused, and then it stays the caller's.
//
//export PluginSum
func PluginSum(pointer unsafe.Pointer) float64 {
	foreign := dlbridge.ImportVersioned(pointer)
	tensor, err := foreign.Adopt(nil)
	if err != nil {
		_, _ = foreign.Detach()
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

// PluginLend lends memory of Go's to the host, whose release callback panics.
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
