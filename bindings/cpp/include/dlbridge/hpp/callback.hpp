// SPDX-License-Identifier: Apache-2.0
// C++ callables as C callbacks. An exception ends here: it never crosses the library.
#ifndef DLBRIDGE_HPP_CALLBACK_HPP_
#define DLBRIDGE_HPP_CALLBACK_HPP_

#include <atomic>
#include <memory>
#include <new>

#include "dlbridge/hpp/config.hpp"

DLBRIDGE_HPP_BEGIN

/// Called for an exception that a release callback, deleter or allocator threw, on the thread of
/// the callback and inside a catch block: std::current_exception() returns it. It must not throw.
using exception_handler = void (*)() noexcept;

namespace detail {

inline std::atomic<exception_handler>& handler() noexcept {
  static std::atomic<exception_handler> instance{nullptr};
  return instance;
}

// Runs `f`; passes an exception to the handler and drops it. Returns true if none was thrown.
template <class F>
bool contained(F&& f) noexcept {
#if DLBRIDGE_HPP_EXCEPTIONS
  try {
    std::forward<F>(f)();
    return true;
  } catch (...) {
    if (const exception_handler report = handler().load(std::memory_order_acquire)) {
      report();
    }
    return false;
  }
#else
  std::forward<F>(f)();
  return true;
#endif
}

// A callable on the heap, called once with the arguments of the C callback, or without arguments if
// it takes none.
template <class F>
struct held_callable {
  F callable;

  template <class... Arguments>
  static void run(void* context, Arguments... arguments) noexcept {
    const std::unique_ptr<held_callable> self(static_cast<held_callable*>(context));
    contained([&] {
      if constexpr (std::is_invocable_v<F&, Arguments...>) {
        self->callable(arguments...);
      } else {
        self->callable();
      }
    });
  }
};

// Moves a callable to the heap; NULL if there is no memory or copying it threw.
template <class Holder, class F>
std::unique_ptr<Holder> hold(F&& callable) noexcept {
  std::unique_ptr<Holder> held;
  contained([&] { held.reset(new (std::nothrow) Holder{std::forward<F>(callable)}); });
  return held;
}

}  // namespace detail

/// Sets the handler of exceptions that callbacks throw, and returns the previous one. By default
/// (nullptr) they are dropped: the callback counts as done, an allocator as out of memory. Any
/// thread.
inline exception_handler set_exception_handler(exception_handler handler) noexcept {
  return detail::handler().exchange(handler, std::memory_order_acq_rel);
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_CALLBACK_HPP_
