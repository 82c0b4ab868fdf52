// SPDX-License-Identifier: Apache-2.0
// Copies and releases that streams order: the host does not wait, and the library holds what a
// stream still uses.
#ifndef DLBRIDGE_HPP_ASYNC_HPP_
#define DLBRIDGE_HPP_ASYNC_HPP_

#include <initializer_list>

#include "dlbridge/hpp/make.hpp"

DLBRIDGE_HPP_BEGIN

/// Copies like copy, but returns as soon as the copy is enqueued on the spec's queue (`on`), which
/// must belong to the one driver that copies; on stream::host() the copy is complete. The library
/// holds source and copy until the queue has done the work, so both owners may be released at once.
/// Later work on that queue may use the copy; other queues need handoff. Host memory is the
/// exception to what the types guarantee: until the queue is synchronized, do not read the elements
/// of a copy on the host, and do not write to a source on the host. Only a dlbridge-owned tensor
/// can be held: import any other one first. allow_staging is rejected.
template <class Owner>
result<tensor> copy_async(const Owner& from, const copy_spec& spec) noexcept {
  detail::require_shareable<Owner>();
  return detail::produced<tensor>([&](auto** out, DLBridgeError* sink) {
    return abi::copy_async(from.get(), spec.raw(), out, sink);
  });
}
/// Copies to new host memory on `queue`, as the other overload does.
template <class Owner>
result<tensor> copy_async(const Owner& from, const stream& queue) noexcept {
  return copy_async(from, copy_spec().on(queue));
}

namespace detail {

template <class Source>
result<void> released_after(Source& source, DLBridgeKind kind, span<const stream> queues) noexcept {
  static_assert(sizeof(stream) == sizeof(DLBridgeStream) && std::is_standard_layout_v<stream>);
  using traits = source_traits<plain<Source>>;
  static constexpr stream none;  // an empty list is not NULL
  // A stream has the layout of its struct, so an array of streams is the C function's array.
  const auto* const raw =
      reinterpret_cast<const DLBridgeStream*>(queues.data() != nullptr ? queues.data() : &none);
  result<void> made;
  if (maker::finish(made, abi::release_after(traits::get(source), kind, raw, queues.size(),
                                             maker::sink(made)))) {
    traits::taken(source);
  }
  return made;
}

// The type of a source has its kind, except that of a void*.
template <class Source>
constexpr void require_kind() noexcept {
  static_assert(!std::is_same_v<plain<Source>, void*>,
                "dlbridge: release_after of a void* takes its kind as the second argument");
}

}  // namespace detail

/// Releases a tensor when the work that is on the queues now is over; the host does not wait. For a
/// consumer that has enqueued work on a tensor and no longer needs it. `source` is an owner, by
/// std::move, or a managed tensor. On success it belongs to the library, and its deleter runs in a
/// later copy_async, release_after or collect, on the thread of that call; with stream::host()
/// alone it runs now. On failure (a queue that is capturing a graph, no queue, no memory) the
/// source still owns, although it was passed as an rvalue: the work may still use it. So name the
/// owner: a temporary would be released then.
template <class Source>
result<void> release_after(Source&& source, span<const stream> queues) noexcept {
  detail::require_source<Source>();
  detail::require_kind<Source>();
  if constexpr (detail::is_source<Source>) {
    using traits = detail::source_traits<detail::plain<Source>>;
    return detail::released_after(source, traits::kind(source), queues);
  }
}
template <class Source>
result<void> release_after(Source&& source, const stream& queue) noexcept {
  return release_after(std::forward<Source>(source), span<const stream>(&queue, 1));
}
template <class Source>
result<void> release_after(Source&& source, std::initializer_list<stream> queues) noexcept {
  return release_after(std::forward<Source>(source),
                       span<const stream>(queues.begin(), queues.size()));
}
/// Releases a `void*` whose kind is known.
template <class Pointer>
result<void> release_after(Pointer&& managed, kind is, span<const stream> queues) noexcept {
  detail::require_untyped<Pointer>();
  void* pointer = managed;
  return detail::released_after(pointer, static_cast<DLBridgeKind>(is), queues);
}
template <class Pointer>
result<void> release_after(Pointer&& managed, kind is, const stream& queue) noexcept {
  return release_after(std::forward<Pointer>(managed), is, span<const stream>(&queue, 1));
}

/// What collect does besides releasing the tensors whose work is over.
enum class collect_options : std::uint32_t {
  none = 0,
  // [facts/enums.toml COLLECT]
  wait = DLBRIDGE_COLLECT_WAIT,
  // [/facts]
};
constexpr collect_options operator|(collect_options a, collect_options b) noexcept {
  return static_cast<collect_options>(static_cast<std::uint32_t>(a) |
                                      static_cast<std::uint32_t>(b));
}

/// Releases the held tensors whose work is over, on this thread, and returns the number that is
/// still held. collect_options::wait waits for the work of all tensors that are held now. Call it
/// where a tensor's memory is needed again, or now and then. `*left`, unless NULL, receives the
/// number also on failure.
inline result<std::size_t> collect(collect_options how = collect_options::none,
                                   std::size_t* left = nullptr) noexcept {
  std::size_t held = 0;
  result<std::size_t> made;
  if (detail::maker::finish(
          made, abi::collect(static_cast<std::uint32_t>(how), &held, detail::maker::sink(made)))) {
    detail::maker::value(made) = held;
  }
  if (left != nullptr) {
    *left = held;
  }
  return made;
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_ASYNC_HPP_
