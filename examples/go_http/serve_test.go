// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	dlbridge "dlbridge/bindings/go"
)

func get[T dlbridge.Element](values []T, spec dlbridge.LendSpec) {
	tensor, err := dlbridge.FromSlice(values, spec) // a tensor of a plugin comes by dlbridge.Import
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tensor.Close()
	server := httptest.NewServer(Handler(tensor))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Printf("%s: %s", response.Status, body)
}

func Example() {
	transposed := dlbridge.LendSpec{Shape: []int64{3, 2}, Strides: []int64{1, 3}}
	get([]float32{0, 1, 2, 3, 4, 5}, transposed)
	get([]int64{0, 1}, dlbridge.LendSpec{})
	// Output:
	// 200 OK: {"shape":[3,2],"values":[0,3,1,4,2,5]}
	// 422 Unprocessable Entity: dlbridge: the policy does not list the dtype: expected float32, found int64; convert it to a listed dtype before the call (DTYPE_REJECTED)
}
