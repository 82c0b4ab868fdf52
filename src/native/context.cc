// SPDX-License-Identifier: Apache-2.0
// The entry points of the context table: they check arguments, call the table of the process, and
// turn its statuses into messages.
#include "describe/boundary.h"
#include "describe/device.h"
#include "native/backend.h"
#include "native/table.h"
#include "support/text.h"

namespace dlbridge {
namespace {

constexpr const char* kTable = "the context table";

// The message for a status of the table, which may belong to another library.
DLBRIDGE_COLD DLBridgeStatus Explain(DLBridgeStatus status, const char* not_found,
                                     DLBridgeError* error) {
  switch (status) {
    case DLBRIDGE_ERROR_NOT_FOUND:
      return RejectStatus(error, status, kTable, not_found);
    case DLBRIDGE_ERROR_EXISTS:
      return RejectStatus(
          error, status, kTable,
          "already has this device and context, or this device with another native device: "
          "unregister it first, or, for another native device, set DLBRIDGE_CONTEXT_REPLACE");
    case DLBRIDGE_ERROR_FORKED:
      return RejectStatus(error, status, kTable,
                          "has this entry from before this process was forked, and its handles are "
                          "invalid in the child: register the device again in the child");
    case DLBRIDGE_ERROR_OUT_OF_MEMORY:
      return RejectStatus(error, status, kTable, "is out of memory");
    default:
      return RejectValue(error, status, kTable, "of the process returned an unexpected status",
                         status);
  }
}

DLBRIDGE_INLINE DLBridgeStatus Explained(DLBridgeStatus status, const char* not_found,
                                         DLBridgeError* error) {
  return DLBRIDGE_LIKELY(status == DLBRIDGE_OK) ? DLBRIDGE_OK : Explain(status, not_found, error);
}

// The message for a status about an entry, with its id.
DLBRIDGE_COLD DLBridgeStatus ExplainEntry(DLBridgeStatus status, const char* not_found, uint64_t id,
                                          DLBridgeError* error) {
  return status == DLBRIDGE_ERROR_NOT_FOUND ? RejectValue(error, status, kTable, not_found, id)
                                            : Explain(status, not_found, error);
}

DLBRIDGE_INLINE DLBridgeStatus ExplainedEntry(DLBridgeStatus status, const char* not_found,
                                              uint64_t id, DLBridgeError* error) {
  return DLBRIDGE_LIKELY(status == DLBRIDGE_OK) ? DLBRIDGE_OK
                                                : ExplainEntry(status, not_found, id, error);
}

DLBRIDGE_COLD DLBridgeStatus RejectMissing(DLDevice device, uint64_t context,
                                           DLBridgeError* error) {
  char problem[200];
  TextWriter text(problem, sizeof problem);
  text.String("has no ").String(context != 0 ? "such context for " : "device ");
  WriteDevice(device, &text);
  text.String(": register it with dlbridge_context_register");
  return RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, kTable, problem);
}

// Has the backend of an unknown device enter its devices into the table.
DLBRIDGE_COLD DLBridgeStatus Enumerate(DLDevice device, DLBridgeError* error) {
  // If there are two backends, the first one enumerates; the other's devices must be registered.
  const BackendList list = BackendsOf(TypeOf(device));
  const Backend* backend = list.backends[0];
  if (backend == nullptr || backend->enumerate == nullptr) {
    return RejectDevice(error, DLBRIDGE_ERROR_UNSUPPORTED, "device",
                        "must be of CUDA, ROCm, oneAPI or OpenCL, whose contexts this build knows",
                        device);
  }
  DLBRIDGE_TRY(StartDriver(*backend, error));
  return backend->enumerate(TypeOf(device), error);
}

DLBRIDGE_COLD DLBridgeStatus FindEnumerated(DLDevice device, uint64_t context,
                                            DLBridgeContextEntry* out, DLBridgeError* error) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry any;
  if (context == 0 || table.find(device, 0, &any) == DLBRIDGE_ERROR_NOT_FOUND) {
    DLBRIDGE_TRY(Enumerate(device, error));
  }
  const DLBridgeStatus status = table.find(device, context, out);
  return status == DLBRIDGE_ERROR_NOT_FOUND ? RejectMissing(device, context, error)
                                            : Explained(status, kTable, error);
}

}  // namespace

DLBridgeStatus FindContext(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                           DLBridgeError* error) {
  const DLBridgeStatus status = SharedTable().find(device, context, out);
  if (DLBRIDGE_UNLIKELY(status == DLBRIDGE_ERROR_NOT_FOUND)) {
    return FindEnumerated(TableKey(device), context, out, error);
  }
  return Explained(status, kTable, error);
}

DLBridgeStatus IsContextOf(DLBridgeBackend backend, const DLBridgeBuffer& buffer, DLDevice label,
                           bool* out, DLBridgeError* error) {
  *out = buffer.backend == backend;
  if (buffer.backend != DLBRIDGE_BACKEND_NONE) {
    return DLBRIDGE_OK;
  }
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  for (uint64_t cursor = 0; table.next(&cursor, &entry) == DLBRIDGE_OK;) {
    if (entry.context == buffer.context && entry.backend != DLBRIDGE_BACKEND_CUDA) {
      *out = entry.backend == backend;
      return DLBRIDGE_OK;
    }
  }
  if (TypeOf(label) != kDLOneAPI) {
    *out = TypeOf(label) == kDLOpenCL && backend == DLBRIDGE_BACKEND_OPENCL;
    return DLBRIDGE_OK;
  }
  return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "buffer.backend",
                     "must be LEVEL_ZERO (4) or OPENCL (5) for a context that the context table "
                     "does not have",
                     buffer.backend);
}

DLBridgeStatus EnterDevice(const DLBridgeContextEntry& entry, bool* mine, DLBridgeError* error) {
  *mine = false;
  DLBRIDGE_TRY(CheckEntry(entry, error));
  uint64_t id = 0;
  const DLBridgeStatus status = SharedTable().add(&entry, &id);
  if (status == DLBRIDGE_ERROR_EXISTS) {
    return DLBRIDGE_OK;
  }
  *mine = status == DLBRIDGE_OK;
  return Explained(status, kTable, error);
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_context_register(const DLBridgeContextEntry* entry, uint64_t* id,
                                         DLBridgeError* error) {
  DLBRIDGE_REQUIRE(entry);
  DLBRIDGE_REQUIRE(id);
  DLBRIDGE_TRY(dlbridge::CheckEntry(*entry, error));
  return dlbridge::Explained(dlbridge::SharedTable().add(entry, id), dlbridge::kTable, error);
}

DLBridgeStatus dlbridge_context_find(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(out);
  return dlbridge::FindContext(device, context, out, error);
}

DLBridgeStatus dlbridge_context_next(uint64_t* cursor, DLBridgeContextEntry* out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(cursor);
  DLBRIDGE_REQUIRE(out);
  return dlbridge::Explained(dlbridge::SharedTable().next(cursor, out),
                             "has no entry after the cursor", error);
}

DLBridgeStatus dlbridge_context_retain(uint64_t id, DLBridgeError* error) {
  return dlbridge::ExplainedEntry(dlbridge::SharedTable().retain(id),
                                  "has no such entry: expected the id of a registered entry", id,
                                  error);
}

DLBridgeStatus dlbridge_context_release(uint64_t id, DLBridgeError* error) {
  return dlbridge::ExplainedEntry(dlbridge::SharedTable().release(id),
                                  "has no such entry: expected the id of a retained entry", id,
                                  error);
}

DLBridgeStatus dlbridge_context_unregister(uint64_t id, DLBridgeError* error) {
  return dlbridge::ExplainedEntry(dlbridge::SharedTable().remove(id),
                                  "has no such entry: expected the id of a registered entry", id,
                                  error);
}

}  // extern "C"
