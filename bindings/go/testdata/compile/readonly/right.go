// SPDX-License-Identifier: Apache-2.0

// Package readonly writes to a tensor that may be written to, and reads the same elements.
package readonly

import dlbridge "dlbridge/bindings/go"

func write(tensor *dlbridge.Tensor) (float32, error) {
	m, err := dlbridge.Write[float32](tensor)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	m.Set(42, 0)
	var r *dlbridge.Elements[float32] = m.ReadOnly()
	return r.At(0), nil
}
