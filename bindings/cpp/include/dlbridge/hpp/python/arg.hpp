// SPDX-License-Identifier: Apache-2.0
// Typed arguments of Python functions: one call makes any array a view whose C++ type states its
// dtype, shape and device.
#ifndef DLBRIDGE_HPP_PYTHON_ARG_HPP_
#define DLBRIDGE_HPP_PYTHON_ARG_HPP_

#include "dlbridge/hpp/python/demands.hpp"
#include "dlbridge/hpp/python/import.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

/// A tensor of a Python object as an argument of type T: a dlbridge::arg that imports any object
/// that supports DLPack, a DLPack capsule, or an object with the buffer protocol, and keeps its
/// memory alive. The demands are a shape, and in any order a device type (cpu, which is the
/// default, cuda, ...), an order (c_contiguous, f_contiguous, contiguous) and vouch_writable. A
/// `const T` is only read; any other T also needs a tensor that may be written to and whose
/// elements do not overlap.
///
///   using points = dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>;
///   const points given = points::import(object);
///   if (!given) return nullptr;  // a Python exception is set
///
/// import needs the GIL. An arg may be used and released on any thread, with or without it.
/// \since 0.4.0
template <class T, class... Demands>
class [[nodiscard]] arg : public detail::demand_list<Demands...>::template arg_of<T> {
  using list = detail::demand_list<Demands...>;
  using base = typename list::template arg_of<T>;

 public:
  /// An arg without a tensor: its extents are 0.
  arg() noexcept = default;
  arg(arg&&) noexcept = default;
  arg& operator=(arg&& other) noexcept {
    if (this != &other) {
      detail::release_quietly(static_cast<base&&>(*this).owner());
      base::operator=(std::move(other));
    }
    return *this;
  }
  arg(const arg&) = delete;
  arg& operator=(const arg&) = delete;
  ~arg() { detail::release_quietly(static_cast<base&&>(*this).owner()); }

  /// Imports `object` by the demands of this type. On failure the arg is empty and a Python
  /// exception is set: BufferError with `rule` (its message states what was expected and found),
  /// TypeError for an object that is no array, or the producer's exception.
  static arg import(PyObject* object) noexcept {
    const policy by = base::demands(list::how);
    tensor made = detail::import_object(object, by, list::how);
    return made ? arg(base::assume_validated(std::move(made))) : arg();
  }

 private:
  explicit arg(base&& from) noexcept : base(std::move(from)) {}
};

/// An argument of one of several element types. `visit` calls a function with the view of the type
/// that the tensor has.
///
///   using points = dlbridge::py::arg<dlbridge::py::one_of<const float, const double>,
///                                    dlbridge::shape<-1, 3>>;
///   const double total = given.visit([](const auto& view) { return sum(view); });
/// \since 0.4.0
template <class First, class... Elements, class... Demands>
class [[nodiscard]] arg<one_of<First, Elements...>, Demands...> : one_of<First, Elements...> {
  using list = detail::demand_list<Demands...>;

 public:
  static constexpr std::size_t rank = list::extents::rank;

  /// An arg without a tensor: its extents are 0.
  arg() noexcept = default;
  arg(arg&&) noexcept = default;
  arg& operator=(arg&& other) noexcept {
    if (this != &other) {
      detail::release_quietly(std::exchange(owner_, std::move(other.owner_)));
    }
    return *this;
  }
  arg(const arg&) = delete;
  arg& operator=(const arg&) = delete;
  ~arg() { detail::release_quietly(std::move(owner_)); }

  /// See arg::import.
  static arg import(PyObject* object) noexcept {
    arg made;
    made.owner_ = detail::import_object(object, demands(), list::how);
    if (made && !made.is_aligned()) {
      made = arg();
    }
    return made;
  }

  /// f(view), where view is the strided_view of the tensor's element type; of an arg without a
  /// tensor, an empty view of the first type. The view is valid as long as this arg.
  template <class F>
  decltype(auto) visit(F&& f) const& {
    return visit_as<F, First, Elements...>(std::forward<F>(f));
  }
  template <class F>
  void visit(F&& f) const&& = delete;
  /// True if the tensor has elements of type T, const or not.
  template <class T>
  bool holds() const noexcept {
    return owner_ && equal(owner_.dtype(), dtype_of<std::remove_cv_t<T>>::value);
  }

  /// The tensor, to share or export it; empty where the arg is.
  const tensor& owner() const& noexcept DLBRIDGE_HPP_BORROWS { return owner_; }
  tensor owner() && noexcept { return std::move(owner_); }
  explicit operator bool() const noexcept { return static_cast<bool>(owner_); }
  dlbridge::dtype dtype() const noexcept { return owner_.dtype(); }
  std::int64_t extent(std::size_t axis) const noexcept {
    return owner_ ? owner_.get()->dl_tensor.shape[axis] : 0;
  }
  std::int64_t size() const noexcept { return owner_.size(); }

 private:
  template <class T>
  using typed = typename list::template arg_of<T>;
  static constexpr dlbridge::dtype accepted_dtypes[] = {
      dtype_of<std::remove_cv_t<First>>::value, dtype_of<std::remove_cv_t<Elements>>::value...};

  static policy demands() noexcept {
    return typed<First>::demands(list::how).dtypes(accepted_dtypes).alignment(1);
  }

  // The alignment depends on the type that the tensor has.
  bool is_aligned() const noexcept {
    error why;
    const auto check = [&](auto tag) {
      using element = typename decltype(tag)::type;
      if (alignof(element) > 1 && holds<element>()) {
        const auto checked = typed<element>::check(owner_, list::how);
        why = checked ? error() : checked.error();
      }
    };
    check(detail::one_type<First>());
    (..., check(detail::one_type<Elements>()));
    if (why) {
      raise(why);
    }
    return !why;
  }

  template <class F, class T, class... Rest>
  decltype(auto) visit_as(F&& f) const {
    if constexpr (sizeof...(Rest) > 0) {
      if (owner_ && !holds<T>()) {
        return visit_as<F, Rest...>(std::forward<F>(f));
      }
    }
    return std::forward<F>(f)(view_of<T>());
  }
  template <class T>
  strided_view<T, rank> view_of() const noexcept {
    return dlbridge::detail::opener::open<T, rank>(trust::assume_validated(owner_.get()));
  }

  tensor owner_;
};

}  // namespace py
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_ARG_HPP_
