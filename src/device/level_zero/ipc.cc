// SPDX-License-Identifier: Apache-2.0
// Level Zero memory between processes. The driver's handle is opaque bytes. With Intel's driver the
// first of them are a file descriptor, which is meaningless in another process.
#include <cstring>

#include "device/level_zero/internal.h"
#include "native/table.h"

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

namespace dlbridge::level_zero {
namespace {

constexpr uint32_t kIsSubDevice = 1U << 0;
constexpr uint32_t kHasDescriptor = 1U << 1;

// The message to the other process, which runs on the same host: byte order is not converted.
struct Export {
  IpcHandleT handle;
  uint8_t uuid[16];
  uint32_t subdevice_id;
  uint32_t flags;
};
static_assert(sizeof(Export) == 88, "part of the format");

#ifdef _WIN32

bool FindDescriptor(const IpcHandleT& /*handle*/, int32_t* /*fd*/) { return false; }
bool HasProcess(const IpcHandleT& /*handle*/) { return false; }
int32_t Duplicate(int32_t /*fd*/) { return -1; }

#else

// Intel's handle begins with a file descriptor in 64 bits. Bytes that are not an open descriptor
// belong to another kind of handle and are sent unchanged.
bool FindDescriptor(const IpcHandleT& handle, int32_t* fd) {
  uint64_t number = 0;
  std::memcpy(&number, handle.data, sizeof number);
  if (number == 0 || number > INT32_MAX) {
    return false;
  }
  *fd = static_cast<int32_t>(number);
  return fcntl(*fd, F_GETFD) != -1;
}

// Intel's newer handles have in bytes 16 to 19 the process to fetch the descriptor from. Then the
// driver fetches it itself, and the descriptor must stay open in this process.
bool HasProcess(const IpcHandleT& handle) {
  int32_t process = 0;
  std::memcpy(&process, handle.data + 16, sizeof process);
  return process == getpid();
}

int32_t Duplicate(int32_t fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

#endif

void Patch(IpcHandleT* handle, int32_t fd) {
  const uint64_t number = static_cast<uint32_t>(fd);
  std::memcpy(handle->data, &number, sizeof number);
}

// Releases the driver's descriptor after it was duplicated, if the loader has a function for that.
// Otherwise the driver closes it when the memory is freed.
void PutHandle(Context context, const IpcHandleT& handle) {
  if (g_ze.zeMemPutIpcHandle != nullptr) {
    g_ze.zeMemPutIpcHandle(context, handle);
  }
}

DLBridgeStatus TakeDescriptor(Context context, Export* made, IpcHandle* out, DLBridgeError* error) {
  int32_t fd = -1;
  if (HasProcess(made->handle) || !FindDescriptor(made->handle, &fd)) {
    return DLBRIDGE_OK;
  }
  const int32_t copy = Duplicate(fd);
  if (copy != -1) {
    PutHandle(context, made->handle);
    Patch(&made->handle, 0);
    made->flags |= kHasDescriptor;
    out->fds[0] = copy;
    out->fd_count = 1;
    return DLBRIDGE_OK;
  }
  PutHandle(context, made->handle);
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the descriptor of the memory",
                      "cannot be duplicated: close some file descriptors of this process");
}

void Identify(const DeviceRecord& device, Export* made) {
  std::memcpy(made->uuid, device.uuid, sizeof made->uuid);
  made->subdevice_id = device.subdevice_id;
  made->flags = device.is_sub_device ? kIsSubDevice : 0;
}

bool IsIdentified(const DeviceRecord& device, const Export& made) {
  return std::memcmp(device.uuid, made.uuid, sizeof made.uuid) == 0 &&
         device.subdevice_id == made.subdevice_id &&
         device.is_sub_device == ((made.flags & kIsSubDevice) != 0);
}

DLBridgeStatus CheckNoStream(const IpcRequest& request, DLBridgeError* error) {
  return request.stream == nullptr
             ? DLBRIDGE_OK
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.stream",
                            "is not supported by Level Zero: call dlbridge_stream_synchronize on "
                            "it, then export with NULL");
}

// Asks the context that the memory was wrapped with, then all others: the owner of the tensor may
// have changed its `data`.
DLBridgeStatus FindAnywhere(DLBridgeBuffer buffer, DLDevice label, Memory* out,
                            DLBridgeError* error) {
  DLBRIDGE_TRY(FindMemory(buffer, label, out, error));
  if (out->type != kUnknown || buffer.context == 0) {
    return DLBRIDGE_OK;
  }
  buffer.context = 0;
  return FindMemory(buffer, label, out, error);
}

DLBridgeStatus FindExportable(const DLBridgeBuffer& buffer, DLDevice label, Memory* out,
                              DLBridgeError* error) {
  DLBRIDGE_TRY(FindAnywhere(buffer, label, out, error));
  if (out->type == kDevice && out->record != nullptr) {
    return DLBRIDGE_OK;
  }
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor",
                      "is not device USM of Level Zero, the only memory that its driver shares: "
                      "copy it to device USM, or to the host with DLBRIDGE_COPY_SHAREABLE");
}

DLBridgeStatus RejectBytes(DLBridgeError* error, const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the handle of Level Zero", problem);
}

DLBridgeStatus Read(const IpcHandle& handle, Export* out, DLBridgeError* error) {
  if (handle.format != 1 || handle.length != sizeof *out) {
    return RejectBytes(error, "must have 88 bytes, in a descriptor of format 1");
  }
  std::memcpy(out, handle.bytes, sizeof *out);
  if ((out->flags & ~(kIsSubDevice | kHasDescriptor)) != 0) {
    return RejectBytes(error, "has a flag that this version does not know");
  }
  const uint32_t wanted = (out->flags & kHasDescriptor) != 0 ? 1 : 0;
  if (handle.fd_count != wanted) {
    return RejectBytes(error, "does not match the number of file descriptors that came with it");
  }
  if (wanted != 0) {
    Patch(&out->handle, handle.fds[0]);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus FindIdentified(const Export& made, const DeviceRecord** out, DLBridgeError* error) {
  for (uint32_t i = 0; i < g_devices.count; ++i) {
    if (IsIdentified(g_devices.records[i], made)) {
      *out = &g_devices.records[i];
      return DLBRIDGE_OK;
    }
  }
  return RejectStatus(
      error, DLBRIDGE_ERROR_UNAVAILABLE, "the device of the memory",
      "is not visible in this process: check ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY");
}

bool IsEntryOf(const DLBridgeContextEntry& entry, const DeviceRecord& device) {
  const DeviceRecord* own = FindDevice(ToHandle<Device>(entry.native_device));
  return entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO && own != nullptr &&
         own->index == device.index;
}

// The context to map into: the label's default context if it has the device, else the first
// registered context of the device, else the enumerated one.
DLBridgeStatus FindTarget(DLDevice label, const DeviceRecord& device, DLBridgeContextEntry* out,
                          DLBridgeError* error) {
  const DLBridgeContextTable& table = SharedTable();
  if (table.find(label, 0, out) == DLBRIDGE_OK && IsEntryOf(*out, device)) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(Enumerate(kDLOneAPI, error));
  DLBridgeContextEntry entry;
  bool found = false;
  for (uint64_t cursor = 0; table.next(&cursor, &entry) == DLBRIDGE_OK;) {
    const bool registered = (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) == 0;
    if (IsEntryOf(entry, device) && (!found || registered)) {
      *out = entry;
      found = true;
      if (registered) {
        return DLBRIDGE_OK;
      }
    }
  }
  return found ? DLBRIDGE_OK
               : RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "the context table",
                              "has no context of the memory's device: register one with "
                              "dlbridge_context_register");
}

// The size in the message is not trusted.
DLBridgeStatus CheckSize(Context context, const void* address, uint64_t size,
                         DLBridgeError* error) {
  void* base = nullptr;
  size_t mapped = 0;
  DLBRIDGE_ZE_TRY(zeMemGetAddressRange, context, address, &base, &mapped);
  return mapped >= size ? DLBRIDGE_OK
                        : RejectBytes(error, "states a larger size than the memory that it opens");
}

DLBridgeStatus Open(const Export& made, const DLBridgeContextEntry& entry,
                    const DeviceRecord& device, uint64_t size, void** out, DLBridgeError* error) {
  const auto context = ToHandle<Context>(entry.context);
  DLBRIDGE_ZE_TRY(zeMemOpenIpcHandle, context, device.device, made.handle, 0, out);
  const DLBridgeStatus status = CheckSize(context, *out, size, error);
  if (status != DLBRIDGE_OK) {
    g_ze.zeMemCloseIpcHandle(context, *out);
  }
  return status;
}

// Without a descriptor from the peer, the driver must not open a descriptor of this process.
DLBridgeStatus CheckNamesNone(const Export& made, DLBridgeError* error) {
  int32_t process = 0;
  std::memcpy(&process, made.handle.data + 16, sizeof process);
  int32_t fd = -1;
  const bool own = (made.flags & kHasDescriptor) == 0 && process == 0;
  return own && FindDescriptor(made.handle, &fd)
             ? RejectBytes(error,
                           "refers to a file descriptor of this process, but none came with it")
             : DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice label, const IpcRequest& request,
                         IpcHandle* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckNoStream(request, error));
  Memory memory;
  DLBRIDGE_TRY(FindExportable(buffer, label, &memory, error));
  const auto context = ToHandle<Context>(memory.context);
  void* base = nullptr;
  size_t size = 0;
  DLBRIDGE_ZE_TRY(zeMemGetAddressRange, context, ToHandle<const void*>(buffer.handle), &base,
                  &size);
  Export made = {};
  Identify(*memory.record, &made);
  DLBRIDGE_ZE_TRY(zeMemGetIpcHandle, context, base, &made.handle);
  IpcHandle result = {};
  DLBRIDGE_TRY(TakeDescriptor(context, &made, &result, error));
  std::memcpy(result.bytes, &made, sizeof made);
  result.length = sizeof made;
  result.format = 1;
  result.offset = buffer.handle - ToInteger(base);
  result.size = size;
  *out = result;
  return DLBRIDGE_OK;
}

DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice label, const DLBridgeStream* /*stream*/,
                         IpcMapping* out, DLBridgeError* error) {
  Export made;
  DLBRIDGE_TRY(Read(handle, &made, error));
  DLBRIDGE_TRY(CheckNamesNone(made, error));
  const DeviceRecord* device = nullptr;
  DLBRIDGE_TRY(FindIdentified(made, &device, error));
  DLBridgeContextEntry entry;
  DLBRIDGE_TRY(FindTarget(label, *device, &entry, error));
  if (SharedTable().retain(entry.id) != DLBRIDGE_OK) {
    return RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "the context table",
                        "no longer has the context of the memory's device: try again");
  }
  void* address = nullptr;
  const DLBridgeStatus status = Open(made, entry, *device, handle.size, &address, error);
  if (status != DLBRIDGE_OK) {
    SharedTable().release(entry.id);
    return status;
  }
  *out = {
      {DLBRIDGE_BACKEND_LEVEL_ZERO, DLBRIDGE_BUFFER_ADDRESS, ToInteger(address), entry.context, 0},
      entry.device,
      handle.size,
      {entry.id, 0}};
  return DLBRIDGE_OK;
}

void IpcClose(const IpcMapping& mapping) {
  // A forked child has neither the mapping nor a reference to the context.
  if (IsStarted(kLevelZeroBackend)) {
    g_ze.zeMemCloseIpcHandle(ToHandle<Context>(mapping.buffer.context),
                             ToHandle<const void*>(mapping.buffer.handle));
    SharedTable().release(mapping.state[0]);
  }
}

}  // namespace dlbridge::level_zero
