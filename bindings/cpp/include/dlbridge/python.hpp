// SPDX-License-Identifier: Apache-2.0
/// dlbridge for C++ extensions of CPython: arrays of any framework as typed arguments, and tensors
/// as Python objects. C++17, CPython 3.10 or later, or the limited API of 3.12.
///
/// START HERE. `dlbridge::py::arg<const float, dlbridge::shape<-1, 3>>::import(object)` turns any
/// Python array into checked, typed elements, and keeps their memory alive; `to_python` turns a
/// tensor into an object that every framework imports. Include dlbridge/pybind11.hpp or
/// dlbridge/nanobind.hpp instead, and functions take an arg as a parameter.
///
/// INCLUDE this file before other headers, since it includes Python.h.
///
/// ERRORS. Functions that fail set a Python exception, with the attributes that
/// dlbridge/cpython_api.h describes.
///
/// STREAMS. The producer's work is ordered before the legacy default stream of its device. For
/// another stream, call dlbridge_py_import with it, and dlbridge::arg::import with the result.
/// \since 0.4.0
#ifndef DLBRIDGE_PYTHON_HPP_
#define DLBRIDGE_PYTHON_HPP_

// IWYU pragma: begin_exports
#include "dlbridge/hpp/python/arg.hpp"
#include "dlbridge/hpp/python/export.hpp"
// The other headers, by name.
#include "dlbridge/dlbridge.hpp"
#include "dlbridge/hpp/python/error.hpp"
// IWYU pragma: end_exports

#endif  // DLBRIDGE_PYTHON_HPP_
