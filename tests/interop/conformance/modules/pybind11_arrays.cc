// SPDX-License-Identifier: Apache-2.0
// Arrays of an extension of pybind11 that uses dlbridge's header, for the adapter for_pybind11.py.
#include <dlbridge/pybind11.hpp>
//
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace db = dlbridge;
namespace py = pybind11;

namespace {

struct Array {
  db::tensor tensor;
};

Array Make(const py::bytes& content, const std::vector<std::int64_t>& shape,
           const std::vector<std::int64_t>& strides, std::size_t start, int code, int bits,
           bool read_only) {
  const std::string bytes = content;
  std::vector<char> memory(bytes.begin(), bytes.end());  // stays where it is when it is moved
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const DLDataType type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  const db::buffer place = db::make_buffer(db::backend::none, db::buffer_kind::address, address);
  db::wrap_spec spec = db::wrap_spec(place, db::make_device(kDLCPU), db::dtype(type), shape)
                           .strides(strides)
                           .byte_offset(start);
  if (read_only) spec = spec.read_only();
  return {db::wrap(spec, [held = std::move(memory)] {}).value()};
}

void Append(const DLTensor& tensor, int axis, const char* data, std::string* out) {
  const std::int64_t size = (tensor.dtype.bits + 7) / 8;  // padded elements have a byte each
  if (axis == tensor.ndim) {
    out->append(data, static_cast<std::size_t>(size));
    return;
  }
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) {
    Append(tensor, axis + 1, data + i * tensor.strides[axis] * size, out);
  }
}

const DLTensor& TensorOf(const Array& self) { return self.tensor.get()->dl_tensor; }

const char* Start(const Array& self) {
  return static_cast<const char*>(TensorOf(self).data) + TensorOf(self).byte_offset;
}

// Whether the elements are below a byte and without gaps.
bool IsPacked(const Array& self) {
  const bool padded = (self.tensor.get()->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  return TensorOf(self).dtype.bits % 8 != 0 && !padded;
}

// As they are in memory: the elements of a whole array.
py::bytes Packed(const Array& self) {
  std::int64_t bits = TensorOf(self).dtype.bits;
  for (int axis = 0; axis < TensorOf(self).ndim; ++axis) bits *= TensorOf(self).shape[axis];
  return py::bytes(Start(self), static_cast<std::size_t>((bits + 7) / 8));
}

py::bytes Read(const Array& self) {
  if (IsPacked(self)) return Packed(self);
  std::string out;
  Append(TensorOf(self), 0, Start(self), &out);
  return out;
}

py::tuple Shape(const Array& self) {
  const DLTensor& tensor = TensorOf(self);
  return py::cast(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.ndim))
      .cast<py::tuple>();
}

py::object Exporter(const Array& self) { return py::cast(db::share(self.tensor).value()); }

// A function with typed parameters (db::py::arg) rejects other dtypes by itself.
Array Consume(db::tensor given) {
  DLBridgePolicy known = dlbridge_policy_init();
  known.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE;
  DLBridgeError error;
  if (dlbridge_validate_versioned(given.get(), &known, &error) != DLBRIDGE_OK) {
    throw py::buffer_error(error.message);
  }
  return {std::move(given)};
}

}  // namespace

PYBIND11_MODULE(pybind11_arrays, m) {
  db::py::translate_exceptions();
  py::class_<Array>(m, "Array")
      .def("__dlpack__",
           [](const Array& self, const py::kwargs& keywords) {
             return Exporter(self).attr("__dlpack__")(**keywords);
           })
      .def("__dlpack_device__", [](const Array&) { return py::make_tuple(1, 0); })
      .def_property_readonly("shape", &Shape)
      .def_property_readonly("triple",
                             [](const Array& self) {
                               const DLDataType type = TensorOf(self).dtype;
                               return py::make_tuple(int(type.code), int(type.bits),
                                                     int(type.lanes));
                             })
      .def_property_readonly(
          "address",
          [](const Array& self) { return reinterpret_cast<std::uintptr_t>(Start(self)); })
      .def_property_readonly("writable",
                             [](const Array& self) {
                               const std::uint64_t flags = self.tensor.get()->flags;
                               return (flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
                             })
      .def("read", &Read);
  m.def("make", &Make);
  m.def("consume", &Consume);
  m.attr("version") = std::to_string(PYBIND11_VERSION_MAJOR) + "." +
                      std::to_string(PYBIND11_VERSION_MINOR) + "." +
                      std::to_string(PYBIND11_VERSION_PATCH);
}
