// SPDX-License-Identifier: Apache-2.0

// Package address makes handles of pointers, and of integers explicitly.
package address

import (
	"unsafe"

	dlbridge "dlbridge/bindings/go"
)

func pointer(memory unsafe.Pointer) []dlbridge.Buffer {
	return []dlbridge.Buffer{{Handle: dlbridge.HandleOf(memory)}, dlbridge.AddressOf(memory)}
}

func integer(number uint64) dlbridge.Stream {
	return dlbridge.Stream{Kind: dlbridge.StreamQueue, Handle: dlbridge.UnsafeHandle(number)}
}
