// SPDX-License-Identifier: Apache-2.0
// Owners of managed tensors, one type for each degree of trust:
//
//   foreign_legacy, foreign_versioned   a foreign tensor, not validated: gives no elements
//   checked_legacy, checked_versioned   a foreign tensor, validated where it lies
//   tensor                              dlbridge-owned, validated, its metadata copied; has share
//   stored_tensor                       the same in the caller's storage; has no share
//
// All are movable and not copyable, as large as a pointer, and release their tensor once. An owner
// that was moved from, released or reset is empty. All functions define that state: no axes and no
// data, calls reject it, releasing it again does nothing. One thread at a time uses an owner; its
// const functions may be called by several.
#ifndef DLBRIDGE_HPP_OWNER_HPP_
#define DLBRIDGE_HPP_OWNER_HPP_

#include "dlbridge/hpp/tensor_ref.hpp"

DLBRIDGE_HPP_BEGIN

namespace detail {

DLBRIDGE_HPP_INLINE void release_managed(DLManagedTensor* tensor) noexcept {
  abi::release_legacy(tensor);
}
DLBRIDGE_HPP_INLINE void release_managed(DLManagedTensorVersioned* tensor) noexcept {
  abi::release_versioned(tensor);
}

// A pointer that is released once.
template <class Managed>
class handle {
 public:
  using managed_type = Managed;

  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;

  /// The struct, borrowed; NULL if it is empty.
  Managed* get() const noexcept DLBRIDGE_HPP_BORROWS { return pointer_; }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }
  /// Gives the struct to the caller, who must release it once, such as to a consumer.
  [[nodiscard]] DLBRIDGE_HPP_INLINE Managed* release() noexcept {
    return std::exchange(pointer_, nullptr);
  }
  /// Releases the tensor now; does nothing if it is empty.
  void reset() noexcept {
    if (Managed* const gone = release()) {
      release_managed(gone);
    }
  }

 protected:
  constexpr handle() noexcept = default;
  explicit constexpr handle(Managed* pointer) noexcept : pointer_(pointer) {}
  DLBRIDGE_HPP_INLINE handle(handle&& other) noexcept : pointer_(other.release()) {}
  handle& operator=(handle&& other) noexcept {
    if (Managed* const gone = std::exchange(pointer_, other.release())) {
      release_managed(gone);
    }
    return *this;
  }
  DLBRIDGE_HPP_INLINE ~handle() {
    if (pointer_ != nullptr) {
      release_managed(pointer_);
    }
  }

 private:
  Managed* pointer_ = nullptr;
};

// The queries of every validated owner. Queries that borrow from it are deleted for a temporary.
template <class Managed>
class open_handle : public handle<Managed> {
 public:
  /// The tensor, borrowed.
  checked_ref ref() const& noexcept DLBRIDGE_HPP_BORROWS {
    return trust::assume_validated(this->get());
  }
  checked_ref ref() const&& = delete;

  std::int32_t ndim() const noexcept { return borrow().ndim(); }
  dlbridge::dtype dtype() const noexcept { return borrow().dtype(); }
  dlbridge::device device() const noexcept { return borrow().device(); }
  /// DLPack flags; 0 for a legacy tensor.
  std::uint64_t flags() const noexcept { return borrow().flags(); }
  std::int64_t size() const noexcept { return borrow().size(); }
  bool read_only() const noexcept { return borrow().read_only(); }

  span<const std::int64_t> shape() const& noexcept DLBRIDGE_HPP_BORROWS { return borrow().shape(); }
  span<const std::int64_t> shape() const&& = delete;
  span<const std::int64_t> strides() const& noexcept DLBRIDGE_HPP_BORROWS {
    return borrow().strides();
  }
  span<const std::int64_t> strides() const&& = delete;
  const void* data() const& noexcept DLBRIDGE_HPP_BORROWS { return borrow().data(); }
  const void* data() const&& = delete;

  /// See checked_ref::elements.
  template <class T, std::size_t Rank>
  result<strided_view<T, Rank>> elements(access how = access::on_host) const& noexcept
      DLBRIDGE_HPP_BORROWS {
    return borrow().template elements<T, Rank>(how);
  }
  template <class T, std::size_t Rank>
  result<strided_view<T, Rank>> elements(access how = access::on_host) const&& = delete;

  /// See checked_ref::map.
  template <class Target>
  result<Target> map(access how = access::on_host) const& DLBRIDGE_HPP_BORROWS {
    return borrow().template map<Target>(how);
  }
  template <class Target>
  result<Target> map(access how = access::on_host) const&& = delete;

 protected:
  using handle<Managed>::handle;

 private:
  checked_ref borrow() const noexcept { return trust::assume_validated(this->get()); }
};

}  // namespace detail

/// Owns a managed tensor from foreign code that is not validated. It can be passed on, imported and
/// validated; it gives no elements.
template <class Managed>
class foreign : public detail::handle<Managed>, public detail::closed {
 public:
  constexpr foreign() noexcept = default;
  /// Takes over `tensor`, which may be NULL.
  explicit constexpr foreign(Managed* tensor) noexcept : detail::handle<Managed>(tensor) {}
};
using foreign_legacy = foreign<DLManagedTensor>;
using foreign_versioned = foreign<DLManagedTensorVersioned>;

/// Owns a managed tensor that was validated where it lies. The producer must not change the struct
/// afterwards; import copies the metadata instead.
template <class Managed>
class checked : public detail::open_handle<Managed> {
 public:
  constexpr checked() noexcept = default;
  /// The caller guarantees that the tensor is valid.
  static checked assume_validated(Managed* tensor) noexcept { return checked(tensor); }
  /// A validated tensor is accepted where a foreign one is.
  operator foreign<Managed>() && noexcept {  // NOLINT(google-explicit-constructor): it is one
    return foreign<Managed>(this->release());
  }

 private:
  explicit constexpr checked(Managed* tensor) noexcept : detail::open_handle<Managed>(tensor) {}
};
using checked_legacy = checked<DLManagedTensor>;
using checked_versioned = checked<DLManagedTensorVersioned>;

/// Owns a validated dlbridge-owned tensor. (Upgrading what downgrade made can return the foreign
/// original; share and view then fail with foreign_tensor until it is imported.)
class tensor : public detail::open_handle<DLManagedTensorVersioned> {
 public:
  constexpr tensor() noexcept = default;
  /// The caller guarantees that the tensor is valid.
  static tensor assume_validated(DLManagedTensorVersioned* pointer) noexcept {
    return tensor(pointer);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator foreign_versioned() && noexcept { return foreign_versioned(release()); }
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator checked_versioned() && noexcept {
    return checked_versioned::assume_validated(release());
  }

 private:
  explicit constexpr tensor(DLManagedTensorVersioned* pointer) noexcept : open_handle(pointer) {}
};

/// Owns a validated tensor that lives in the caller's storage (upgrade_into).
class stored_tensor : public detail::open_handle<DLManagedTensorVersioned> {
 public:
  constexpr stored_tensor() noexcept = default;
  static stored_tensor assume_validated(DLManagedTensorVersioned* pointer) noexcept {
    return stored_tensor(pointer);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator foreign_versioned() && noexcept { return foreign_versioned(release()); }

 private:
  explicit constexpr stored_tensor(DLManagedTensorVersioned* pointer) noexcept
      : open_handle(pointer) {}
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_OWNER_HPP_
