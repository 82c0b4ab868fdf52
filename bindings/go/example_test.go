// SPDX-License-Identifier: Apache-2.0
// Examples; the first is README.md's.

package dlbridge_test

import (
	"errors"
	"fmt"
	"log"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
)

// accept is what a host of plugins does with the void* of a plugin.
func accept(pointer unsafe.Pointer) (*dlbridge.Tensor, error) {
	tensor, err := dlbridge.Import(pointer, dlbridge.KindUnknown, nil)
	if err != nil {
		log.Print(err) // pointer is untouched: the caller still owns it
	}
	return tensor, err
}

func Example() {
	pointer := plugin()
	tensor, err := accept(pointer)
	if err != nil {
		_ = dlbridge.Release(pointer, dlbridge.KindLegacy)
		return
	}
	defer tensor.Close()

	elements, err := dlbridge.Read[float32](tensor)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer elements.Close()
	fmt.Println(elements.Dim(0), elements.Dim(1), elements.At(1, 2))

	_, err = dlbridge.Read[int64](tensor)
	fmt.Println(errors.Is(err, dlbridge.RuleDTypeRejected))
	// Output:
	// 2 3 5
	// true
}

// plugin lends a slice as a DLManagedTensor. A plugin in C returns such a pointer, too.
func plugin() unsafe.Pointer {
	values := []float32{0, 1, 2, 3, 4, 5}
	lent, err := dlbridge.FromSliceLegacy(values, dlbridge.LendSpec{Shape: []int64{2, 3}})
	if err != nil {
		log.Fatal(err)
	}
	pointer, _ := lent.Detach()
	return pointer
}

// A consumer in C that reads up to DLPack 1.1 gets the pointer, and releases the tensor.
func ExampleTensor_Export() {
	tensor, err := dlbridge.FromSlice([]int32{1, 2, 3}, dlbridge.LendSpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pointer, kind, err := tensor.Export(dlbridge.Version{Major: 1, Minor: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(kind == dlbridge.KindVersioned)
	_ = dlbridge.Release(pointer, kind) // the consumer's part
	// Output: true
}

func ExampleTensor_View() {
	tensor, err := dlbridge.FromSlice([]int32{1, 2, 3, 4, 5, 6}, dlbridge.LendSpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Every second element, from the last one. The view is a separate owner.
	view, err := tensor.View(dlbridge.ViewSpec{Shape: []int64{3}, Strides: []int64{-2}, Offset: 5})
	_ = tensor.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer view.Close()
	elements, err := dlbridge.Read[int32](view)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer elements.Close()
	for _, value := range elements.All() {
		fmt.Println(value)
	}
	// Output:
	// 6
	// 4
	// 2
}

func ExampleWrite() {
	values := []uint8{1, 2, 3}
	tensor, err := dlbridge.FromSlice(values, dlbridge.LendSpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tensor.Close()
	elements, err := dlbridge.Write[uint8](tensor)
	if err != nil {
		fmt.Println(err)
		return
	}
	elements.Set(20, 1)
	_ = elements.Close()
	fmt.Println(values)
	// Output: [1 20 3]
}

// A consumer enqueues work on a tensor and releases it without waiting for that work.
func ExampleTensor_ReleaseAfter() {
	stream, err := dlbridge.StreamFromArrayAPI(dlbridge.CPU, dlbridge.ArrayAPIStreamNone)
	if err != nil {
		fmt.Println(err)
		return
	}
	tensor, err := dlbridge.FromSlice([]int32{1, 2, 3}, dlbridge.LendSpec{
		Release: func() { fmt.Println("released") }})
	if err != nil {
		fmt.Println(err)
		return
	}
	// launch(tensor, stream)
	if err := tensor.ReleaseAfter(stream); err != nil {
		_ = stream.Synchronize() // The tensor is still the caller's, and the work uses it.
		_ = tensor.Close()
	}
	left, err := dlbridge.Collect(dlbridge.CollectWait)
	fmt.Println(left, err)
	// Output:
	// released
	// 0 <nil>
}

func ExampleNegotiate() {
	kind, version, err := dlbridge.Negotiate(dlbridge.NewestVersion(), dlbridge.Version{Major: 1, Minor: 1})
	fmt.Println(kind == dlbridge.KindVersioned, version, err)
	kind, _, err = dlbridge.Negotiate(dlbridge.NewestVersion(), dlbridge.Version{Minor: 8})
	fmt.Println(kind == dlbridge.KindLegacy, err)
	// Output:
	// true 1.1 <nil>
	// true <nil>
}

func ExampleError() {
	_, err := dlbridge.FromSlice(make([]float32, 4), dlbridge.LendSpec{Shape: []int64{5}})
	var failure *dlbridge.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Status.String(), failure.Rule.String())
	}
	// Output: ERROR_POLICY BUFFER_BOUNDS
}
