// SPDX-License-Identifier: Apache-2.0
// New tensors: shared, viewed, allocated and copied; and native memory as a value.
#ifndef DLBRIDGE_HPP_MAKE_HPP_
#define DLBRIDGE_HPP_MAKE_HPP_

#include <initializer_list>

#include "dlbridge/hpp/convert.hpp"
#include "dlbridge/hpp/stream.hpp"

DLBRIDGE_HPP_BEGIN

namespace detail {

// Only a dlbridge-owned tensor that is not in the caller's storage can have a second owner.
template <class Owner>
constexpr void require_shareable() noexcept {
  static_assert(!std::is_same_v<Owner, stored_tensor>,
                "dlbridge: a tensor in the caller's storage cannot have a second owner");
  static_assert(std::is_same_v<Owner, tensor> || std::is_same_v<Owner, stored_tensor>,
                "dlbridge: only a dlbridge-owned tensor can be shared and viewed: import it first");
}

}  // namespace detail

/// Makes one more independent owner of the same data, which may outlive `from`. Several threads may
/// share one tensor at once.
template <class Owner>
DLBRIDGE_HPP_INLINE result<tensor> share(const Owner& from) noexcept {
  detail::require_shareable<Owner>();
  return detail::produced<tensor>(
      [&](auto** out, DLBridgeError* sink) { return abi::share(from.get(), out, sink); });
}

/// Another shape on a tensor's data: extents, strides in elements (omitted: compact, last axis
/// fastest), offset in elements, dtype. The arrays are borrowed for the call.
class view_spec {
 public:
  constexpr explicit view_spec(span<const std::int64_t> shape) noexcept
      : raw_ DLBRIDGE_VIEW_SPEC_INIT {
    raw_.ndim = static_cast<std::int32_t>(shape.size());
    raw_.shape = shape.data();
  }
  /// A braced list, which ends with the statement: `view(tensor, view_spec({2, 3}).offset(1))`. A
  /// spec with a name needs arrays with names; clang warns of a list there.
  // NOLINTNEXTLINE(google-explicit-constructor): a list alone says nothing of a view
  constexpr explicit view_spec(
      std::initializer_list<std::int64_t> shape DLBRIDGE_HPP_BORROWS) noexcept
      : view_spec(span<const std::int64_t>(shape.begin(), shape.size())) {}
  /// As many strides as axes.
  [[nodiscard]] constexpr view_spec strides(span<const std::int64_t> elements) const noexcept {
    view_spec made = *this;
    made.raw_.strides = elements.data();
    made.strides_ = elements.size();
    return made;
  }
  /// A braced list, which ends with the statement.
  [[nodiscard]] constexpr view_spec strides(
      std::initializer_list<std::int64_t> elements DLBRIDGE_HPP_BORROWS) const noexcept {
    return strides(span<const std::int64_t>(elements.begin(), elements.size()));
  }
  [[nodiscard]] constexpr view_spec offset(std::int64_t elements) const noexcept {
    view_spec made = *this;
    made.raw_.offset = elements;
    return made;
  }
  /// Dtype of the view, of as many bits as the parent's; omitted: the parent's.
  [[nodiscard]] constexpr view_spec dtype(const dlbridge::dtype& type) const noexcept {
    view_spec made = *this;
    made.raw_.dtype = type;
    return made;
  }
  /// True if there are as many strides as axes, or none.
  constexpr bool consistent() const noexcept {
    return raw_.strides == nullptr || strides_ == static_cast<std::size_t>(raw_.ndim);
  }
  /// Of a struct that was filled by other means.
  template <class Raw, class = std::enable_if_t<std::is_same_v<Raw, DLBridgeViewSpec>>>
  constexpr explicit view_spec(const Raw& raw) noexcept  // not from a braced list of extents
      : raw_(raw), strides_(static_cast<std::size_t>(raw.ndim)) {}
  constexpr const DLBridgeViewSpec* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  DLBridgeViewSpec raw_;
  std::size_t strides_ = 0;
};

namespace detail {

inline error unlike_lengths() noexcept {
  return {status_code::invalid_argument, rule_code::none, -1,
          "strides: expected as many as the shape has axes, or none"};
}

}  // namespace detail

/// Makes another owner like share, with its own shape, strides, offset and dtype. The elements of
/// the view must lie between the lowest and the highest element of `from`.
template <class Owner>
DLBRIDGE_HPP_INLINE result<tensor> view(const Owner& from, const view_spec& spec) noexcept {
  detail::require_shareable<Owner>();
  if (!spec.consistent()) {
    return detail::unlike_lengths();
  }
  return detail::produced<tensor>([&](auto** out, DLBridgeError* sink) {
    return abi::view(from.get(), spec.raw(), out, sink);
  });
}
/// Another shape of the same elements: `view(tensor, {2, 3})`.
template <class Owner>
DLBRIDGE_HPP_INLINE result<tensor> view(const Owner& from,
                                        std::initializer_list<std::int64_t> shape) noexcept {
  return view(from, view_spec(shape));
}

/// A tensor to allocate: compact, on the CPU unless there is an allocator. The shape is borrowed
/// for the call, the allocator for as long as the memory lives.
class allocate_spec {
 public:
  constexpr allocate_spec(dtype type, span<const std::int64_t> shape) noexcept
      : raw_ DLBRIDGE_ALLOCATE_SPEC_INIT {
    raw_.dtype = type;
    raw_.ndim = static_cast<std::int32_t>(shape.size());
    raw_.shape = shape.data();
  }
  /// A braced list, which ends with the statement.
  constexpr allocate_spec(dtype type,
                          std::initializer_list<std::int64_t> shape DLBRIDGE_HPP_BORROWS) noexcept
      : allocate_spec(type, span<const std::int64_t>(shape.begin(), shape.size())) {}
  [[nodiscard]] constexpr allocate_spec on(const device& where) const noexcept {
    allocate_spec made = *this;
    made.raw_.device = where;
    return made;
  }
  /// Bytes, a power of two; 256 by default.
  [[nodiscard]] constexpr allocate_spec alignment(std::uint64_t bytes) const noexcept {
    allocate_spec made = *this;
    made.raw_.alignment = bytes;
    return made;
  }
  [[nodiscard]] constexpr allocate_spec tensor_flags(std::uint64_t dlpack) const noexcept {
    allocate_spec made = *this;
    made.raw_.tensor_flags = dlpack;
    return made;
  }
  [[nodiscard]] constexpr allocate_spec version(dlpack_version newest) const noexcept {
    allocate_spec made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// Memory that ipc_export can share with other processes.
  [[nodiscard]] constexpr allocate_spec shareable() const noexcept {
    allocate_spec made = *this;
    made.raw_.options = raw_.options | DLBRIDGE_ALLOCATE_SHAREABLE;
    return made;
  }
  [[nodiscard]] constexpr allocate_spec allocator(
      const dlbridge::allocator& source DLBRIDGE_HPP_BORROWS) const noexcept {
    allocate_spec made = *this;
    made.raw_.allocator = source.raw();
    return made;
  }
  allocate_spec allocator(const dlbridge::allocator&&) const = delete;
  /// Of a struct that was filled by other means.
  constexpr explicit allocate_spec(const DLBridgeAllocateSpec& raw) noexcept : raw_(raw) {}
  constexpr const DLBridgeAllocateSpec* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  DLBridgeAllocateSpec raw_;
};

/// Allocates a tensor whose bytes are unspecified.
inline result<tensor> allocate(const allocate_spec& spec) noexcept {
  return detail::produced<tensor>(
      [&](auto** out, DLBridgeError* sink) { return abi::allocate(spec.raw(), out, sink); });
}
/// Allocates host memory: `allocate(dtype_of<float>::value, {2, 3})`.
inline result<tensor> allocate(const dtype& type, span<const std::int64_t> shape) noexcept {
  return allocate(allocate_spec(type, shape));
}
inline result<tensor> allocate(const dtype& type,
                               std::initializer_list<std::int64_t> shape) noexcept {
  return allocate(allocate_spec(type, shape));
}

/// Device memory: an address, a cl_mem or another handle.
using buffer = DLBridgeBuffer;
enum class buffer_kind : std::int32_t {
  // [facts/enums.toml BUFFER]
  implied = DLBRIDGE_BUFFER_DEFAULT,
  address = DLBRIDGE_BUFFER_ADDRESS,
  cl_mem = DLBRIDGE_BUFFER_CL_MEM,
  handle = DLBRIDGE_BUFFER_HANDLE,
  // [/facts]
};
/// Memory that may be written to. For const memory use wrap_borrowed, which makes read-only
/// tensors.
inline buffer buffer_of(void* address) noexcept { return dlbridge_buffer_address(address); }
buffer buffer_of(const void* address) = delete;
constexpr buffer make_buffer(backend whose, buffer_kind kind, std::uint64_t handle,
                             std::uint64_t context = 0) noexcept {
  return {static_cast<DLBridgeBackend>(whose), static_cast<std::int32_t>(kind), handle, context, 0};
}

/// A C callback that frees memory, called once with its context. Work on `stream` may still use the
/// memory; NULL: no work does, as always without wrap_spec::release_on_stream.
using release_function = void (*)(void* context, const DLBridgeBuffer* memory,
                                  const DLBridgeStream* stream);

/// Destination and options of a copy; a default spec copies to new host memory.
class copy_spec {
 public:
  constexpr copy_spec() noexcept : raw_ DLBRIDGE_COPY_SPEC_INIT {}

  [[nodiscard]] constexpr copy_spec to(const device& where) const noexcept {
    copy_spec made = *this;
    made.raw_.device = where;
    return made;
  }
  /// The queue that orders the copy after earlier work on it.
  [[nodiscard]] constexpr copy_spec on(const stream& queue) const noexcept {
    copy_spec made = *this;
    made.raw_.stream = *queue.raw();
    return made;
  }
  /// Into the caller's memory: `size` bytes at `memory`; the copy begins at `offset`. `release` is
  /// called once when the last owner of the copy is gone.
  [[nodiscard]] constexpr copy_spec into(const buffer& memory, std::uint64_t size,
                                         std::uint64_t offset = 0,
                                         release_function release = nullptr,
                                         void* context = nullptr) const noexcept {
    copy_spec made = *this;
    made.raw_.target = memory;
    made.raw_.target_size = size;
    made.raw_.target_offset = offset;
    made.raw_.release = release;
    made.raw_.release_context = context;
    return made;
  }
  [[nodiscard]] constexpr copy_spec allocator(
      const dlbridge::allocator& source DLBRIDGE_HPP_BORROWS) const noexcept {
    copy_spec made = *this;
    made.raw_.allocator = source.raw();
    return made;
  }
  copy_spec allocator(const dlbridge::allocator&&) const = delete;
  [[nodiscard]] constexpr copy_spec policy(
      const dlbridge::policy& demands DLBRIDGE_HPP_BORROWS) const noexcept {
    copy_spec made = *this;
    made.raw_.policy = demands.raw();
    return made;
  }
  copy_spec policy(const dlbridge::policy&&) const = delete;
  [[nodiscard]] constexpr copy_spec tensor_flags(std::uint64_t dlpack) const noexcept {
    copy_spec made = *this;
    made.raw_.tensor_flags = dlpack;
    return made;
  }
  [[nodiscard]] constexpr copy_spec version(dlpack_version newest) const noexcept {
    copy_spec made = *this;
    made.raw_.version = newest;
    return made;
  }
  /// Allows a copy through host memory where the layout needs too many driver copies.
  [[nodiscard]] constexpr copy_spec allow_staging() const noexcept {
    copy_spec made = *this;
    made.raw_.options = raw_.options | DLBRIDGE_COPY_ALLOW_STAGING;
    return made;
  }
  /// Copies into memory that ipc_export can share.
  [[nodiscard]] constexpr copy_spec shareable() const noexcept {
    copy_spec made = *this;
    made.raw_.options = raw_.options | DLBRIDGE_COPY_SHAREABLE;
    return made;
  }
  /// Of a struct that was filled by other means.
  constexpr explicit copy_spec(const DLBridgeCopySpec& raw) noexcept : raw_(raw) {}
  constexpr const DLBridgeCopySpec* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

 private:
  DLBridgeCopySpec raw_;
};
using copy_spec_ref = detail::optional_ref<copy_spec>;

/// Validates a borrowed tensor and copies it to compact memory: without a spec, to new host memory.
inline result<tensor> copy(foreign_ref from, const copy_spec& spec = {}) noexcept {
  return detail::produced<tensor>([&](auto** out, DLBridgeError* sink) {
    return abi::copy(from.raw(), from.flags(), spec.raw(), out, sink);
  });
}
inline result<tensor> copy(checked_ref from, const copy_spec& spec = {}) noexcept {
  return copy(foreign_ref(from.raw(), from.flags()), spec);
}
template <class Managed>
result<tensor> copy(const detail::open_handle<Managed>& from, const copy_spec& spec = {}) noexcept {
  return copy(from.ref(), spec);
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_MAKE_HPP_
