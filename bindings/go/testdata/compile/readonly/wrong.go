// SPDX-License-Identifier: Apache-2.0

// Package readonly tries to write to elements that are for reading only.
package readonly

import dlbridge "dlbridge/bindings/go"

func literal(r *dlbridge.Elements[float32]) {
	m := dlbridge.MutableElements[float32]{Elements: *r} // want "unknown field Elements"
	m.Set(42, 0)
}

func conversion(r *dlbridge.Elements[float32]) {
	m := dlbridge.MutableElements[float32](*r) // want "cannot convert *r"
	m.Set(42, 0)
}

func pointer(r *dlbridge.Elements[float32]) {
	(*dlbridge.MutableElements[float32])(r).Set(42, 0) // want "cannot convert r"
}

func method(r *dlbridge.Elements[float32]) {
	r.Set(42, 0) // want "r.Set undefined"
}

func fields(r *dlbridge.Elements[float32], m *dlbridge.MutableElements[float32]) {
	m.reading = r.reading // want "m.reading undefined" "r.reading undefined"
}
