// SPDX-License-Identifier: Apache-2.0
// Arrays of nanobind, for the adapter for_nanobind.py. It exports as nanobind's documentation of
// the version advises: since 2.10 by nanobind::array_api, before by a plain nanobind::ndarray.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace nb = nanobind;

#define HAS_ARRAY_API (NB_VERSION_MAJOR * 100 + NB_VERSION_MINOR >= 210)

namespace {

using Writable = nb::ndarray<>;
using Constant = nb::ndarray<nb::ro>;

struct Array {
  Writable writable;  // empty for an array that must not be written to
  Constant constant;
};

template <typename Held>
nb::object Export(const Held& held, const nb::kwargs& keywords) {
#if HAS_ARRAY_API
  nb::object array = nb::cast(nb::ndarray<nb::array_api, nb::ro>(held));
  if constexpr (!Held::ReadOnly) array = nb::cast(nb::ndarray<nb::array_api>(held));
  return array.attr("__dlpack__")(**keywords);
#else
  (void)keywords;
  return nb::cast(held);
#endif
}

nb::object ExportArray(const Array& self, const nb::kwargs& keywords) {
  if (self.writable.is_valid()) return Export(self.writable, keywords);
  return Export(self.constant, keywords);
}

Array Make(const nb::bytes& content, const std::vector<size_t>& shape,
           const std::vector<int64_t>& strides, size_t start, int code, int bits, bool read_only) {
  auto* memory = new std::string(content.c_str(), content.size());
  nb::capsule owner(memory, [](void* held) noexcept { delete static_cast<std::string*>(held); });
  void* data = memory->data() + start;
  nb::dlpack::dtype dtype{};
  dtype.code = static_cast<uint8_t>(code);
  dtype.bits = static_cast<uint8_t>(bits);
  dtype.lanes = 1;
  Array made;
  if (read_only) {
    made.constant = Constant(data, shape.size(), shape.data(), owner, strides.data(), dtype);
  } else {
    made.writable = Writable(data, shape.size(), shape.data(), owner, strides.data(), dtype);
    made.constant = Constant(made.writable);
  }
  return made;
}

void Append(const Constant& array, size_t axis, const char* data, size_t size, std::string* out) {
  if (axis == array.ndim()) {
    out->append(data, size);
    return;
  }
  for (size_t i = 0; i < array.shape(axis); ++i) {
    int64_t step = array.stride(axis) * static_cast<int64_t>(i * size);
    Append(array, axis + 1, data + step, size, out);
  }
}

nb::bytes Read(const Array& self) {
  std::string out;
  const Constant& array = self.constant;
  if (array.dtype().bits % 8 != 0) {  // packed elements, of a whole array
    const size_t bits = array.size() * array.dtype().bits;
    return nb::bytes(static_cast<const char*>(array.data()), (bits + 7) / 8);
  }
  Append(array, 0, static_cast<const char*>(array.data()), array.itemsize(), &out);
  return nb::bytes(out.data(), out.size());
}

nb::tuple Shape(const Array& self) {
  nb::list extents;
  for (size_t i = 0; i < self.constant.ndim(); ++i) extents.append(self.constant.shape(i));
  return nb::tuple(extents);
}

nb::tuple Triple(const Array& self) {
  nb::dlpack::dtype dtype = self.constant.dtype();
  return nb::make_tuple(int(dtype.code), int(dtype.bits), int(dtype.lanes));
}

}  // namespace

NB_MODULE(nanobind_arrays, m) {
  nb::class_<Array>(m, "Array", nb::is_weak_referenceable())
      .def("__dlpack__", &ExportArray)
      .def("__dlpack_device__", [](const Array&) { return nb::make_tuple(1, 0); })
      .def_prop_ro("shape", &Shape)
      .def_prop_ro("triple", &Triple)
      .def_prop_ro(
          "address",
          [](const Array& self) { return reinterpret_cast<uintptr_t>(self.constant.data()); })
      .def("read", &Read);
  m.def("make", &Make);
  m.def("consume", [](Constant given) {
    Array held;
    held.constant = given;
    return held;
  });
  m.attr("version") = std::to_string(NB_VERSION_MAJOR) + "." + std::to_string(NB_VERSION_MINOR) +
                      "." + std::to_string(NB_VERSION_PATCH);
}
