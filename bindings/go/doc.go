// SPDX-License-Identifier: Apache-2.0

// Package dlbridge exchanges tensors through DLPack, with the dlbridge C library.
//
// # Start here
//
// [Import] makes a validated [Tensor] of any managed tensor from foreign code. [Read] and [Write] reach
// its elements. [Export] converts for a consumer, and [Release] releases a tensor that no consumer took.
// [FromSlice], [Wrap] and [Allocate] make tensors of Go slices, of native memory, and of new memory.
//
// # Ownership
//
// A tensor is released by Close, once; Close may be called again and from any goroutine. A call that
// consumes a tensor does so only on success: on any error the tensor is untouched and must still be
// closed. Every use of a tensor that was closed or consumed returns [ErrClosed]. A tensor that is closed
// while another goroutine uses it is released when the last use ends. AutoClose leaves the closing to
// the garbage collector, which costs more. ReleaseAfter leaves it to the library, once the work on a
// stream is over.
//
// # Errors
//
// An error of the C library is an [*Error], with status, rule, axis and message; [errors.Is] compares it
// with a [Status] or a [Rule].
//
// # Structs
//
// The zero value of every struct is its default, or is rejected with the name of the field that must be
// set. Addresses and native handles are of type [Handle], which no integer converts to.
//
// # Threads and callbacks
//
// Every function may be called from any goroutine. Callbacks run on any thread, also on those that Go
// did not create; their panics go to [OnPanic] and never into C.
package dlbridge
