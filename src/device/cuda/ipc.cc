// SPDX-License-Identifier: Apache-2.0
// CUDA memory between processes: which kind of memory it is, the message, and memory of cuMemAlloc.
#include "device/cuda/ipc.h"

#include <cstring>

#include "support/text.h"
#include "tensor/ipc_host.h"

#ifndef _WIN32
#include <fcntl.h>
#endif

namespace dlbridge::cuda {
namespace {

// The handle in a descriptor of format 1, for memory of cuMemAlloc without an event.
struct FirstMessage {
  IpcMemHandle handle;
  Uuid uuid;
};
static_assert(sizeof(FirstMessage) == 80, "part of the format");

constexpr Uuid kNoUuid = {};

bool IsSameUuid(const Uuid& a, const Uuid& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// -------------------------------------------------------------------------------------- export

DLBridgeStatus CheckShareable(const PointerFacts& facts, DLBridgeError* error) {
  if (facts.type != kMemoryDevice || facts.managed != 0) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is not device memory of CUDA, the only memory that CUDA shares between "
                        "processes: copy it to memory of cuMemAlloc or cudaMalloc");
  }
  if (facts.ordinal < 0 || facts.ordinal >= g_cuda.device_count) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is on no device of this process: copy it to memory of cuMemAlloc or "
                        "cudaMalloc");
  }
  return IsSameUuid(g_cuda.devices[facts.ordinal].uuid, kNoUuid)
             ? RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the driver",
                            "does not report the UUID of the device, which another process needs "
                            "to find it: install a driver for CUDA 11.4 or later")
             : DLBRIDGE_OK;
}

// cuIpcGetMemHandle reports memory that it cannot share as an invalid value; then `*refused` is set
// and the result is DLBRIDGE_OK.
DLBridgeStatus ExportAllocation(Address address, IpcMessage* message, IpcHandle* out, bool* refused,
                                DLBridgeError* error) {
  Range range;
  DLBRIDGE_TRY(AskRange(address, &range, error));
  IpcMemHandle handle;
  const Result result = g_cuda.driver.ipc_get_mem_handle(&handle, range.base);
  *refused = result == kInvalidValue;
  if (*refused) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(Check(result, "cuIpcGetMemHandle", error));
  static_assert(sizeof message->data == sizeof handle, "part of the format");
  std::memcpy(message->data, &handle, sizeof handle);
  message->kind = kIpcAllocation;
  out->offset = address - range.base;
  out->size = range.size;
  return DLBRIDGE_OK;
}

// The driver's answers decide the kind. Its attribute CONTEXT, which is NULL for memory of pools
// and of cuMemMap, decides only which answer is asked for first.
DLBridgeStatus ExportKind(const PointerFacts& facts, Address address, const IpcRequest& request,
                          IpcMessage* message, IpcHandle* out, DLBridgeError* error) {
  Pool pool = nullptr;
  DLBRIDGE_TRY(AskPool(address, &pool, error));
  if (pool != nullptr) {
    return ExportPool(pool, address, message, out, error);
  }
  if (facts.context != nullptr) {
    bool refused = false;
    const DLBridgeStatus status = ExportAllocation(address, message, out, &refused, error);
    if (!refused) {
      return status;
    }
  }
  message->kind = kIpcChunks;
  return ExportChunks(address, request, facts.ordinal, out, error);
}

DLBridgeStatus ExportMemory(Address address, const IpcRequest& request, IpcMessage* message,
                            IpcHandle* out, DLBridgeError* error) {
  PointerFacts facts;
  DLBRIDGE_TRY(AskFacts(address, &facts, error));
  DLBRIDGE_TRY(CheckShareable(facts, error));
  message->uuid = g_cuda.devices[facts.ordinal].uuid;
  Context context = facts.context;
  if (context == nullptr) {
    DLBRIDGE_TRY(ContextOfDevice(facts.ordinal, "the memory", &context, error));
  }
  return InRelaxedContext(context, error,
                          [&] { return ExportKind(facts, address, request, message, out, error); });
}

// Library 0.3.0 can import memory of cuMemAlloc without an event.
bool IsFirstFormat(const IpcMessage& message) {
  return message.kind == kIpcAllocation && (message.flags & kIpcHasEvent) == 0;
}

// The sizes of chunks are in place already.
void WriteMessage(const IpcMessage& message, IpcHandle* out) {
  if (IsFirstFormat(message)) {
    FirstMessage first;
    std::memcpy(&first.handle, message.data, sizeof first.handle);
    first.uuid = message.uuid;
    std::memcpy(out->bytes, &first, sizeof first);
    out->length = sizeof first;
    out->format = 1;
    return;
  }
  const uint32_t chunks = message.kind == kIpcChunks ? out->fd_count : 0;
  std::memcpy(out->bytes, &message, sizeof message);
  out->length = static_cast<uint32_t>(sizeof message + sizeof(uint64_t) * chunks);
  out->format = 2;
}

// -------------------------------------------------------------------------------------- import

DLBRIDGE_COLD DLBridgeStatus RejectMessage(DLBridgeError* error, const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor", problem);
}

DLBRIDGE_COLD DLBridgeStatus RejectLength(DLBridgeError* error) {
  return RejectMessage(
      error, "is not an export of CUDA: it has another length or number of file descriptors");
}

DLBridgeStatus ReadFirstMessage(const IpcHandle& handle, IpcMessage* out, DLBridgeError* error) {
  FirstMessage first;
  if (handle.length != sizeof first || handle.fd_count != 0) {
    return RejectLength(error);
  }
  std::memcpy(&first, handle.bytes, sizeof first);
  std::memset(out, 0, sizeof *out);
  out->kind = kIpcAllocation;
  out->uuid = first.uuid;
  std::memcpy(out->data, &first.handle, sizeof first.handle);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckFiles(const IpcHandle& handle, DLBridgeError* error) {
  for (uint32_t i = 0; i < handle.fd_count; ++i) {
    if (handle.fds[i] < 0) {
      return RejectArgument(error, "spec.fds",
                            "has a negative number, which is no file descriptor");
    }
  }
  return DLBRIDGE_OK;
}

// The sizes of chunks fill the memory exactly.
bool AreSizesWhole(const IpcHandle& handle) {
  uint64_t rest = handle.size;
  for (uint32_t i = 0; i < handle.fd_count; ++i) {
    uint64_t size = 0;
    std::memcpy(&size, handle.bytes + sizeof(IpcMessage) + i * sizeof size, sizeof size);
    if (size == 0 || size > rest) {
      return false;
    }
    rest -= size;
  }
  return rest == 0;
}

DLBridgeStatus ReadMessage(const IpcHandle& handle, IpcMessage* out, DLBridgeError* error) {
  if (handle.format == 1) {
    return ReadFirstMessage(handle, out, error);
  }
  if (handle.length < sizeof *out) {
    return RejectLength(error);
  }
  std::memcpy(out, handle.bytes, sizeof *out);
  if (out->kind < kIpcAllocation || out->kind > kIpcChunks || (out->flags & ~kIpcHasEvent) != 0) {
    return RejectMessage(error, "has a kind of memory of CUDA that this library does not know");
  }
  const bool chunked = out->kind == kIpcChunks;
  const uint32_t chunks = chunked ? handle.fd_count : 0;
  const bool files = chunked ? chunks != 0 : handle.fd_count == (out->kind == kIpcPool ? 1U : 0U);
  if (!files || handle.length != sizeof *out + sizeof(uint64_t) * chunks) {
    return RejectLength(error);
  }
  if (chunked && !AreSizesWhole(handle)) {
    return RejectMessage(error, "has chunks of memory whose sizes do not add up to its size");
  }
  return CheckFiles(handle, error);
}

DLBridgeStatus FindDevice(const Uuid& uuid, int32_t* out, DLBridgeError* error) {
  for (int32_t i = 0; i < g_cuda.device_count; ++i) {
    if (!IsSameUuid(uuid, kNoUuid) && IsSameUuid(uuid, g_cuda.devices[i].uuid)) {
      *out = i;
      return DLBRIDGE_OK;
    }
  }
  return RejectStatus(
      error, DLBRIDGE_ERROR_UNAVAILABLE, "the exporter's device",
      "is not visible in this process, where no device has its UUID: check CUDA_VISIBLE_DEVICES");
}

// One context of each device in a process may open handles of another process's device
// (cuIpcOpenMemHandle).
DLBridgeStatus OpenHandle(const IpcMessage& message, Address* out, DLBridgeError* error) {
  IpcMemHandle handle;
  std::memcpy(&handle, message.data, sizeof handle);
  const Result result = g_cuda.driver.ipc_open_mem_handle(out, handle, kIpcLazyEnablePeerAccess);
  return result != kAlreadyMapped
             ? Check(result, "cuIpcOpenMemHandle", error)
             : RejectStatus(
                   error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                   "is open in another context of this process (cuIpcOpenMemHandle: 208, "
                   "CUDA_ERROR_ALREADY_MAPPED): import it with that context current, or share the "
                   "tensor that was imported there");
}

// The context is current.
DLBridgeStatus OpenAllocation(const IpcMessage& message, uint64_t size, Address* out,
                              DLBridgeError* error) {
  DLBRIDGE_TRY(OpenHandle(message, out, error));
  Range range;
  DLBridgeStatus status = AskRange(*out, &range, error);
  status = status != DLBRIDGE_OK ? status : CheckSize(range, *out, size, error);
  if (status != DLBRIDGE_OK) {
    g_cuda.driver.ipc_close_mem_handle(*out);
    *out = 0;
  }
  return status;
}

// `state` is zero until something is open.
DLBridgeStatus ImportKind(const IpcMessage& message, const IpcHandle& handle, int32_t ordinal,
                          Context context, IpcMapping* out, DLBridgeError* error) {
  if (message.kind == kIpcPool) {
    DLBRIDGE_TRY(ImportPool(message, handle, ordinal, out, error));
  } else if (message.kind == kIpcChunks) {
    DLBRIDGE_TRY(ImportChunks(handle, ordinal, out, error));
  } else {
    DLBRIDGE_TRY(IdOf(context, &out->state[kContextId], error));
    DLBRIDGE_TRY(OpenAllocation(message, handle.size, &out->buffer.handle, error));
    out->state[kContext] = reinterpret_cast<uintptr_t>(context);
  }
  out->state[kKind] = message.kind;
  return DLBRIDGE_OK;
}

DLBridgeStatus ImportMemory(const IpcMessage& message, const IpcHandle& handle, int32_t ordinal,
                            IpcMapping* out, DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(ContextOfDevice(ordinal, "the exporter's device", &context, error));
  out->device = {kDLCUDA, ordinal};
  const DLBridgeStatus status = InRelaxedContext(
      context, error, [&] { return ImportKind(message, handle, ordinal, context, out, error); });
  // Leaving the context can fail after the memory was opened.
  if (status != DLBRIDGE_OK && out->state[kKind] != 0) {
    IpcClose(*out);
  }
  return status;
}

// --------------------------------------------------------------------------------------- close

// Runs `body` in a context of the device. Memory of pools and of cuMemMap belongs to none.
template <class Body>
void OnDevice(int32_t ordinal, const Body& body) {
  Context context = nullptr;
  if (ContextOfDevice(ordinal, "the device", &context, nullptr) != DLBRIDGE_OK) {
    return;
  }
  InRelaxedContext(context, nullptr, [&] {
    body();
    return DLBRIDGE_OK;
  });
}

// The context is current.
DLBridgeStatus CloseHandle(const IpcMapping& mapping, Context context) {
  uint64_t id = 0;
  DLBRIDGE_TRY(IdOf(context, &id, nullptr));
  return id != mapping.state[kContextId]
             ? DLBRIDGE_OK
             : Check(g_cuda.driver.ipc_close_mem_handle(mapping.buffer.handle),
                     "cuIpcCloseMemHandle", nullptr);
}

// A destroyed context has already removed the mapping, and its handle must not be used. So ask
// about the address, which is always allowed: while the driver knows the mapping, its context is
// alive. The id tells the context from an earlier one with the same handle.
void CloseAllocation(const IpcMapping& mapping) {
  PointerFacts facts;
  if (AskFacts(mapping.buffer.handle, &facts, nullptr) != DLBRIDGE_OK || facts.type == 0) {
    return;
  }
  const auto context = reinterpret_cast<Context>(static_cast<uintptr_t>(mapping.state[kContext]));
  if (facts.context == nullptr || facts.context == context) {
    InRelaxedContext(context, nullptr, [&] { return CloseHandle(mapping, context); });
  }
}

}  // namespace

DLBridgeStatus AskRange(Address address, Range* out, DLBridgeError* error) {
  return Check(g_cuda.driver.mem_get_address_range(&out->base, &out->size, address),
               "cuMemGetAddressRange", error);
}

DLBridgeStatus CheckSize(const Range& range, Address start, uint64_t size, DLBridgeError* error) {
  return start - range.base > range.size || size > range.size - (start - range.base)
             ? RejectMessage(error, "states a larger size than the memory that CUDA mapped")
             : DLBRIDGE_OK;
}

void AddFile(int fd, IpcHandle* out) {
#ifndef _WIN32
  fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
  out->fds[out->fd_count++] = fd;
}

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice /*label*/,
                         const IpcRequest& request, IpcHandle* out, DLBridgeError* error) {
  IpcMessage message;
  std::memset(&message, 0, sizeof message);
  if (request.stream != nullptr) {
    DLBRIDGE_TRY(CheckIpcStream(*request.stream, error));
  }
  DLBridgeStatus status = ExportMemory(buffer.handle, request, &message, out, error);
  if (status == DLBRIDGE_OK && request.stream != nullptr) {
    message.flags = kIpcHasEvent;
    status = RecordIpcEvent(*request.stream, &message.event, error);
  }
  if (status != DLBRIDGE_OK) {
    CloseFiles(out->fds, out->fd_count);
    out->fd_count = 0;
    return status;
  }
  WriteMessage(message, out);
  return DLBRIDGE_OK;
}

DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice /*label*/, const DLBridgeStream* stream,
                         IpcMapping* out, DLBridgeError* error) {
  IpcMessage message;
  DLBRIDGE_TRY(ReadMessage(handle, &message, error));
  int32_t ordinal = -1;
  DLBRIDGE_TRY(FindDevice(message.uuid, &ordinal, error));
  const bool unordered = stream != nullptr && stream->kind == DLBRIDGE_STREAM_NO_SYNC;
  const bool waits = (message.flags & kIpcHasEvent) != 0 && !unordered;
  if (waits && stream != nullptr) {
    DLBRIDGE_TRY(CheckIpcStream(*stream, error));
  }
  IpcMapping mapping = {{DLBRIDGE_BACKEND_CUDA, DLBRIDGE_BUFFER_ADDRESS, 0, 0, 0},
                        {kDLCUDA, ordinal},
                        handle.size,
                        {0, 0, 0}};
  DLBRIDGE_TRY(ImportMemory(message, handle, ordinal, &mapping, error));
  const DLBridgeStatus status =
      waits ? WaitForIpcEvent(message.event, ordinal, stream, error) : DLBRIDGE_OK;
  if (status != DLBRIDGE_OK) {
    IpcClose(mapping);
    return status;
  }
  *out = mapping;
  return DLBRIDGE_OK;
}

// There is no caller to report a failure to.
void IpcClose(const IpcMapping& mapping) {
  if (!IsStarted(kCudaBackend)) {
    return;
  }
  if (mapping.state[kKind] == kIpcAllocation) {
    CloseAllocation(mapping);
    return;
  }
  OnDevice(mapping.device.device_id,
           [&] { mapping.state[kKind] == kIpcPool ? ClosePool(mapping) : CloseChunks(mapping); });
}

}  // namespace dlbridge::cuda
