// SPDX-License-Identifier: Apache-2.0
// The context table of the process: DLDevice to native device, context and default queue.
#ifndef DLBRIDGE_HPP_CONTEXT_HPP_
#define DLBRIDGE_HPP_CONTEXT_HPP_

#include <iterator>

#include "dlbridge/hpp/callback.hpp"
#include "dlbridge/hpp/stream.hpp"

DLBRIDGE_HPP_BEGIN

/// One context of one device: a DLBridgeContextEntry.
class context_entry {
 public:
  constexpr context_entry() noexcept : raw_ DLBRIDGE_CONTEXT_ENTRY_INIT {}
  /// From a C struct that was filled elsewhere.
  constexpr explicit context_entry(const DLBridgeContextEntry& raw) noexcept : raw_(raw) {}
  context_entry(backend whose, const dlbridge::device& where) noexcept : context_entry() {
    raw_.backend = static_cast<DLBridgeBackend>(whose);
    raw_.device = where;
  }
  [[nodiscard]] constexpr context_entry platform(std::uint64_t handle) const noexcept {
    context_entry made = *this;
    made.raw_.platform = handle;
    return made;
  }
  [[nodiscard]] constexpr context_entry native_device(std::uint64_t handle) const noexcept {
    context_entry made = *this;
    made.raw_.native_device = handle;
    return made;
  }
  [[nodiscard]] context_entry uuid(span<const unsigned char> bytes) const noexcept {
    context_entry made = *this;
    const std::size_t most = sizeof made.raw_.uuid;
    if (!bytes.empty()) {
      std::memcpy(made.raw_.uuid, bytes.data(), bytes.size() < most ? bytes.size() : most);
    }
    return made;
  }
  [[nodiscard]] constexpr context_entry context(std::uint64_t handle) const noexcept {
    context_entry made = *this;
    made.raw_.context = handle;
    return made;
  }
  /// The default queue, borrowed.
  [[nodiscard]] constexpr context_entry queue(
      std::uint64_t handle, stream_kind kind = stream_kind::queue) const noexcept {
    context_entry made = *this;
    made.raw_.queue = handle;
    made.raw_.queue_kind = static_cast<std::int32_t>(kind);
    return made;
  }
  /// Becomes the default of its device.
  [[nodiscard]] constexpr context_entry as_default() const noexcept {
    return add(DLBRIDGE_CONTEXT_DEFAULT);
  }
  /// Removes entries of the same device with another native device.
  [[nodiscard]] constexpr context_entry replace() const noexcept {
    return add(DLBRIDGE_CONTEXT_REPLACE);
  }
  /// A library found the device itself; an application's registration takes precedence.
  [[nodiscard]] constexpr context_entry enumerated() const noexcept {
    return add(DLBRIDGE_CONTEXT_ENUMERATED);
  }
  /// The context was made for the table.
  [[nodiscard]] constexpr context_entry made_for_table() const noexcept {
    return add(DLBRIDGE_CONTEXT_PRIVATE);
  }
  /// A C callback that runs once when the entry is unregistered and no longer retained.
  [[nodiscard]] constexpr context_entry release(void (*callback)(void*,
                                                                 const DLBridgeContextEntry*),
                                                void* context) const noexcept {
    context_entry made = *this;
    made.raw_.release = callback;
    made.raw_.release_context = context;
    return made;
  }

  std::uint64_t id() const noexcept { return raw_.id; }
  const DLBridgeContextEntry& raw() const noexcept DLBRIDGE_HPP_BORROWS { return raw_; }
  DLBridgeContextEntry* out() noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  constexpr context_entry add(std::uint32_t property) const noexcept {
    context_entry made = *this;
    made.raw_.properties = raw_.properties | property;
    return made;
  }
  DLBridgeContextEntry raw_;
};

namespace detail {

// An id that one call ends once.
template <DLBridgeStatus (*End)(std::uint64_t, DLBridgeError*)>
class unique_id {
 public:
  constexpr unique_id() noexcept = default;
  /// Takes over the caller's `id`; 0 means none.
  explicit constexpr unique_id(std::uint64_t id) noexcept : id_(id) {}
  unique_id(unique_id&& other) noexcept : id_(other.release()) {}
  unique_id& operator=(unique_id&& other) noexcept {
    const unique_id gone(std::exchange(id_, other.release()));
    return *this;
  }
  unique_id(const unique_id&) = delete;
  unique_id& operator=(const unique_id&) = delete;
  ~unique_id() { static_cast<void>(end()); }

  std::uint64_t id() const noexcept { return id_; }
  explicit operator bool() const noexcept { return id_ != 0; }
  /// Gives the id to the caller, who must end it.
  [[nodiscard]] std::uint64_t release() noexcept { return std::exchange(id_, 0); }
  /// Ends it now; rejected (not found) if the table does not have it. Nothing to do where it is
  /// empty.
  result<void> end() noexcept {
    result<void> made;
    if (const std::uint64_t gone = release()) {
      maker::finish(made, End(gone, maker::sink(made)));
    }
    return made;
  }

 private:
  std::uint64_t id_ = 0;
};

inline DLBridgeStatus unregister_context(std::uint64_t id, DLBridgeError* sink) noexcept {
  return abi::context_unregister(id, sink);
}
inline DLBridgeStatus end_lease(std::uint64_t id, DLBridgeError* sink) noexcept {
  return abi::context_release(id, sink);
}

}  // namespace detail

/// An entry that this object's destructor unregisters; release() leaves it in the table for good.
using context_registration = detail::unique_id<&detail::unregister_context>;
/// Keeps an entry from being released.
using context_lease = detail::unique_id<&detail::end_lease>;

/// Adds an entry to the table.
inline result<context_registration> context_register(const context_entry& entry) noexcept {
  result<context_registration> made;
  std::uint64_t id = 0;
  const DLBridgeStatus status = abi::context_register(&entry.raw(), &id, detail::maker::sink(made));
  if (detail::maker::finish(made, status)) {
    detail::maker::value(made) = context_registration(id);
  }
  return made;
}
/// Adds an entry with a callable as its release callback, `release(const DLBridgeContextEntry*)` or
/// `release()`; on failure it is destroyed uncalled.
template <class F>
result<context_registration> context_register(const context_entry& entry, F&& release) noexcept {
  using holder = detail::held_callable<std::decay_t<F>>;
  std::unique_ptr<holder> held = detail::hold<holder>(std::forward<F>(release));
  if (held == nullptr) {
    return error(status_code::out_of_memory, rule_code::none, -1,
                 "no memory for a release callback");
  }
  result<context_registration> made = context_register(
      entry.release(&holder::template run<const DLBridgeContextEntry*>, held.get()));
  if (made) {
    static_cast<void>(held.release());
  }
  return made;
}

/// Finds the entry of a device with that context, or its default (0); may start the backend.
inline result<context_entry> context_find(const device& where, std::uint64_t context = 0) noexcept {
  result<context_entry> made;
  const DLBridgeStatus status = abi::context_find(where, context, detail::maker::value(made).out(),
                                                  detail::maker::sink(made));
  detail::maker::finish(made, status);
  return made;
}

/// Keeps entry `id` from being released for as long as the lease lives.
inline result<context_lease> context_retain(std::uint64_t id) noexcept {
  result<context_lease> made;
  if (detail::maker::finish(made, abi::context_retain(id, detail::maker::sink(made)))) {
    detail::maker::value(made) = context_lease(id);
  }
  return made;
}

/// Copies of the table's entries, for a range-based for. Entries that are added or removed during
/// the loop may be seen or not; no entry is seen twice.
class contexts {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = context_entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const context_entry*;
    using reference = const context_entry&;

    iterator() noexcept = default;
    explicit iterator(bool /*first*/) noexcept { ++*this; }
    reference operator*() const noexcept { return entry_; }
    pointer operator->() const noexcept { return &entry_; }
    iterator& operator++() noexcept {
      at_end_ = abi::context_next(&cursor_, entry_.out(), nullptr) != DLBRIDGE_OK;
      return *this;
    }
    iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.at_end_ == b.at_end_ && (a.at_end_ || a.cursor_ == b.cursor_);
    }
    friend bool operator!=(const iterator& a, const iterator& b) noexcept { return !(a == b); }

   private:
    context_entry entry_;
    std::uint64_t cursor_ = 0;
    bool at_end_ = true;
  };

  iterator begin() const noexcept { return iterator(true); }
  iterator end() const noexcept { return {}; }
};

/// The table of this copy of the library, as other libraries see it.
inline const DLBridgeContextTable* context_table() noexcept { return abi::context_table_v1(); }

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_CONTEXT_HPP_
