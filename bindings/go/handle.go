// SPDX-License-Identifier: Apache-2.0
// Addresses and native handles.

package dlbridge

import "unsafe"

// Handle is an address or a native handle: a CUdeviceptr, cl_mem, ze_context_handle_t, cudaStream_t and
// so on. The zero value is "not set". An integer is not a Handle, since the library and the drivers
// follow it: make one of a pointer with [HandleOf], or of an integer with [UnsafeHandle].
type Handle struct {
	number uint64
}

// HandleOf is the handle of a pointer to memory that Go does not manage, or to pinned memory.
func HandleOf(pointer unsafe.Pointer) Handle {
	return Handle{uint64(uintptr(pointer))}
}

// UnsafeHandle is the handle of an integer that came from a driver. It is as unsafe as [unsafe.Pointer]:
// nothing checks that number is a live address or handle.
func UnsafeHandle(number uint64) Handle { return Handle{number} }

// Number is the address or handle as an integer.
func (h Handle) Number() uint64 { return h.number }
