// SPDX-License-Identifier: Apache-2.0
// The import of a Python object by the demands of an argument, and its release.
#ifndef DLBRIDGE_HPP_PYTHON_IMPORT_HPP_
#define DLBRIDGE_HPP_PYTHON_IMPORT_HPP_

#include "dlbridge/hpp/options.hpp"
#include "dlbridge/hpp/owner.hpp"
#include "dlbridge/hpp/python/error.hpp"

DLBRIDGE_HPP_BEGIN
namespace py::detail {

// True if the object has `__dlpack__`, an exchange table, or is a capsule. Clears exceptions.
inline bool speaks_dlpack(DLBridgePy* py, PyObject* object) noexcept {
  if (PyCapsule_CheckExact(object)) {
    return true;
  }
  PyObject* const method = PyObject_GetAttr(object, py->dlpack_name);
  PyErr_Clear();
  const bool found = method != nullptr;
  Py_XDECREF(method);
  return found || dlbridge_py_exchange_api(py, Py_TYPE(object)) != nullptr;
}

// True if the object is no array at all, so that another overload may be meant. Keeps the current
// exception.
inline bool is_no_array(PyObject* object) noexcept {
  const DLBridgePyPending_ pending = dlbridge_py_set_aside_();
  DLBridgePy* const py = dlbridge_py_state();
  const bool none = py != nullptr && !PyObject_CheckBuffer(object) && !speaks_dlpack(py, object);
  PyErr_Clear();
  dlbridge_py_put_back_(pending);
  return none;
}

// A tensor of the object that meets the demands, or an empty one with an exception.
inline tensor import_object(PyObject* object, const policy& demands, access how) noexcept {
  DLBridgePyImportOptions options = dlbridge_py_import_options_init();
  DLManagedTensorVersioned* made = nullptr;
  DLBridgePy* const py = object != nullptr ? dlbridge_py_state() : nullptr;
  if (py == nullptr) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_SystemError, "object: expected a Python object, found NULL");
    }
    return {};
  }
  options.options = DLBRIDGE_PY_OWNED;
  if (has(how, access::vouch_writable)) {
    options.options |= DLBRIDGE_PY_VOUCH_WRITABLE;
  }
  options.policy = demands.raw();
  return dlbridge_py_import(py, object, &options, &made) == 0 ? tensor::assume_validated(made)
                                                              : tensor();
}

// True if this thread may call Python, as far as the API answers that.
inline bool is_attached() noexcept {
#if defined(Py_LIMITED_API)
  return false;
#elif PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked() != nullptr;
#elif PY_VERSION_HEX >= 0x030c0000
  return _PyThreadState_UncheckedGet() != nullptr;
#else
  // Before 3.12 this is the state of the thread that has the GIL, which may be another one.
  const PyThreadState* const state = _PyThreadState_UncheckedGet();
  return state != nullptr && state == PyGILState_GetThisThreadState();
#endif
}

// Releases the tensor on any thread, with or without the GIL. A current exception is kept.
inline void release_quietly(tensor&& gone) noexcept {
  if (gone && is_attached()) {
    dlbridge_py_release(gone.release());
  }
  gone.reset();
}

}  // namespace py::detail
DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_PYTHON_IMPORT_HPP_
