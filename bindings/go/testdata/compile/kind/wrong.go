// SPDX-License-Identifier: Apache-2.0

// Package kind tries to skip the validation of a foreign tensor.
package kind

import dlbridge "dlbridge/bindings/go"

func versioned(f *dlbridge.Foreign) *dlbridge.Tensor {
	return (*dlbridge.Tensor)(f) // want "cannot convert f"
}

func legacy(l *dlbridge.Legacy) *dlbridge.Tensor {
	return (*dlbridge.Tensor)(l) // want "cannot convert l"
}

func other(l *dlbridge.Legacy) *dlbridge.Foreign {
	return (*dlbridge.Foreign)(l) // want "cannot convert l"
}

func read(f *dlbridge.Foreign) (*dlbridge.Elements[float32], error) {
	return dlbridge.Read[float32](f) // want "cannot use f"
}
