// SPDX-License-Identifier: Apache-2.0

// Package address tries to use integers as addresses and native handles.
package address

import dlbridge "dlbridge/bindings/go"

var number uint64 = 0xdead0000

func constant() dlbridge.Buffer {
	return dlbridge.Buffer{Handle: 0xdead0000} // want "cannot use 0xdead0000"
}

func variable() dlbridge.Buffer {
	return dlbridge.Buffer{Handle: dlbridge.Handle(number)} // want "cannot convert number"
}

func literal() dlbridge.Buffer {
	return dlbridge.Buffer{Handle: dlbridge.Handle{number: number}} // want "unexported field number"
}

func pointer() dlbridge.Buffer {
	return dlbridge.AddressOf(number) // want "cannot use number"
}

func queue() dlbridge.Stream {
	return dlbridge.Stream{Kind: dlbridge.StreamQueue, Handle: number} // want "cannot use number"
}

func context() dlbridge.ContextEntry {
	return dlbridge.ContextEntry{Context: number} // want "cannot use number"
}

func allocate(dlbridge.Device, uint64, uint64, dlbridge.Stream) uintptr { return 0xdead0000 }

func allocator(free dlbridge.DeallocateFunc) (*dlbridge.Allocator, error) {
	return dlbridge.NewAllocator(allocate, free) // want "cannot use allocate"
}

func managed() (*dlbridge.Tensor, error) {
	return dlbridge.Import(number, dlbridge.KindUnknown, nil) // want "cannot use number"
}
