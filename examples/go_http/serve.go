// SPDX-License-Identifier: Apache-2.0

// Package serve answers HTTP requests with the elements of a tensor.
package serve

import (
	"encoding/json"
	"net/http"

	dlbridge "dlbridge/bindings/go"
)

// Handler serves the float32 elements of a tensor as JSON, in the order of its shape, whatever its
// strides.
func Handler(tensor *dlbridge.Tensor) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		shape, err := tensor.Shape()
		if err != nil {
			http.Error(response, err.Error(), http.StatusGone) // the tensor was closed
			return
		}
		elements, err := dlbridge.Read[float32](tensor) // checks dtype and device, and keeps the tensor
		if err != nil {
			http.Error(response, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		defer elements.Close()
		values := make([]float32, elements.Len())
		elements.CopyTo(values)
		_ = json.NewEncoder(response).Encode(map[string]any{"shape": shape, "values": values})
	}
}
