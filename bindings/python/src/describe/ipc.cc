// SPDX-License-Identifier: Apache-2.0
// Between processes of one host: descriptors as bytes and file descriptors.
#include "describe.h"

namespace dlbridge::python {
namespace {

std::pair<nb::bytes, std::vector<int32_t>> Export(Address tensor, uint32_t options) {
  unsigned char buffer[DLBRIDGE_IPC_MAX_SIZE];
  int32_t fds[DLBRIDGE_IPC_MAX_FDS];
  size_t length = 0;
  size_t count = 0;
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_ipc_export(At<DLManagedTensorVersioned>(tensor), options, buffer, sizeof buffer,
                               &length, fds, DLBRIDGE_IPC_MAX_FDS, &count, error);
  });
  return {nb::bytes(buffer, length), std::vector<int32_t>(fds, fds + count)};
}

Address Import(const nb::bytes& descriptor, const std::vector<int32_t>& fds, uint32_t options,
               const Policy* policy) {
  static const int32_t kNone = -1;
  DLManagedTensorVersioned* out = nullptr;
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_ipc_import(descriptor.data(), descriptor.size(),
                               fds.empty() ? &kNone : fds.data(), fds.size(), options,
                               Fields(policy), &out, error);
  });
  return AddressOf(out);
}

}  // namespace

void BindIpc(nb::module_* module) {
  module->def("ipc_export", Export, nb::arg("tensor"), nb::arg("options") = 0,
              "(bytes, file descriptors) for another process. The file descriptors are the "
              "caller's to pass on and close.");
  module->def("ipc_import", Import, nb::arg("descriptor"), nb::arg("fds"), nb::arg("options") = 0,
              nb::arg("policy").none() = nb::none(),
              "A tensor of what another process exported; the file descriptors stay the "
              "caller's.");
}

}  // namespace dlbridge::python
