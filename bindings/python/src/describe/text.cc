// SPDX-License-Identifier: Apache-2.0
// Names of statuses and rules, versions, and texts of dtypes, devices and tensors.
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>

#include "describe.h"

namespace dlbridge::python {
namespace {

// Writable memory of a Python object, exported while this object lives.
class Writable {
 public:
  explicit Writable(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_WRITABLE) != 0) {
      throw nb::python_error();
    }
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  ~Writable() { PyBuffer_Release(&view_); }
  char* data() const { return static_cast<char*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// Writes to the caller's buffer and returns the length; the exception has it too if it is too
// short.
template <class Write>
nb::object WriteTo(nb::handle buffer, Write write) {
  const Writable memory(buffer);
  DLBridgeError error;
  size_t length = 0;
  const DLBridgeStatus status = write(memory.data(), memory.size(), &length, &error);
  if (status != DLBRIDGE_OK) {
    const nb::object exception = ExceptionFor(status, error);
    exception.attr("length") = length;
    Raise(exception);
  }
  return nb::cast(length);
}

// Returns the text, or writes it to `buffer` if that is given.
template <class Write>
nb::object Format(nb::handle buffer, Write write) {
  if (!buffer.is_none()) {
    return WriteTo(buffer, write);
  }
  std::string text(256, '\0');
  size_t length = 0;
  if (write(text.data(), text.size(), &length, nullptr) == DLBRIDGE_ERROR_BUFFER_TOO_SMALL) {
    text.resize(length + 1);
  }
  Call([&](DLBridgeError* error) { return write(text.data(), text.size(), &length, error); });
  text.resize(length);
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(length), "replace"));
}

nb::object DtypeFormat(Dtype dtype, nb::handle buffer) {
  return Format(buffer, [&](char* text, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_dtype_format(ToDtype(dtype), text, size, length, error);
  });
}

nb::object DeviceFormat(Device device, nb::handle buffer) {
  return Format(buffer, [&](char* text, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_device_format(ToDevice(device), text, size, length, error);
  });
}

nb::object TensorFormat(Address tensor, uint64_t tensor_flags, nb::handle buffer) {
  return Format(buffer, [&](char* text, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_tensor_format(At<DLTensor>(tensor), tensor_flags, text, size, length, error);
  });
}

bool HostAccessible(int32_t type) { return dlbridge_host_accessible(type, nullptr) != 0; }

DLBridgeAnswer HostAccessibleAnswer(int32_t type) {
  DLBridgeAnswer answer = DLBRIDGE_NO;
  dlbridge_host_accessible(type, &answer);
  return answer;
}

Dtype DtypeParse(std::string_view text) {
  DLDataType dtype = {0, 0, 0};
  Call([&](DLBridgeError* error) {
    return dlbridge_dtype_parse(text.data(), text.size(), &dtype, error);
  });
  return {dtype.code, dtype.bits, dtype.lanes};
}

Device DeviceParse(std::string_view text) {
  DLDevice device = {kDLCPU, 0};
  Call([&](DLBridgeError* error) {
    return dlbridge_device_parse(text.data(), text.size(), &device, error);
  });
  return FromDevice(device);
}

}  // namespace

void BindText(nb::module_* module) {
  module->def("version", dlbridge_version, "Version of the library as one number.");
  module->def("version_string", dlbridge_version_string, "Version of the library as text.");
  module->def(
      "dlpack_version", [] { return FromVersion(dlbridge_dlpack_version()); },
      "The newest DLPack release that the library supports.");
  module->def("status_name", dlbridge_status_name, nb::arg("status"), "Name of a status.");
  module->def("status_text", dlbridge_status_text, nb::arg("status"), "A sentence on a status.");
  module->def("rule_name", dlbridge_rule_name, nb::arg("rule"), "Name of a rule.");
  module->def("rule_text", dlbridge_rule_text, nb::arg("rule"), "The description of a rule.");
  module->def(
      "dtype_format", DtypeFormat, nb::arg("dtype"), nb::arg("buffer").none() = nb::none(),
      "The name of a dtype (code, bits, lanes); with `buffer`, writes it and returns its length.");
  module->def("device_format", DeviceFormat, nb::arg("device"),
              nb::arg("buffer").none() = nb::none(),
              "The name of a device (type, id); with `buffer`, writes it and returns its length.");
  module->def("tensor_format", TensorFormat, nb::arg("tensor"), nb::arg("tensor_flags") = 0,
              nb::arg("buffer").none() = nb::none(),
              "One line about the DLTensor at an address; with `buffer`, writes it and returns its "
              "length.");
  module->def("dtype_parse", DtypeParse, nb::arg("text"), "(code, bits, lanes) of a name.");
  module->def("device_parse", DeviceParse, nb::arg("text"), "(type, id) of a name.");
  module->def("host_accessible", HostAccessible, nb::arg("device_type"),
              "True if the CPU can certainly read memory of this device type.");
  module->def("host_accessible_answer", HostAccessibleAnswer, nb::arg("device_type"),
              "Like host_accessible, as an Answer, which distinguishes NO and UNDECIDED.");
}

}  // namespace dlbridge::python
