// SPDX-License-Identifier: Apache-2.0
/// dlbridge for C++17 and later: owners, results, typed views and builders over the C ABI.
///
/// START HERE. `dlbridge::import(managed)` turns any managed tensor from foreign code, even a
/// `void*`, into a validated tensor; `arg<const float, shape<-1, 3>>` turns it into a checked,
/// typed argument; `export_to` turns a tensor into the struct that a consumer reads. Owners release
/// in their destructors.
///
/// OWNERSHIP. An owner releases its tensor once, in its destructor, in reset(), or not at all after
/// release(). A call that consumes an owner takes it by std::move and empties it on success only.
/// release_after leaves the release to the library, once the work on a queue is over.
/// Borrowed objects (spans, refs, views, maps) are valid as long as the owner is not empty.
/// Functions that borrow are deleted for temporaries, or lifetimebound where the compiler has that
/// attribute.
///
/// ERRORS. Functions are noexcept and return result<T>; value() throws dlbridge::exception. Strings
/// and vectors may throw std::bad_alloc.
///
/// THREADS. As for the C ABI: any function on any thread. One thread at a time uses an object; its
/// const functions may be called by several. Deleters and callbacks may run on any thread.
///
/// CALLBACKS. An exception of a callable does not cross the library: see set_exception_handler.
#ifndef DLBRIDGE_DLBRIDGE_HPP_
#define DLBRIDGE_DLBRIDGE_HPP_

// IWYU pragma: begin_exports
#include "dlbridge/hpp/import.hpp"
// The other headers, by name.
#include "dlbridge/hpp/arg.hpp"
#include "dlbridge/hpp/async.hpp"
#include "dlbridge/hpp/context.hpp"
#include "dlbridge/hpp/convert.hpp"
#include "dlbridge/hpp/describe.hpp"
#include "dlbridge/hpp/drivers.hpp"
#include "dlbridge/hpp/ipc.hpp"
#include "dlbridge/hpp/make.hpp"
#include "dlbridge/hpp/map.hpp"
#include "dlbridge/hpp/wrap.hpp"
// IWYU pragma: end_exports

#endif  // DLBRIDGE_DLBRIDGE_HPP_
