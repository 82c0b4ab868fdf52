// SPDX-License-Identifier: Apache-2.0
// Errors and C++ exceptions as Python exceptions.
#ifndef DLBRIDGE_HPP_PYTHON_ERROR_HPP_
#define DLBRIDGE_HPP_PYTHON_ERROR_HPP_

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#ifdef DLBRIDGE_HPP_API
#error "dlbridge/python.hpp calls the linked library: it cannot be used with DLBRIDGE_HPP_API"
#endif

#include <new>

#include "dlbridge/cpython_api.h"
#include "dlbridge/hpp/result.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

/// Sets `why` as the Python exception, with its status, rule, axis and native_code. Returns NULL,
/// for `return raise(why);`. \since 0.4.0
inline std::nullptr_t raise(const error& why) noexcept {
  dlbridge_py_raise(&why.raw());
  return nullptr;
}

namespace detail {

// Sets the C++ exception that is being handled as the Python exception.
#if DLBRIDGE_HPP_EXCEPTIONS
inline void raise_current() noexcept {
  try {
    throw;
  } catch (const dlbridge::exception& why) {
    raise(why.error());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& why) {
    PyErr_SetString(PyExc_RuntimeError, why.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "expected a std::exception, found another C++ exception");
  }
}
#endif

}  // namespace detail

#if DLBRIDGE_HPP_EXCEPTIONS
/// Calls `f()`, which returns a new reference or NULL, and turns its C++ exceptions into Python
/// exceptions. For functions that CPython calls directly, since it cannot catch C++ exceptions;
/// pybind11 and nanobind catch them. \since 0.4.0
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    detail::raise_current();
    return nullptr;
  }
}
#endif

}  // namespace py
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_ERROR_HPP_
