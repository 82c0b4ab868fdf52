// SPDX-License-Identifier: Apache-2.0

// Package dlbridge exchanges tensors through DLPack, by the dlbridge C library.
//
// # Types
//
// What comes from foreign code is a [Legacy] or a [Foreign]: owned, but not validated, so that nothing
// in them can be read but their description. [Legacy.Upgrade], [Foreign.Adopt] and [Foreign.Accept]
// validate and make a [Tensor], whose elements [Read] and [Write] reach. [FromSlice], [Wrap] and
// [Allocate] make tensors of memory of Go's, of anybody's, and of new memory.
//
// # Ownership
//
// A tensor is released by Close, once; Close is safe to call again and from any goroutine. A call that
// consumes a tensor does so where it succeeds: on any error the tensor is untouched and still to be
// closed. Everything that was closed or consumed answers with [ErrClosed]. What goroutines are using
// while another closes it is released when the last of them is done. AutoClose leaves the closing to
// the garbage collector, at a higher price.
//
// # Errors
//
// What the C library refuses is an [*Error], with status, rule, axis and message; [errors.Is] compares
// it with a [Status] or a [Rule].
//
// # Threads and callbacks
//
// Every function may be called from any goroutine. Callbacks run on any thread, also on those that Go
// did not create; their panics go to [OnPanic] and never into C.
package dlbridge
