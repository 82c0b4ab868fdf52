// SPDX-License-Identifier: Apache-2.0
// Tensors between processes of one host: descriptors are bytes and file descriptors.
#ifndef _WIN32
#include <unistd.h>
#endif

#include "describe.h"

namespace dlbridge::python {
namespace {

// The sizes that an export needs; nothing is written.
DLBridgeIpcSizes Sizes(const DLManagedTensorVersioned* tensor, const DLBridgeIpcExportSpec& spec) {
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  CallReleased([&](DLBridgeError* error) {
    const DLBridgeStatus status = dlbridge_ipc_export(tensor, &spec, &sizes, error);
    return status == DLBRIDGE_ERROR_BUFFER_TOO_SMALL ? DLBRIDGE_OK : status;
  });
  return sizes;
}

// The result of an export; the file descriptors are closed if there is no memory for it.
nb::tuple Exported(const std::vector<char>& buffer, const std::vector<int32_t>& fds) {
  try {
    return nb::make_tuple(nb::bytes(buffer.data(), buffer.size()), nb::cast(fds));
  } catch (...) {
#ifndef _WIN32
    for (const int32_t fd : fds) {
      close(fd);
    }
#endif
    throw;
  }
}

nb::tuple Export(Address address, uint32_t options, const std::optional<Stream>& stream) {
  const auto* tensor = At<DLManagedTensorVersioned>(address);
  const DLBridgeStream after = stream ? ToStream(*stream) : DLBridgeStream{};
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  spec.options = options;
  spec.stream = stream ? &after : nullptr;
  DLBridgeIpcSizes sizes = Sizes(tensor, spec);
  std::vector<char> buffer(sizes.buffer_size);
  std::vector<int32_t> fds(sizes.fd_count);
  spec.buffer = buffer.empty() ? nullptr : buffer.data();
  spec.buffer_size = buffer.size();
  spec.fds = fds.empty() ? nullptr : fds.data();
  spec.fd_capacity = fds.size();
  CallReleased(
      [&](DLBridgeError* error) { return dlbridge_ipc_export(tensor, &spec, &sizes, error); });
  buffer.resize(sizes.buffer_size);
  return Exported(buffer, fds);
}

nb::int_ Import(const nb::bytes& descriptor, const std::vector<int32_t>& fds, uint32_t options,
                const Policy* policy, const std::optional<Stream>& stream) {
  const DLBridgeStream on = stream ? ToStream(*stream) : DLBridgeStream{};
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.stream = stream ? &on : nullptr;
  spec.options = options;
  spec.buffer = descriptor.data();
  spec.buffer_size = descriptor.size();
  spec.fds = fds.empty() ? nullptr : fds.data();
  spec.fd_count = fds.size();
  spec.policy = Fields(policy);
  Results results;
  DLManagedTensorVersioned* out = nullptr;
  CallReleased([&](DLBridgeError* error) { return dlbridge_ipc_import(&spec, &out, error); });
  return results.Number(out);
}

}  // namespace

void BindIpc(nb::module_* module) {
  module->def(
      "ipc_export", Export, nb::arg("tensor"), nb::arg("options") = 0,
      nb::arg("stream").none() = nb::none(),
      "(bytes, file descriptors) for another process, which waits for the work on `stream`. "
      "The file descriptors are the caller's to pass on and close.");
  module->def(
      "ipc_import", Import, nb::arg("descriptor"), nb::arg("fds"), nb::arg("options") = 0,
      nb::arg("policy").none() = nb::none(), nb::arg("stream").none() = nb::none(),
      "A tensor that another process exported; `stream`, or without one the call, waits for "
      "the exporter's work. The file descriptors remain the caller's.");
}

}  // namespace dlbridge::python
