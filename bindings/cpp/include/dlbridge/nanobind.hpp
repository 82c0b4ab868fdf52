// SPDX-License-Identifier: Apache-2.0
/// Parameters and results of nanobind functions: dlbridge::py::arg and dlbridge::tensor.
///
///   using points = dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>;
///   m.def("sum", [](const points& given) { return sum(given.view()); });
///
/// A parameter takes any array (see dlbridge/python.hpp). An array that does not meet the demands
/// raises the error that names the rule; with several overloads, the next one is tried first. A
/// result becomes a dlbridge.Tensor. \since 0.4.0
#ifndef DLBRIDGE_NANOBIND_HPP_
#define DLBRIDGE_NANOBIND_HPP_

// IWYU pragma: begin_exports
#include "dlbridge/python.hpp"
// IWYU pragma: end_exports
#include <nanobind/nanobind.h>

#include <optional>

#include "dlbridge/hpp/python/label.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

namespace detail {

// A caster's from_python must not throw, so it keeps the exception for the conversion to the
// parameter, which nanobind calls next.
class pending {
 public:
  // After a failed import: true if the exception is to be thrown, false if it was cleared because
  // another overload may be meant.
  bool keep(PyObject* source, bool convert) noexcept {
    const bool rejected = PyErr_ExceptionMatches(PyExc_BufferError) != 0 ||
                          PyErr_ExceptionMatches(PyExc_TypeError) != 0;
    if (!rejected || (convert && !is_no_array(source))) {
      error_.emplace();
    } else {
      PyErr_Clear();
    }
    return error_.has_value();
  }
  bool has_error() const noexcept { return error_.has_value(); }
  void rethrow() {
    if (error_) {
      throw nanobind::python_error(*error_);
    }
  }

 private:
  std::optional<nanobind::python_error> error_;
};

// The part of a caster that is the same for all types.
template <class Value>
class caster {
 public:
  template <class T>
  using Cast = nanobind::detail::movable_cast_t<T>;

  template <class T>
  bool can_cast() const noexcept {
    return !pending_.has_error();
  }
  explicit operator Value*() { return &checked(); }
  explicit operator Value&() { return checked(); }
  explicit operator Value&&() { return std::move(checked()); }

 protected:
  bool take(Value&& made, nanobind::handle source, std::uint32_t flags) noexcept {
    const auto convert = static_cast<std::uint32_t>(nanobind::detail::cast_flags::convert);
    value_ = std::move(made);
    return value_ || pending_.keep(source.ptr(), (flags & convert) != 0);
  }

 private:
  Value& checked() {
    pending_.rethrow();
    return value_;
  }
  Value value_;
  pending pending_;
};

}  // namespace detail

/// Exceptions of dlbridge that leave functions of this module, such as those of `at`, become Python
/// exceptions with the attributes of the library's errors. Call it in NB_MODULE. \since 0.4.0
inline void translate_exceptions() {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const dlbridge::exception& why) {
      raise(why.error());
    }
  });
}

}  // namespace py
DLBRIDGE_HPP_END

namespace NB_NAMESPACE {
namespace detail {

template <class T, class... Demands>
struct type_caster<dlbridge::py::arg<T, Demands...>>
    : dlbridge::py::detail::caster<dlbridge::py::arg<T, Demands...>> {
  using Value = dlbridge::py::arg<T, Demands...>;
  static constexpr auto Name = const_name(dlbridge::py::detail::label<Value>.data);

  bool from_python(handle source, std::uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return this->take(Value::import(source.ptr()), source, flags);
  }
  static handle from_cpp(const Value& given, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return dlbridge::py::to_python(given.owner());
  }
};

template <>
struct type_caster<dlbridge::tensor> : dlbridge::py::detail::caster<dlbridge::tensor> {
  using Value = dlbridge::tensor;
  static constexpr auto Name = const_name("dlbridge.Tensor");

  bool from_python(handle source, std::uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return this->take(dlbridge::py::import(source.ptr()), source, flags);
  }
  static handle from_cpp(dlbridge::tensor&& given, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return dlbridge::py::to_python(std::move(given));
  }
  static handle from_cpp(const dlbridge::tensor& given, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return dlbridge::py::to_python(given);
  }
};

}  // namespace detail
}  // namespace NB_NAMESPACE

#endif  // DLBRIDGE_NANOBIND_HPP_
