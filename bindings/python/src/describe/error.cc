// SPDX-License-Identifier: Apache-2.0
// The library's errors as Python exceptions, and results that cannot get lost.
#include <cstring>

#include "describe.h"
#include "dlbridge/cpython_api.h"

namespace dlbridge::python {
namespace {

// The library truncates long messages, possibly inside a character, which must not raise.
nb::object Decoded(const char* text) {
  const auto size = static_cast<Py_ssize_t>(std::strlen(text));
  return nb::steal(PyUnicode_DecodeUTF8(text, size, "replace"));
}

}  // namespace

nb::object ExceptionFor(DLBridgeStatus status, const DLBridgeError& error) {
  constexpr size_t kPrefix = sizeof("DLBRIDGE_ERROR_") - 1;
  const char* name = dlbridge_status_name(status);
  nb::object exception = nb::borrow(dlbridge_py_error_type(status))(Decoded(error.message));
  const bool known = std::strncmp(name, "DLBRIDGE_ERROR_", kPrefix) == 0;
  exception.attr("status") = known ? name + kPrefix : name;
  exception.attr("rule") = nb::none();
  exception.attr("axis") = nb::none();
  exception.attr("native_code") = nb::none();
  if (error.rule != DLBRIDGE_RULE_NONE) {
    exception.attr("rule") = dlbridge_rule_name(error.rule);
  }
  if (error.axis >= 0) {
    exception.attr("axis") = error.axis;
  }
  if (error.native_code != 0) {
    exception.attr("native_code") = error.native_code;
  }
  return exception;
}

void Raise(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

Results::Results(size_t count) {
  // As many digits as an address has, so that CPython's allocator uses the same block again.
  constexpr uint64_t kLarge = uint64_t{1} << 46;
  reserved_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    PyObject* made = PyLong_FromUnsignedLongLong(kLarge + i);
    if (made == nullptr) {
      throw nb::python_error();
    }
    reserved_.push_back(nb::steal(made));
  }
}

nb::int_ Results::Number(uint64_t value) {
  PyObject* made = PyLong_FromUnsignedLongLong(value);
  if (made == nullptr && !reserved_.empty()) {
    PyErr_Clear();
    reserved_.pop_back();
    made = PyLong_FromUnsignedLongLong(value);
  }
  return made != nullptr ? nb::steal<nb::int_>(made) : throw nb::python_error();
}

}  // namespace dlbridge::python
