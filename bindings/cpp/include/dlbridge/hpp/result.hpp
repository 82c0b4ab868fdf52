// SPDX-License-Identifier: Apache-2.0
// result<T>: a value or an error, with the interface of std::expected<T, error>.
#ifndef DLBRIDGE_HPP_RESULT_HPP_
#define DLBRIDGE_HPP_RESULT_HPP_

#include <functional>
#include <optional>

#include "dlbridge/hpp/error.hpp"
#if defined(__cpp_lib_expected)
#include <expected>
#endif

DLBRIDGE_HPP_BEGIN

template <class T>
class result;

/// True if a T refers to memory of another object, which must outlive it. Specialise it for your
/// own view types, so that and_then and transform reject a view of a temporary owner. Pointers
/// count as views, except those to functions and to managed tensors, which owners release.
template <class T, class = void>
inline constexpr bool borrows = std::is_reference_v<T>;
template <class T>
inline constexpr bool borrows<T*> = !std::is_function_v<T>;
template <>
inline constexpr bool borrows<DLManagedTensor*> = false;
template <>
inline constexpr bool borrows<DLManagedTensorVersioned*> = false;
template <class T>
inline constexpr bool borrows<span<T>> = true;
template <class Char, class Traits>
inline constexpr bool borrows<std::basic_string_view<Char, Traits>> = true;
template <class T>
inline constexpr bool borrows<std::reference_wrapper<T>> = true;
template <class T>
inline constexpr bool borrows<std::optional<T>> = borrows<T>;
template <class T>
inline constexpr bool borrows<result<T>> = borrows<T>;
#if DLBRIDGE_HPP_RANGES
template <class T, std::size_t Extent>
inline constexpr bool borrows<std::span<T, Extent>> = true;
#endif

/// The T of a result<T> that failed: T{}. Specialise it for a T without a default
/// constructor: `static T make() noexcept`.
template <class T, class = void>
struct blank_value {
  static_assert(std::is_default_constructible_v<T>,
                "dlbridge: result<T> keeps a T{} where there is no value: specialise blank_value");
  static T make() noexcept(std::is_nothrow_default_constructible_v<T>) { return T{}; }
};

namespace detail {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

// Builds results in place: the library writes its error where the caller reads it.
struct maker {
  template <class T>
  static T& value(result<T>& made) noexcept {
    return made.value_;
  }
  template <class T>
  static DLBridgeError* sink(result<T>& made) noexcept {
    return made.error_.sink();
  }
  // Records the status that the call returned; true if it succeeded.
  template <class T>
  DLBRIDGE_HPP_INLINE static bool finish(result<T>& made, DLBridgeStatus status) noexcept {
    made.error_.set(status);
    return status == DLBRIDGE_OK;
  }
};

struct nothing {};

template <class T>
using plain = std::remove_cv_t<std::remove_reference_t<T>>;

// True if a `Next` that a function makes from a temporary T would refer to that T.
template <class T, class Next>
inline constexpr bool dangles = borrows<Next> && !borrows<T> && !std::is_scalar_v<T>;

// True if assigning to a T writes to the elements that the T views, as for Eigen::Map. A result of
// such a type cannot be assigned.
template <class T, class = void>
inline constexpr bool writes_through = false;

template <bool Allowed>
struct assignable {};
template <>
struct assignable<false> {
  assignable() = default;
  assignable(const assignable&) = default;
  assignable(assignable&&) = default;
  assignable& operator=(const assignable&) = delete;
  assignable& operator=(assignable&&) = delete;
  ~assignable() = default;
};

// Never called where exceptions are off: require_exceptions rejects such calls.
[[noreturn]] inline void raise(const dlbridge::error& why) {
#if DLBRIDGE_HPP_EXCEPTIONS
  throw exception(why);
#else
  static_cast<void>(why);
  for (;;) {
  }
#endif
}

// The common part of both kinds of result.
template <class T>
class result_base : private assignable<!writes_through<T>> {
 public:
  /// True if the call succeeded.
  DLBRIDGE_HPP_INLINE bool has_value() const noexcept { return error_.status() == status_code::ok; }
  explicit operator bool() const noexcept { return has_value(); }
  /// The cause of the failure; status_code::ok after success. A temporary result returns a copy.
  const dlbridge::error& error() const& noexcept DLBRIDGE_HPP_BORROWS { return error_; }
  dlbridge::error error() const&& noexcept { return error_; }

 protected:
  DLBRIDGE_HPP_INLINE result_base() = default;
  DLBRIDGE_HPP_INLINE result_base(const result_base&) = default;
  DLBRIDGE_HPP_INLINE result_base(result_base&&) noexcept(std::is_nothrow_move_constructible_v<T>) =
      default;
  result_base& operator=(const result_base&) = default;
  result_base& operator=(result_base&&) noexcept(std::is_nothrow_move_assignable_v<T>) = default;
  DLBRIDGE_HPP_INLINE ~result_base() = default;
  DLBRIDGE_HPP_INLINE explicit result_base(const dlbridge::error& why) noexcept(
      noexcept(blank_value<T>::make()))
      : error_(why) {
    if (!error_) {
      error_.set(DLBRIDGE_ERROR_INVALID_ARGUMENT);  // an error without an error status
    }
  }
  DLBRIDGE_HPP_INLINE explicit result_base(T&& value) noexcept(
      std::is_nothrow_move_constructible_v<T>)
      : value_(std::forward<T>(value)) {}

  // Throws unless there is a value.
  void demand() const {
    if (!has_value()) {
      raise(error_);
    }
  }

  friend maker;
  dlbridge::error error_;
  T value_ = blank_value<T>::make();
};

template <class T>
constexpr void require_exceptions() noexcept {
  static_assert(DLBRIDGE_HPP_EXCEPTIONS || always_false<T>,
                "dlbridge: value() throws, and exceptions are off: ask has_value()");
}

}  // namespace detail

/// A value or an error, with the interface of std::expected, to which it converts where the
/// standard library has it. It is the same type in every language mode. It lacks emplace, swap,
/// operator==, error_or, transform_error and the constructors from tags; and_then and transform
/// need a result that is not const, or_else needs a temporary. Differences, so that nothing is
/// undefined and nothing dangles:
///   - `*r` of a failure is a T{} (an empty tensor, a null pointer);
///   - error() of a success has status_code::ok;
///   - a temporary gives its value and its error by value, and has no operator->;
///   - and_then and transform of a temporary reject results that borrow from it (see `borrows`);
///   - no assignment where that of T writes to the elements that the T views (Eigen::Map).
/// value() throws dlbridge::exception.
template <class T>
class [[nodiscard]] result : public detail::result_base<T> {
  using base = detail::result_base<T>;

 public:
  using value_type = T;
  using error_type = dlbridge::error;

  /// A success with T{}.
  result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::expected
  DLBRIDGE_HPP_INLINE result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : base(std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return error;` is what functions write
  result(const dlbridge::error& why) noexcept(noexcept(blank_value<T>::make())) : base(why) {}

  const T& operator*() const& noexcept DLBRIDGE_HPP_BORROWS { return this->value_; }
  T& operator*() & noexcept DLBRIDGE_HPP_BORROWS { return this->value_; }
  T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) {
    return std::move(this->value_);
  }
  const T& operator*() const&& = delete;
  const T* operator->() const& noexcept DLBRIDGE_HPP_BORROWS { return &this->value_; }
  T* operator->() & noexcept DLBRIDGE_HPP_BORROWS { return &this->value_; }
  /// The result of a member function would borrow from the temporary: name the result first.
  const T* operator->() const&& = delete;

  /// The value; throws dlbridge::exception if there is none. A temporary returns it by value, so
  /// that `auto&&` keeps it alive.
  T& value() & DLBRIDGE_HPP_BORROWS { return demanded(), this->value_; }
  const T& value() const& DLBRIDGE_HPP_BORROWS { return demanded(), this->value_; }
  T value() && { return demanded(), std::move(this->value_); }
  const T& value() const&& = delete;

  template <class U>
  T value_or(U&& other) && {
    return this->has_value() ? std::move(this->value_) : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) const& {
    return this->has_value() ? this->value_ : static_cast<T>(std::forward<U>(other));
  }

  /// f(value), which returns a result, or this error.
  template <class F>
  auto and_then(F&& f) && -> detail::plain<std::invoke_result_t<F, T&&>> {
    using next = detail::plain<std::invoke_result_t<F, T&&>>;
    require_result<next>();
    require_alive<std::invoke_result_t<F, T&&>>();
    return this->has_value() ? std::forward<F>(f)(std::move(this->value_)) : next(this->error_);
  }
  template <class F>
  auto and_then(F&& f) & -> detail::plain<std::invoke_result_t<F, T&>> {
    using next = detail::plain<std::invoke_result_t<F, T&>>;
    require_result<next>();
    return this->has_value() ? std::forward<F>(f)(this->value_) : next(this->error_);
  }
  /// A result of f(value), or this error.
  template <class F>
  auto transform(F&& f) && -> result<detail::plain<std::invoke_result_t<F, T&&>>> {
    require_alive<std::invoke_result_t<F, T&&>>();
    return apply(std::forward<F>(f), std::move(this->value_), *this);
  }
  template <class F>
  auto transform(F&& f) & -> result<detail::plain<std::invoke_result_t<F, T&>>> {
    return apply(std::forward<F>(f), this->value_, *this);
  }
  /// This value, or f(error), which returns a result<T>.
  template <class F>
  result or_else(F&& f) && {
    return this->has_value() ? std::move(*this) : std::forward<F>(f)(this->error_);
  }

#if defined(__cpp_lib_expected)
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator std::expected<T, dlbridge::error>() && {
    if (!this->has_value()) {
      return std::unexpected<dlbridge::error>(this->error_);
    }
    return std::move(this->value_);
  }
#endif

 private:
  friend detail::maker;
  void demanded() const {
    detail::require_exceptions<T>();
    this->demand();
  }
  template <class Next>
  static constexpr void require_result() noexcept {
    static_assert(detail::is_result<Next>,
                  "dlbridge: and_then takes a function that returns a result");
  }
  template <class Next>
  static constexpr void require_alive() noexcept {
    static_assert(
        !detail::dangles<T, Next>,
        "dlbridge: the function returns a view of a temporary owner: name the result that "
        "owns first");
  }
  template <class F, class V>
  static auto apply(F&& f, V&& value, const base& from)
      -> result<detail::plain<std::invoke_result_t<F, V>>> {
    using next = detail::plain<std::invoke_result_t<F, V>>;
    if (!from.has_value()) {
      return result<next>(from.error());
    }
    if constexpr (std::is_void_v<next>) {
      std::forward<F>(f)(std::forward<V>(value));
      return {};
    } else {
      return result<next>(std::forward<F>(f)(std::forward<V>(value)));
    }
  }
};

/// Success, or an error.
template <>
class [[nodiscard]] result<void> : public detail::result_base<detail::nothing> {
  using base = detail::result_base<detail::nothing>;

 public:
  using value_type = void;
  using error_type = dlbridge::error;

  result() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return error;` is what functions write
  result(const dlbridge::error& why) noexcept : base(why) {}

  void operator*() const noexcept {}
  /// Throws dlbridge::exception unless the call succeeded.
  template <class Never = void>
  void value() const {
    detail::require_exceptions<Never>();
    demand();
  }
  template <class F>
  auto and_then(F&& f) const -> std::invoke_result_t<F> {
    return has_value() ? std::forward<F>(f)() : std::invoke_result_t<F>(error());
  }
  template <class F>
  result or_else(F&& f) const {
    return has_value() ? *this : std::forward<F>(f)(error());
  }

#if defined(__cpp_lib_expected)
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator std::expected<void, dlbridge::error>() const {
    if (!has_value()) {
      return std::unexpected<dlbridge::error>(error());
    }
    return {};
  }
#endif

 private:
  friend detail::maker;
};

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_RESULT_HPP_
