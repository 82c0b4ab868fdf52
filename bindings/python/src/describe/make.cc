// SPDX-License-Identifier: Apache-2.0
// Creates tensors (further owners, views, allocations, wraps, copies) and releases them.
#include "describe.h"

namespace dlbridge::python {
namespace {

nb::int_ Share(Address tensor) {
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  Call([&](DLBridgeError* error) {
    return dlbridge_share(At<DLManagedTensorVersioned>(tensor), &out, error);
  });
  return results.Number(out);
}

// The library reads `ndim` strides, so a list of another length is rejected here.
void CheckStrides(const Shape& shape, const Shape& strides, std::optional<int32_t> ndim) {
  const int32_t axes = Axes(shape, ndim);
  for (const Shape* list : {&shape, &strides}) {
    if (list->has_value() && axes > 0 && (*list)->size() < static_cast<size_t>(axes)) {
      throw nb::value_error("shape and strides must have an entry for each axis");
    }
  }
}

nb::int_ View(Address tensor, const Shape& shape, const Shape& strides, int64_t offset, Dtype dtype,
              std::optional<int32_t> ndim) {
  CheckStrides(shape, strides, ndim);
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = Axes(shape, ndim);
  spec.shape = Values(shape);
  spec.strides = Values(strides);
  spec.offset = offset;
  spec.dtype = ToDtype(dtype);
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  Call([&](DLBridgeError* error) {
    return dlbridge_view(At<DLManagedTensorVersioned>(tensor), &spec, &out, error);
  });
  return results.Number(out);
}

// A parameter for each keyword of Python's. NOLINTNEXTLINE(readability-function-size)
nb::int_ Allocate(const Shape& shape, Dtype dtype, Device device, uint64_t alignment,
                  uint64_t tensor_flags, Version version, Allocator* allocator, uint32_t options,
                  std::optional<int32_t> ndim) {
  CheckStrides(shape, std::nullopt, ndim);
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = Axes(shape, ndim);
  spec.shape = Values(shape);
  spec.device = ToDevice(device);
  spec.dtype = ToDtype(dtype);
  spec.alignment = alignment;
  spec.tensor_flags = tensor_flags;
  spec.version = ToVersion(version);
  spec.allocator = Fields(allocator);
  spec.options = options;
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  CallAllocating(allocator,
                 [&](DLBridgeError* error) { return dlbridge_allocate(&spec, &out, error); });
  return results.Number(out);
}

// Both wraps: `wrap` is the library's function, `Managed` the struct that it makes.
// NOLINTBEGIN(readability-function-size): a parameter for each keyword of Python's
template <class Managed, DLBridgeStatus (*wrap)(const DLBridgeWrapSpec*, Managed**, DLBridgeError*)>
nb::int_ Wrap(Buffer buffer, const Shape& shape, Dtype dtype, const Shape& strides, Device device,
              uint64_t byte_offset, uint64_t buffer_size, uint32_t options, uint64_t tensor_flags,
              Version version, nb::object release, const Policy* policy,
              std::optional<int32_t> ndim) {
  CheckStrides(shape, strides, ndim);
  Once once(std::move(release));
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = Axes(shape, ndim);
  spec.shape = Values(shape);
  spec.strides = Values(strides);
  spec.buffer = ToBuffer(buffer);
  spec.byte_offset = byte_offset;
  spec.buffer_size = buffer_size;
  spec.device = ToDevice(device);
  spec.dtype = ToDtype(dtype);
  spec.options = options;
  spec.tensor_flags = tensor_flags;
  spec.version = ToVersion(version);
  spec.release = once.given() ? Once::OnBuffer : nullptr;
  spec.release_context = once.context();
  spec.policy = Fields(policy);
  Results results;
  Managed* out = nullptr;
  CallReleased([&](DLBridgeError* error) { return wrap(&spec, &out, error); });
  once.Passed();
  return results.Number(out);
}
// NOLINTEND(readability-function-size)

// NOLINTBEGIN(readability-function-size): a parameter for each keyword of Python's
// Fills a spec and passes it to `copy`, which calls one of the library's functions.
template <class Function>
nb::int_ CopyBy(Function copy, Device device, uint32_t options, const std::optional<Stream>& stream,
                const std::optional<Buffer>& target, uint64_t target_offset, uint64_t target_size,
                nb::object release, Allocator* allocator, uint64_t tensor_flags, Version version,
                const Policy* policy) {
  Once once(std::move(release));
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.options = options;
  spec.device = ToDevice(device);
  if (stream) {
    spec.stream = ToStream(*stream);
  }
  spec.target = target ? ToBuffer(*target) : spec.target;
  spec.target_offset = target_offset;
  spec.target_size = target_size;
  spec.release = once.given() ? Once::OnBuffer : nullptr;
  spec.release_context = once.context();
  spec.allocator = Fields(allocator);
  spec.tensor_flags = tensor_flags;
  spec.version = ToVersion(version);
  spec.policy = Fields(policy);
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  CallAllocating(allocator, [&](DLBridgeError* error) { return copy(&spec, &out, error); });
  once.Passed();
  return results.Number(out);
}

nb::int_ Copy(Address source, uint64_t source_tensor_flags, Device device, uint32_t options,
              std::optional<Stream> stream, std::optional<Buffer> target, uint64_t target_offset,
              uint64_t target_size, nb::object release, Allocator* allocator, uint64_t tensor_flags,
              Version version, const Policy* policy) {
  const auto copy = [&](const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                        DLBridgeError* error) {
    return dlbridge_copy(At<DLTensor>(source), source_tensor_flags, spec, out, error);
  };
  return CopyBy(copy, device, options, stream, target, target_offset, target_size,
                std::move(release), allocator, tensor_flags, version, policy);
}

nb::int_ CopyAsync(Address source, Device device, uint32_t options, std::optional<Stream> stream,
                   std::optional<Buffer> target, uint64_t target_offset, uint64_t target_size,
                   nb::object release, Allocator* allocator, uint64_t tensor_flags, Version version,
                   const Policy* policy) {
  const auto copy = [&](const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                        DLBridgeError* error) {
    return dlbridge_copy_async(At<DLManagedTensorVersioned>(source), spec, out, error);
  };
  return CopyBy(copy, device, options, stream, target, target_offset, target_size,
                std::move(release), allocator, tensor_flags, version, policy);
}
// NOLINTEND(readability-function-size)

void ReleaseAfter(Address tensor, DLBridgeKind kind, const std::vector<Stream>& streams) {
  std::vector<DLBridgeStream> given;
  given.reserve(streams.size() + 1);  // an empty list is not NULL
  for (const Stream& stream : streams) {
    given.push_back(ToStream(stream));
  }
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_release_after(At<void>(tensor), kind, given.data(), given.size(), error);
  });
}

// A failure has the number of tensors that are still held, too.
size_t Collect(uint32_t options) {
  size_t left = 0;
  DLBridgeError error;
  const DLBridgeStatus status = Released([&] { return dlbridge_collect(options, &left, &error); });
  if (status != DLBRIDGE_OK) {
    const nb::object exception = ExceptionFor(status, error);
    exception.attr("left") = left;
    Raise(exception);
  }
  return left;
}

// A foreign deleter may wait for a thread that needs the GIL.
void ReleaseLegacy(Address tensor) {
  RunWithoutGil([](void* given) { dlbridge_release_legacy(static_cast<DLManagedTensor*>(given)); },
                At<void>(tensor));
}
void ReleaseVersioned(Address tensor) {
  RunWithoutGil(
      [](void* given) {
        dlbridge_release_versioned(static_cast<DLManagedTensorVersioned*>(given));
      },
      At<void>(tensor));
}

template <class Function>
void BindWrap(nb::module_* module, const char* name, Function function, const char* text) {
  module->def(name, function, nb::arg("buffer"), nb::arg("shape").none(), nb::arg("dtype"),
              nb::kw_only(), nb::arg("strides").none() = nb::none(),
              nb::arg("device") = Device(1, 0), nb::arg("byte_offset") = 0,
              nb::arg("buffer_size") = 0, nb::arg("options") = 0, nb::arg("tensor_flags") = 0,
              nb::arg("version") = Version(0, 0), nb::arg("release").none() = nb::none(),
              nb::arg("policy").none() = nb::none(), nb::arg("ndim").none() = nb::none(), text);
}

}  // namespace

void BindMake(nb::module_* module) {
  module->def("share", Share, nb::arg("tensor"),
              "One more independent owner of the data of a dlbridge-owned tensor.");
  module->def("view", View, nb::arg("tensor"), nb::arg("shape").none(),
              nb::arg("strides").none() = nb::none(), nb::arg("offset") = 0, nb::kw_only(),
              nb::arg("dtype") = Dtype(0, 0, 0), nb::arg("ndim").none() = nb::none(),
              "Like share, with another shape, and strides and offset in elements.");
  module->def("allocate", Allocate, nb::arg("shape").none(), nb::arg("dtype"),
              nb::arg("device") = Device(1, 0), nb::kw_only(), nb::arg("alignment") = 0,
              nb::arg("tensor_flags") = 0, nb::arg("version") = Version(0, 0),
              nb::arg("allocator").none() = nb::none(), nb::arg("options") = 0,
              nb::arg("ndim").none() = nb::none(),
              "A compact tensor, whose bytes are unspecified.");
  BindWrap(module, "wrap", Wrap<DLManagedTensorVersioned, dlbridge_wrap>,
           "A tensor of native memory; release(buffer, stream) is called once when the last owner "
           "is gone.");
  BindWrap(module, "wrap_legacy", Wrap<DLManagedTensor, dlbridge_wrap_legacy>,
           "Like wrap, as a legacy tensor.");
  module->def("copy", Copy, nb::arg("source"), nb::arg("source_tensor_flags") = 0,
              nb::arg("device") = Device(1, 0), nb::kw_only(), nb::arg("options") = 0,
              nb::arg("stream").none() = nb::none(), nb::arg("target").none() = nb::none(),
              nb::arg("target_offset") = 0, nb::arg("target_size") = 0,
              nb::arg("release").none() = nb::none(), nb::arg("allocator").none() = nb::none(),
              nb::arg("tensor_flags") = 0, nb::arg("version") = Version(0, 0),
              nb::arg("policy").none() = nb::none(),
              "Copies the DLTensor at an address to compact memory; it is only read.");
  module->def("copy_async", CopyAsync, nb::arg("source"), nb::arg("device") = Device(1, 0),
              nb::kw_only(), nb::arg("options") = 0, nb::arg("stream").none() = nb::none(),
              nb::arg("target").none() = nb::none(), nb::arg("target_offset") = 0,
              nb::arg("target_size") = 0, nb::arg("release").none() = nb::none(),
              nb::arg("allocator").none() = nb::none(), nb::arg("tensor_flags") = 0,
              nb::arg("version") = Version(0, 0), nb::arg("policy").none() = nb::none(),
              "Like copy, of the dlbridge-owned DLManagedTensorVersioned at an address; returns as "
              "soon as the copy is enqueued on `stream`.");
  module->def(
      "release_after", ReleaseAfter, nb::arg("tensor"), nb::arg("kind"), nb::arg("streams"),
      "Releases the struct of `kind` at an address when the work that is on the streams now "
      "is over; after a failure it is still the caller's.");
  module->def(
      "collect", Collect, nb::arg("options") = 0,
      "Releases the held tensors whose work is over; returns the number that is still held, "
      "which a failure has as `left`.");
  module->def("release_legacy", ReleaseLegacy, nb::arg("tensor"),
              "Calls the deleter of the DLManagedTensor at an address; 0 is accepted.");
  module->def("release_versioned", ReleaseVersioned, nb::arg("tensor"),
              "Calls the deleter of the DLManagedTensorVersioned at an address; 0 is accepted.");
}

}  // namespace dlbridge::python
