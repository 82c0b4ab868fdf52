// SPDX-License-Identifier: Apache-2.0

// Package element reads the type that a tensor has.
package element

import dlbridge "dlbridge/bindings/go"

func read(tensor *dlbridge.Tensor) (uint64, error) {
	r, err := dlbridge.Read[uint64](tensor)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	same := dlbridge.Elements[uint64](*r)
	return same.At(0), nil
}
