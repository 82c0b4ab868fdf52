// SPDX-License-Identifier: Apache-2.0
// Backends, memory and streams. These calls may start a driver, so they release the GIL.
#include "describe.h"

namespace dlbridge::python {
namespace {

nb::object TextOf(const char* text) {
  const nb::bytes bytes(text);
  return bytes.attr("decode")("utf-8", "replace");
}

nb::dict BackendInfo(DLBridgeBackend backend) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  CallReleased([&](DLBridgeError* error) { return dlbridge_backend_info(backend, &info, error); });
  nb::dict out = NewDict();
  out["backend"] = info.backend;
  out["state"] = info.state;
  out["device_count"] = info.device_count;
  out["driver_code"] = info.driver_code;
  out["driver_version"] = TextOf(info.driver_version);
  out["runtime_version"] = TextOf(info.runtime_version);
  out["file"] = TextOf(info.file);
  out["reason"] = TextOf(info.reason);
  return out;
}

nb::dict PointerInfo(Buffer buffer, Device device, uint32_t options) {
  const DLBridgeBuffer given = ToBuffer(buffer);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  info.options = options;
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_pointer_info(&given, ToDevice(device), &info, error);
  });
  nb::dict out = NewDict();
  out["backend"] = info.backend;
  out["device"] = FromDevice(info.device);
  out["memory"] = info.memory;
  out["native_device"] = info.native_device;
  out["properties"] = info.properties;
  out["base"] = info.base;
  out["size"] = info.size;
  out["context"] = info.context;
  out["peers"] = info.peers;
  return out;
}

Stream StreamFromArrayApi(Device device, std::optional<int64_t> stream) {
  DLBridgeStream out;
  Call([&](DLBridgeError* error) {
    return dlbridge_stream_from_array_api(
        ToDevice(device), stream.value_or(DLBRIDGE_ARRAY_API_STREAM_NONE), &out, error);
  });
  return {out.backend, out.kind, FromDevice(out.device), out.handle, out.context};
}

void StreamHandoff(Stream producer, Stream consumer, uint32_t options) {
  const DLBridgeStream from = ToStream(producer);
  const DLBridgeStream to = ToStream(consumer);
  CallReleased(
      [&](DLBridgeError* error) { return dlbridge_stream_handoff(&from, &to, options, error); });
}

void StreamSynchronize(Stream stream) {
  const DLBridgeStream given = ToStream(stream);
  CallReleased([&](DLBridgeError* error) { return dlbridge_stream_synchronize(&given, error); });
}

}  // namespace

void BindDevice(nb::module_* module) {
  module->def(
      "backend_info", BackendInfo, nb::arg("backend"),
      "State and versions of a backend, as a dict of DLBridgeBackendInfo; starts its driver.");
  module->def("pointer_info", PointerInfo, nb::arg("buffer"), nb::arg("device") = Device(1, 0),
              nb::arg("options") = 0,
              "The location of a buffer (backend, kind, handle, context), as a dict of "
              "DLBridgePointerInfo; `peers` is valid if the properties have PEERS_KNOWN.");
  module->def("stream_from_array_api", StreamFromArrayApi, nb::arg("device"),
              nb::arg("stream").none(),
              "(backend, kind, device, handle, context) of the array API's `stream`.");
  module->def("stream_handoff", StreamHandoff, nb::arg("producer"), nb::arg("consumer"),
              nb::arg("options") = 0, "Work on the producer happens before work on the consumer.");
  module->def("stream_synchronize", StreamSynchronize, nb::arg("stream"),
              "Waits until all work on a stream is done.");
}

}  // namespace dlbridge::python
