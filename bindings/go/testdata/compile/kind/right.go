// SPDX-License-Identifier: Apache-2.0

// Package kind validates a foreign tensor.
package kind

import dlbridge "dlbridge/bindings/go"

func read(f *dlbridge.Foreign) (*dlbridge.Elements[float32], error) {
	tensor, err := f.Import(nil)
	if err != nil {
		return nil, err
	}
	defer tensor.Close()
	return dlbridge.Read[float32](tensor)
}
