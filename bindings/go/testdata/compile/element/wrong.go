// SPDX-License-Identifier: Apache-2.0

// Package element tries to read elements as another type.
package element

import dlbridge "dlbridge/bindings/go"

func conversion(r *dlbridge.Elements[int8]) uint64 {
	wide := dlbridge.Elements[uint64](*r) // want "cannot convert *r"
	return wide.At(0)
}

func pointer(r *dlbridge.Elements[int8]) uint64 {
	return (*dlbridge.Elements[uint64])(r).At(0) // want "cannot convert r"
}

func mutable(m *dlbridge.MutableElements[int8]) {
	wide := dlbridge.MutableElements[uint64](*m) // want "cannot convert *m"
	wide.SetIndex(0, 0x4141414141414141)
}

func literal(r *dlbridge.Elements[int8]) uint64 {
	wide := dlbridge.Elements[uint64]{*r} // want "implicit assignment to unexported field"
	return wide.At(0)
}
