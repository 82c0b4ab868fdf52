// SPDX-License-Identifier: Apache-2.0
// Examples; the first is README.md's.

package dlbridge_test

import (
	"errors"
	"fmt"

	dlbridge "dlbridge/bindings/go"
)

func Example() {
	// Lend a slice of Go's. A consumer in C would get the pointer that legacy.Detach() gives.
	values := []float32{0, 1, 2, 3, 4, 5}
	legacy, err := dlbridge.FromSliceLegacy(values, dlbridge.LendSpec{Shape: []int64{2, 3}})
	if err != nil {
		fmt.Println(err)
		return
	}

	// A legacy tensor, as foreign code hands it over: validated, and from now on versioned.
	tensor, err := legacy.Upgrade(nil)
	if err != nil {
		_ = legacy.Close() // a refusal consumes nothing
		fmt.Println(err)
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
	fmt.Println(errors.Is(err, dlbridge.RuleDTypeRefused))
	// Output:
	// 2 3 5
	// true
}

func ExampleTensor_View() {
	tensor, err := dlbridge.FromSlice([]int32{1, 2, 3, 4, 5, 6}, dlbridge.LendSpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Every other element, from the back. The view is an owner of its own.
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
	var refusal *dlbridge.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Status.String(), refusal.Rule.String())
	}
	// Output: ERROR_POLICY BUFFER_BOUNDS
}
