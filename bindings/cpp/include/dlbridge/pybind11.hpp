// SPDX-License-Identifier: Apache-2.0
/// Parameters and results of pybind11 functions: dlbridge::py::arg and dlbridge::tensor.
///
///   using points = dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>;
///   m.def("sum", [](const points& given) { return sum(given.view()); });
///
/// A parameter takes any array (see dlbridge/python.hpp). An array that does not meet the demands
/// raises the error that names the rule; with several overloads, the next one is tried first. A
/// result becomes a dlbridge.Tensor. \since 0.4.0
#ifndef DLBRIDGE_PYBIND11_HPP_
#define DLBRIDGE_PYBIND11_HPP_

// IWYU pragma: begin_exports
#include "dlbridge/python.hpp"
// IWYU pragma: end_exports
#include <pybind11/pybind11.h>

#include "dlbridge/hpp/python/label.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

namespace detail {

// After a failed import: throws the exception, or clears it and returns false where another
// overload may be meant.
inline bool next_overload(pybind11::handle source, bool convert) {
  const bool rejected = PyErr_ExceptionMatches(PyExc_BufferError) != 0 ||
                        PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  if (!rejected || (convert && !is_no_array(source.ptr()))) {
    throw pybind11::error_already_set();
  }
  PyErr_Clear();
  return false;
}

// A result, or the exception that is set.
inline pybind11::handle made(PyObject* object) {
  if (object == nullptr) {
    throw pybind11::error_already_set();
  }
  return object;
}

}  // namespace detail

/// Exceptions of dlbridge that leave functions of this module, such as those of `at`, become Python
/// exceptions with the attributes of the library's errors. Call it in PYBIND11_MODULE.
/// \since 0.4.0
inline void translate_exceptions() {
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const dlbridge::exception& why) {
      raise(why.error());
    }
  });
}

}  // namespace py
DLBRIDGE_HPP_END

namespace PYBIND11_NAMESPACE {
namespace detail {

template <class T, class... Demands>
struct type_caster<dlbridge::py::arg<T, Demands...>> {
  using argument = dlbridge::py::arg<T, Demands...>;
  PYBIND11_TYPE_CASTER(argument, const_name(dlbridge::py::detail::label<argument>.data));

  bool load(handle source, bool convert) {
    value = argument::import(source.ptr());
    return value || dlbridge::py::detail::next_overload(source, convert);
  }
  static handle cast(const argument& given, return_value_policy /*policy*/, handle /*parent*/) {
    return dlbridge::py::detail::made(dlbridge::py::to_python(given.owner()));
  }
};

template <>
struct type_caster<dlbridge::tensor> {
  PYBIND11_TYPE_CASTER(dlbridge::tensor, const_name("dlbridge.Tensor"));

  bool load(handle source, bool convert) {
    value = dlbridge::py::import(source.ptr());
    return value || dlbridge::py::detail::next_overload(source, convert);
  }
  static handle cast(dlbridge::tensor&& given, return_value_policy /*policy*/, handle /*parent*/) {
    return dlbridge::py::detail::made(dlbridge::py::to_python(std::move(given)));
  }
  static handle cast(const dlbridge::tensor& given, return_value_policy /*policy*/,
                     handle /*parent*/) {
    return dlbridge::py::detail::made(dlbridge::py::to_python(given));
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE

#endif  // DLBRIDGE_PYBIND11_HPP_
