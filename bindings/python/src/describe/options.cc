// SPDX-License-Identifier: Apache-2.0
// The classes of options, which are structs in C.
#include <algorithm>
#include <cstring>

#include "describe.h"

namespace dlbridge::python {

// Copies bytes: the device type may be any integer.
DLDevice ToDevice(const Device& device) {
  const int32_t fields[2] = {device.first, device.second};
  DLDevice out;
  std::memcpy(&out, fields, sizeof out);
  return out;
}
Device FromDevice(const DLDevice& device) {
  int32_t fields[2];
  std::memcpy(fields, &device, sizeof fields);
  return {fields[0], fields[1]};
}

DLBridgeStream ToStream(const Stream& stream) {
  return {std::get<0>(stream), std::get<1>(stream), ToDevice(std::get<2>(stream)),
          std::get<3>(stream), std::get<4>(stream), 0};
}

int32_t Axes(const Shape& shape, std::optional<int32_t> ndim) {
  if (ndim) {
    return *ndim;
  }
  const size_t axes = shape ? shape->size() : 0;
  return static_cast<int32_t>(std::min<size_t>(axes, INT32_MAX));
}

namespace {

using Devices = std::optional<std::vector<Device>>;
using Dtypes = std::optional<std::vector<Dtype>>;

// A parameter for each keyword of Python's. NOLINTNEXTLINE(readability-function-size)
void MakePolicy(Policy* self, uint32_t options, Version version, int32_t level, int32_t contiguity,
                int32_t min_ndim, int32_t max_ndim, uint64_t alignment, uint64_t buffer_size,
                const Devices& devices, const Dtypes& dtypes, Shape shape) {
  // The library reads `max_ndim` entries.
  if (shape && max_ndim > 0 && shape->size() < static_cast<size_t>(max_ndim)) {
    throw nb::value_error("shape must have max_ndim entries");
  }
  new (self) Policy();
  DLBridgePolicy& fields = self->fields;
  fields.level = level;
  fields.version = ToVersion(version);
  fields.options = options;
  fields.min_ndim = min_ndim;
  fields.max_ndim = max_ndim;
  fields.contiguity = contiguity;
  fields.alignment = alignment;
  fields.buffer_size = buffer_size;
  if (devices) {
    self->devices.reserve(devices->size() + 1);  // an empty list is not NULL
    for (const Device& device : *devices) {
      self->devices.push_back(ToDevice(device));
    }
    fields.devices = self->devices.data();
    fields.device_count = self->devices.size();
  }
  if (dtypes) {
    self->dtypes.reserve(dtypes->size() + 1);
    for (const Dtype& dtype : *dtypes) {
      self->dtypes.push_back(ToDtype(dtype));
    }
    fields.dtypes = self->dtypes.data();
    fields.dtype_count = self->dtypes.size();
  }
  self->shape = std::move(shape);
  fields.shape = Values(self->shape);
}

// The Python object of a C++ object; it keeps the pointed-to object alive.
template <class T>
nb::object ObjectOf(const T* object) {
  return object != nullptr ? nb::find(object) : nb::none();
}

void MakeOptions(ConvertOptions* self, uint32_t options, Version version, uint64_t tensor_flags,
                 const Policy* policy, const Allocator* allocator) {
  new (self) ConvertOptions();
  self->fields.options = options;
  self->fields.version = ToVersion(version);
  self->fields.tensor_flags = tensor_flags;
  self->fields.policy = Fields(policy);
  self->fields.allocator = Fields(allocator);
  self->policy = ObjectOf(policy);
  self->allocator = ObjectOf(allocator);
}

}  // namespace

void BindOptions(nb::module_* module) {
  nb::class_<Policy>(*module, "Policy", "What a consumer demands of a tensor (DLBridgePolicy).")
      .def("__init__", MakePolicy, nb::kw_only(), nb::arg("options") = 0,
           nb::arg("version") = Version(0, 0), nb::arg("level") = 0, nb::arg("contiguity") = 0,
           nb::arg("min_ndim") = 0, nb::arg("max_ndim") = 0, nb::arg("alignment") = 0,
           nb::arg("buffer_size") = 0, nb::arg("devices").none() = nb::none(),
           nb::arg("dtypes").none() = nb::none(), nb::arg("shape").none() = nb::none());
  nb::class_<Allocator>(*module, "Allocator",
                        "An allocator in Python: allocate(device, bytes, alignment, "
                        "stream) returns an address or None, deallocate(device, address, bytes, "
                        "alignment, stream) takes it back, once, on any thread.")
      .def(nb::init<nb::callable, nb::callable>(), nb::arg("allocate"), nb::arg("deallocate"));
  nb::class_<ConvertOptions>(*module, "ConvertOptions", "How to convert (DLBridgeConvertOptions).")
      .def("__init__", MakeOptions, nb::kw_only(), nb::arg("options") = 0,
           nb::arg("version") = Version(0, 0), nb::arg("tensor_flags") = 0,
           nb::arg("policy").none() = nb::none(), nb::arg("allocator").none() = nb::none());
}

}  // namespace dlbridge::python
