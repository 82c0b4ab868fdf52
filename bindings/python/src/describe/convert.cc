// SPDX-License-Identifier: Apache-2.0
// Conversions consume the tensor at an address. On failure the caller still owns it.
#include <cstdio>

#include "describe.h"

namespace dlbridge::python {
namespace {

const DLBridgeConvertOptions* Fields(const ConvertOptions* options) {
  return options != nullptr ? &options->fields : nullptr;
}

// A copying conversion calls the allocator and releases its source.
template <class Function>
void Convert(ConvertOptions* options, Function call) {
  const bool own = options != nullptr && options->fields.allocator != nullptr;
  CallAllocating(own ? nb::cast<Allocator*>(options->allocator) : nullptr, call);
}

nb::int_ Upgrade(Address source, ConvertOptions* options) {
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  Convert(options, [&](DLBridgeError* error) {
    return dlbridge_upgrade(At<DLManagedTensor>(source), Fields(options), &out, error);
  });
  return results.Number(out);
}

nb::int_ UpgradeInto(Address source, Address memory, size_t size, nb::object release,
                     ConvertOptions* options) {
  Once once(std::move(release));
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = At<void>(memory);
  storage.size = size;
  storage.release = once.given() ? Once::OnMemory : nullptr;
  storage.release_context = once.context();
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  Convert(options, [&](DLBridgeError* error) {
    return dlbridge_upgrade_into(At<DLManagedTensor>(source), Fields(options), &storage, &out,
                                 error);
  });
  once.Passed();
  return results.Number(out);
}

nb::list UpgradeMany(const std::vector<Address>& sources, ConvertOptions* options) {
  Results results(sources.size());
  nb::list addresses = NewList(sources.size());
  std::vector<DLManagedTensor*> in(sources.size() + 1);  // an empty list is not NULL
  std::vector<DLManagedTensorVersioned*> out(sources.size() + 1);
  for (size_t i = 0; i < sources.size(); ++i) {
    in[i] = At<DLManagedTensor>(sources[i]);
  }
  size_t failed = sources.size();
  DLBridgeError error;
  const DLBridgeStatus status = Released([&] {
    return dlbridge_upgrade_many(in.data(), sources.size(), Fields(options), out.data(), &failed,
                                 &error);
  });
  if (status != DLBRIDGE_OK) {
    const nb::object exception = ExceptionFor(status, error);
    exception.attr("failed") = failed;
    Raise(exception);
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    PyList_SetItem(addresses.ptr(), static_cast<Py_ssize_t>(i),
                   results.Number(out[i]).release().ptr());
  }
  return addresses;
}

nb::int_ Downgrade(Address source, ConvertOptions* options) {
  Results results;
  DLManagedTensor* out = nullptr;
  Convert(options, [&](DLBridgeError* error) {
    return dlbridge_downgrade(At<DLManagedTensorVersioned>(source), Fields(options), &out, error);
  });
  return results.Number(out);
}

nb::int_ Import(Address tensor, DLBridgeKind kind, ConvertOptions* options) {
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  Convert(options, [&](DLBridgeError* error) {
    return dlbridge_import(At<void>(tensor), kind, Fields(options), &out, error);
  });
  return results.Number(out);
}

nb::tuple Export(Address tensor, DLBridgeKind kind, Version target, ConvertOptions* options) {
  Results results(2);
  const nb::tuple pair = NewTuple(2);
  void* out = nullptr;
  DLBridgeKind out_kind = DLBRIDGE_KIND_UNKNOWN;
  Convert(options, [&](DLBridgeError* error) {
    return dlbridge_export(At<void>(tensor), kind, ToVersion(target), Fields(options), &out,
                           &out_kind, error);
  });
  PyTuple_SetItem(pair.ptr(), 0, results.Number(out).release().ptr());
  PyTuple_SetItem(pair.ptr(), 1, results.Number(static_cast<uint64_t>(out_kind)).release().ptr());
  return pair;
}

// A foreign deleter may wait for a thread that needs the GIL.
void Release(Address tensor, DLBridgeKind kind) {
  const DLBridgeStatus status = Released([&] { return dlbridge_release(At<void>(tensor), kind); });
  if (status != DLBRIDGE_OK) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    std::snprintf(error.message, sizeof error.message,
                  "kind: expected LEGACY or VERSIONED, found %d", static_cast<int>(kind));
    Raise(ExceptionFor(status, error));
  }
}

}  // namespace

void BindConvert(nb::module_* module) {
  module->def("import_tensor", Import, nb::arg("tensor"), nb::arg("kind"),
              nb::arg("options").none() = nb::none(),
              "Makes a validated, dlbridge-owned versioned tensor of the managed tensor at an "
              "address, and consumes it; Kind.UNKNOWN decides by its bytes.");
  module->def("export_tensor", Export, nb::arg("tensor"), nb::arg("kind"), nb::arg("target"),
              nb::arg("options").none() = nb::none(),
              "(address, kind) of what a consumer of DLPack `target` reads; consumes the tensor.");
  module->def("release", Release, nb::arg("tensor"), nb::arg("kind"),
              "Calls the deleter of the struct of `kind` at an address; 0 is accepted.");
  module->def("upgrade", Upgrade, nb::arg("source"), nb::arg("options").none() = nb::none(),
              "Makes a versioned tensor of the DLManagedTensor at an address, and consumes it.");
  module->def("upgrade_storage_size", dlbridge_upgrade_storage_size, nb::arg("ndim"),
              "Bytes of storage that upgrade_into needs.");
  module->def("upgrade_into", UpgradeInto, nb::arg("source"), nb::arg("memory"), nb::arg("size"),
              nb::arg("release").none() = nb::none(), nb::arg("options").none() = nb::none(),
              "Like upgrade, into `size` bytes at `memory`; release(memory) is called once when "
              "they are free again.");
  module->def("upgrade_many", UpgradeMany, nb::arg("sources"),
              nb::arg("options").none() = nb::none(),
              "Upgrades a list, all or nothing; the exception's `failed` is the index of the "
              "rejected tensor.");
  module->def("downgrade", Downgrade, nb::arg("source"), nb::arg("options").none() = nb::none(),
              "Makes a legacy tensor of the versioned one at an address, and consumes it.");
}

}  // namespace dlbridge::python
