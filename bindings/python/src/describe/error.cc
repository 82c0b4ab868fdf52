// SPDX-License-Identifier: Apache-2.0
// The library's errors as Python exceptions.
#include <cstring>

#include "describe.h"

namespace dlbridge::python {
namespace {

PyObject* TypeOf(DLBridgeStatus status) {
  switch (status) {
    case DLBRIDGE_ERROR_INVALID_ARGUMENT:
    case DLBRIDGE_ERROR_STRUCT_TOO_NEW:
    case DLBRIDGE_ERROR_PARSE:
    case DLBRIDGE_ERROR_NOT_FOUND:
    case DLBRIDGE_ERROR_BOUNDS:
    case DLBRIDGE_ERROR_EXISTS:
    case DLBRIDGE_ERROR_DESCRIPTOR:
      return PyExc_ValueError;
    case DLBRIDGE_ERROR_OUT_OF_MEMORY:
      return PyExc_MemoryError;
    case DLBRIDGE_ERROR_FORKED:
    case DLBRIDGE_ERROR_UNAVAILABLE:
    case DLBRIDGE_ERROR_DRIVER:
      return PyExc_RuntimeError;
    default:
      return PyExc_BufferError;
  }
}

// The library cuts long messages, which may cut a character: that is no reason to fail.
nb::object Decoded(const char* text) {
  const auto size = static_cast<Py_ssize_t>(std::strlen(text));
  return nb::steal(PyUnicode_DecodeUTF8(text, size, "replace"));
}

}  // namespace

nb::object ExceptionFor(DLBridgeStatus status, const DLBridgeError& error) {
  constexpr size_t kPrefix = sizeof("DLBRIDGE_ERROR_") - 1;
  const char* name = dlbridge_status_name(status);
  nb::object exception = nb::borrow(TypeOf(status))(Decoded(error.message));
  const bool known = std::strncmp(name, "DLBRIDGE_ERROR_", kPrefix) == 0;
  exception.attr("status") = known ? name + kPrefix : name;
  exception.attr("rule") = nb::none();
  exception.attr("axis") = nb::none();
  if (error.rule != DLBRIDGE_RULE_NONE) {
    exception.attr("rule") = dlbridge_rule_name(error.rule);
  }
  if (error.axis >= 0) {
    exception.attr("axis") = error.axis;
  }
  return exception;
}

void Raise(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace dlbridge::python
