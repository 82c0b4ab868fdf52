// SPDX-License-Identifier: Apache-2.0
/// dlbridge for C++17 and later: owners, results, typed views and builders over the C ABI.
///
/// OWNERSHIP. An owner releases its tensor once, in its destructor, in reset(), or not at all after
/// release(). A call that consumes an owner takes it by std::move and empties it on success only.
/// What is borrowed (spans, refs, views, maps) is valid as long as the owner is not empty.
///
/// ERRORS. Functions are noexcept and return result<T>; value() throws dlbridge::exception for
/// those who want that. Strings and vectors may throw std::bad_alloc, as they always do.
///
/// THREADS. As for the C ABI: any function on any thread; one object by one thread at a time, const
/// functions by several. Deleters and callbacks may run on any thread.
///
/// CALLBACKS. What a callable throws does not cross the library: see set_exception_handler.
#ifndef DLBRIDGE_DLBRIDGE_HPP_
#define DLBRIDGE_DLBRIDGE_HPP_

// IWYU pragma: begin_exports
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
