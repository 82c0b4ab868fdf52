// SPDX-License-Identifier: Apache-2.0
// The context table: DLDevice to native device, context and default queue.
#include <cstring>

#include "describe.h"

namespace dlbridge::python {

nb::dict EntryAsDict(const DLBridgeContextEntry& entry) {
  nb::dict out = NewDict();
  out["backend"] = entry.backend;
  out["device"] = FromDevice(entry.device);
  out["id"] = entry.id;
  out["platform"] = entry.platform;
  out["native_device"] = entry.native_device;
  out["context"] = entry.context;
  out["queue"] = entry.queue;
  out["queue_kind"] = entry.queue_kind;
  out["properties"] = entry.properties;
  out["uuid"] = nb::bytes(entry.uuid, sizeof entry.uuid);
  return out;
}

namespace {

// A parameter for each keyword of Python's. NOLINTNEXTLINE(readability-function-size)
nb::int_ Register(DLBridgeBackend backend, Device device, uint64_t platform, uint64_t native_device,
                  uint64_t context, uint64_t queue, int32_t queue_kind, uint32_t properties,
                  const nb::bytes& uuid, nb::object release) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  if (uuid.size() != 0 && uuid.size() != sizeof entry.uuid) {
    throw nb::value_error("uuid must have 16 bytes");
  }
  Once once(std::move(release));
  entry.backend = backend;
  entry.device = ToDevice(device);
  entry.platform = platform;
  entry.native_device = native_device;
  entry.context = context;
  entry.queue = queue;
  entry.queue_kind = queue_kind;
  entry.properties = properties;
  std::memcpy(entry.uuid, uuid.data(), uuid.size());
  entry.release = once.given() ? Once::OnEntry : nullptr;
  entry.release_context = once.context();
  Results results;
  uint64_t id = 0;
  CallReleased([&](DLBridgeError* error) { return dlbridge_context_register(&entry, &id, error); });
  once.Passed();
  return results.Number(id);
}

nb::dict Find(Device device, uint64_t context) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  CallReleased([&](DLBridgeError* error) {
    return dlbridge_context_find(ToDevice(device), context, &entry, error);
  });
  return EntryAsDict(entry);
}

std::pair<uint64_t, nb::dict> Next(uint64_t cursor) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  CallReleased([&](DLBridgeError* error) { return dlbridge_context_next(&cursor, &entry, error); });
  return {cursor, EntryAsDict(entry)};
}

template <DLBridgeStatus (*function)(uint64_t, DLBridgeError*)>
void OnEntry(uint64_t id) {
  CallReleased([&](DLBridgeError* error) { return function(id, error); });
}

}  // namespace

void BindContext(nb::module_* module) {
  module->def("context_register", Register, nb::arg("backend"), nb::arg("device"), nb::kw_only(),
              nb::arg("platform") = 0, nb::arg("native_device") = 0, nb::arg("context") = 0,
              nb::arg("queue") = 0, nb::arg("queue_kind") = 0, nb::arg("properties") = 0,
              nb::arg("uuid") = nb::bytes("", 0), nb::arg("release").none() = nb::none(),
              "Adds an entry and returns its id; release(entry) is called once after its removal.");
  module->def("context_find", Find, nb::arg("device"), nb::arg("context") = 0,
              "The entry of a device, as a dict of DLBridgeContextEntry.");
  module->def("context_next", Next, nb::arg("cursor"),
              "(cursor, entry) that follows a cursor, from 0.");
  module->def("context_retain", OnEntry<dlbridge_context_retain>, nb::arg("id"),
              "Keeps an entry until context_release.");
  module->def("context_release", OnEntry<dlbridge_context_release>, nb::arg("id"),
              "Ends one context_retain.");
  module->def("context_unregister", OnEntry<dlbridge_context_unregister>, nb::arg("id"),
              "Removes an entry from the table.");
  module->def(
      "context_table_v1", [] { return AddressOf(dlbridge_context_table_v1()); },
      "Address of this copy's own DLBridgeContextTable.");
}

}  // namespace dlbridge::python
