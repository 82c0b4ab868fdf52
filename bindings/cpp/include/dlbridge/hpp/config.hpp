// SPDX-License-Identifier: Apache-2.0
// Features of the compiler, and the few helpers that the C++17 library lacks.
#ifndef DLBRIDGE_HPP_CONFIG_HPP_
#define DLBRIDGE_HPP_CONFIG_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "dlbridge/dlbridge.h"

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "dlbridge.hpp needs C++17"
#endif

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
#include <span>
#define DLBRIDGE_HPP_RANGES 1
#else
#define DLBRIDGE_HPP_RANGES 0
#endif

// 1 if exceptions are on. Without them, errors are available as results only.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define DLBRIDGE_HPP_EXCEPTIONS 1
#else
#define DLBRIDGE_HPP_EXCEPTIONS 0
#endif

// Marks functions that kernels may call too: elements by index, extents and strides by axis.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define DLBRIDGE_HPP_HD __host__ __device__
#else
#define DLBRIDGE_HPP_HD
#endif

// The result borrows from the object or argument: clang warns where that is a temporary. Other
// compilers have no such attribute; deleted overloads catch the most common mistakes there.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define DLBRIDGE_HPP_BORROWS [[clang::lifetimebound]]
#elif __has_cpp_attribute(msvc::lifetimebound)
#define DLBRIDGE_HPP_BORROWS [[msvc::lifetimebound]]
#endif
#endif
#ifndef DLBRIDGE_HPP_BORROWS
#define DLBRIDGE_HPP_BORROWS
#endif

// For the few functions between a caller and the C function, which some compilers would not inline
// otherwise (bindings/cpp/tests/cost counts the instructions).
#if defined(__GNUC__)
#define DLBRIDGE_HPP_INLINE __attribute__((always_inline)) inline
#else
#define DLBRIDGE_HPP_INLINE inline
#endif

// Files with and without exceptions use different namespaces. Code without exceptions cannot catch
// one in a callback, and of two functions with the same name the linker would keep either.
#if DLBRIDGE_HPP_EXCEPTIONS
#define DLBRIDGE_HPP_MODE(name) name
#else
#define DLBRIDGE_HPP_MODE(name) name##_without_exceptions
#endif

// Define DLBRIDGE_HPP_API before including dlbridge.hpp, as an expression of type
// `const DLBridgeApi*`, and every call goes through that table, such as one that dlsym found,
// instead of the linked functions. All files that exchange types of this header must agree; the
// inline namespace makes the linker check that.
#ifdef DLBRIDGE_HPP_API
#define DLBRIDGE_HPP_BEGIN \
  namespace dlbridge {     \
  inline namespace DLBRIDGE_HPP_MODE(table) {
#else
#define DLBRIDGE_HPP_BEGIN \
  namespace dlbridge {     \
  inline namespace DLBRIDGE_HPP_MODE(linked) {
#endif
#define DLBRIDGE_HPP_END \
  }                      \
  }

DLBRIDGE_HPP_BEGIN

namespace detail {

template <class...>
inline constexpr bool always_false = false;

// An optional option struct: NULL is the library's default and costs nothing to pass.
template <class T>
class optional_ref {
 public:
  constexpr optional_ref() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): f(x, options) is what users write
  constexpr optional_ref(const T& object) noexcept : pointer_(&object) {}
  constexpr const T* operator->() const noexcept { return pointer_; }
  constexpr explicit operator bool() const noexcept { return pointer_ != nullptr; }
  // The C struct inside, or NULL.
  constexpr auto raw() const noexcept -> decltype(std::declval<const T&>().raw()) {
    return pointer_ != nullptr ? pointer_->raw() : nullptr;
  }

 private:
  const T* pointer_ = nullptr;
};

template <class C>
inline constexpr bool is_view = false;

}  // namespace detail

/// A borrowed array of known size, as std::span, to which it converts. It is the same type in every
/// language mode, so that files compiled as C++17 and as C++20 can be linked. It cannot be made
/// from a temporary that owns its elements.
template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using iterator = T*;

  constexpr span() noexcept = default;
  /// `size` elements at `data`, which must be a pointer: the 0 in a braced list of extents is not.
  template <class Pointer,
            class = std::enable_if_t<
                std::is_pointer_v<Pointer> &&
                std::is_convertible_v<std::remove_pointer_t<Pointer> (*)[], T (*)[]>>>
  constexpr span(Pointer data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N>
  // NOLINTNEXTLINE(google-explicit-constructor): as std::span
  constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  /// From an lvalue with data() and size(), or from a temporary that is a view itself.
  template <class C,
            class = std::enable_if_t<std::is_lvalue_reference_v<C> ||
                                     detail::is_view<std::remove_cv_t<C>>>,
            class = std::enable_if_t<std::is_convertible_v<
                std::remove_pointer_t<decltype(std::declval<C&>().data())> (*)[], T (*)[]>>,
            class = decltype(std::declval<C&>().size())>
  // NOLINTNEXTLINE(google-explicit-constructor, bugprone-forwarding-reference-overload): likewise
  constexpr span(C&& container) noexcept
      : data_(container.data()), size_(static_cast<std::size_t>(container.size())) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

template <class T>
inline constexpr bool is_view<span<T>> = true;
#if DLBRIDGE_HPP_RANGES
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;
#endif

}  // namespace detail

/// A DLPack release. {0, 0} in options and specs: DLPack 1.3.
using dlpack_version = DLPackVersion;

DLBRIDGE_HPP_END

#if DLBRIDGE_HPP_RANGES
// So that a temporary span converts to std::span too.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<dlbridge::span<T>> = true;
#endif

#endif  // DLBRIDGE_HPP_CONFIG_HPP_
