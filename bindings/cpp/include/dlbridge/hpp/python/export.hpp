// SPDX-License-Identifier: Apache-2.0
// Tensors as Python objects: the type dlbridge.Tensor of the Python package.
#ifndef DLBRIDGE_HPP_PYTHON_EXPORT_HPP_
#define DLBRIDGE_HPP_PYTHON_EXPORT_HPP_

#include "dlbridge/hpp/make.hpp"
#include "dlbridge/hpp/python/import.hpp"

DLBRIDGE_HPP_BEGIN
namespace py {

namespace detail {

// dlbridge.Tensor: a new reference, or NULL with an exception.
inline PyObject* tensor_type() noexcept {
  PyObject* const package = PyImport_ImportModule("dlbridge");
  PyObject* const type = package != nullptr ? PyObject_GetAttrString(package, "Tensor") : nullptr;
  Py_XDECREF(package);
  if (package == nullptr && PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    PyErr_SetString(PyExc_ImportError,
                    "expected the Python package dlbridge, whose type Tensor is returned, found "
                    "none: install it, or return no tensor");
  }
  if (type != nullptr && !PyType_Check(type)) {
    PyErr_SetString(PyExc_TypeError, "expected dlbridge.Tensor to be a type, found another object");
    Py_DECREF(type);
    return nullptr;
  }
  return type;
}

}  // namespace detail

/// Any Python array as a tensor, by the demands of a policy; empty, with a Python exception, on
/// failure. Needs the GIL. \since 0.4.0
inline tensor import(PyObject* object, const policy& demands = policy().reject_unknown_flags(),
                     access how = access::on_host) noexcept {
  return detail::import_object(object, demands, how);
}

/// A dlbridge.Tensor that owns `given`: every framework's from_dlpack takes it, and a read-only
/// tensor stays read-only. A new reference, or NULL with an exception; the tensor is then released.
/// Needs the GIL and the Python package dlbridge. \since 0.4.0
inline PyObject* to_python(tensor&& given) noexcept {
  if (!given) {
    PyErr_SetString(PyExc_ValueError,
                    "tensor: expected a tensor, found an empty owner, which was moved from or "
                    "released");
    return nullptr;
  }
  DLBridgePy* const py = dlbridge_py_state();
  PyObject* const type = py != nullptr ? detail::tensor_type() : nullptr;
  if (type == nullptr) {
    detail::release_quietly(std::move(given));
    return nullptr;
  }
  PyObject* const made =
      dlbridge_py_to_type(py, reinterpret_cast<PyTypeObject*>(type), given.release());
  Py_DECREF(type);
  return made;
}
/// As to_python(tensor&&), but for one more owner of the memory, so that `given` stays valid.
/// \since 0.4.0
inline PyObject* to_python(const tensor& given) noexcept {
  result<tensor> shared = share(given);
  return shared ? to_python(*std::move(shared)) : raise(shared.error());
}

}  // namespace py
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_EXPORT_HPP_
