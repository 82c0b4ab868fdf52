// SPDX-License-Identifier: Apache-2.0
// CUDA memory between processes. A message has the driver's handle of the whole allocation and the
// UUID of its device, since device ordinals differ between processes.
#include <cstring>

#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

struct Message {
  IpcMemHandle handle;
  Uuid uuid;
};

constexpr Uuid kNoUuid = {};

bool IsSameUuid(const Uuid& a, const Uuid& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

DLBridgeStatus CheckShareable(const PointerFacts& facts, DLBridgeError* error) {
  if (facts.type != kMemoryDevice || facts.managed != 0) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is not device memory of CUDA, the only memory that CUDA shares between "
                        "processes: copy it to memory of cuMemAlloc or cudaMalloc");
  }
  if (facts.context == nullptr || facts.ordinal < 0 || facts.ordinal >= g_cuda.device_count) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is from a pool (cuMemAllocAsync) or cuMemMap, which CUDA's IPC handles do "
                        "not support: copy it to memory of cuMemAlloc or cudaMalloc");
  }
  return IsSameUuid(g_cuda.devices[facts.ordinal].uuid, kNoUuid)
             ? RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the driver",
                            "does not report the UUID of the device, which another process needs "
                            "to find it: install a driver for CUDA 11.4 or later")
             : DLBRIDGE_OK;
}

// The start and size of the allocation that contains an address. The context is current.
struct Range {
  Address base;
  size_t size;
};
DLBridgeStatus AskRange(Address address, Range* out, DLBridgeError* error) {
  return Check(g_cuda.driver.mem_get_address_range(&out->base, &out->size, address),
               "cuMemGetAddressRange", error);
}

// cuIpcGetMemHandle reports memory that it cannot share as an invalid value. The driver's attribute
// only explains that: some drivers report cudaMalloc's memory as not capable.
DLBridgeStatus AskHandle(Address base, IpcMemHandle* out, DLBridgeError* error) {
  const Result result = g_cuda.driver.ipc_get_mem_handle(out, base);
  if (result != kInvalidValue) {
    return Check(result, "cuIpcGetMemHandle", error);
  }
  return RejectStatus(
      error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
      IsIpcCapable(base)
          ? "cannot be shared by CUDA (cuIpcGetMemHandle: 1, CUDA_ERROR_INVALID_VALUE), although "
            "the driver reports it as suitable: copy it to other memory of cuMemAlloc or cudaMalloc"
          : "cannot be shared by CUDA (cuIpcGetMemHandle: 1, CUDA_ERROR_INVALID_VALUE), and the "
            "driver reports it as not suitable: copy it to memory of cuMemAlloc or cudaMalloc");
}

DLBridgeStatus ReadMessage(const IpcHandle& handle, Message* out, DLBridgeError* error) {
  if (handle.length != sizeof *out || handle.fd_count != 0) {
    return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor",
                        "is not an export of CUDA: it has another length, or file descriptors");
  }
  std::memcpy(out, handle.bytes, sizeof *out);
  return DLBRIDGE_OK;
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

// The size in the message is not trusted: compare it with the driver's.
DLBridgeStatus CheckSize(Address start, uint64_t size, DLBridgeError* error) {
  Range range;
  DLBRIDGE_TRY(AskRange(start, &range, error));
  if (start - range.base > range.size || size > range.size - (start - range.base)) {
    return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor",
                        "states a larger size than the memory that CUDA mapped");
  }
  return DLBRIDGE_OK;
}

// The context is current.
DLBridgeStatus Open(const Message& message, uint64_t size, Address* out, DLBridgeError* error) {
  DLBRIDGE_TRY(
      Check(g_cuda.driver.ipc_open_mem_handle(out, message.handle, kIpcLazyEnablePeerAccess),
            "cuIpcOpenMemHandle", error));
  const DLBridgeStatus status = CheckSize(*out, size, error);
  if (status != DLBRIDGE_OK) {
    g_cuda.driver.ipc_close_mem_handle(*out);
    *out = 0;
  }
  return status;
}

void Close(Context context, Address start) {
  InContext(context, nullptr, [&] {
    return WhileCapturing(nullptr, [&] {
      return Check(g_cuda.driver.ipc_close_mem_handle(start), "cuIpcCloseMemHandle", nullptr);
    });
  });
}

}  // namespace

DLBridgeStatus IpcExport(const DLBridgeBuffer& buffer, DLDevice /*label*/, IpcHandle* out,
                         DLBridgeError* error) {
  PointerFacts facts;
  DLBRIDGE_TRY(AskFacts(buffer.handle, &facts, error));
  DLBRIDGE_TRY(CheckShareable(facts, error));
  Message message = {{}, g_cuda.devices[facts.ordinal].uuid};
  Range range = {0, 0};
  const DLBridgeStatus status = InContext(facts.context, error, [&] {
    return WhileCapturing(error, [&] {
      DLBRIDGE_TRY(AskRange(buffer.handle, &range, error));
      return AskHandle(range.base, &message.handle, error);
    });
  });
  if (status != DLBRIDGE_OK) {
    return status;
  }
  std::memcpy(out->bytes, &message, sizeof message);
  out->length = sizeof message;
  out->offset = buffer.handle - range.base;
  out->size = range.size;
  out->fd_count = 0;
  return DLBRIDGE_OK;
}

DLBridgeStatus IpcImport(const IpcHandle& handle, DLDevice /*label*/, IpcMapping* out,
                         DLBridgeError* error) {
  Message message;
  DLBRIDGE_TRY(ReadMessage(handle, &message, error));
  int32_t ordinal = -1;
  DLBRIDGE_TRY(FindDevice(message.uuid, &ordinal, error));
  Context context = nullptr;
  uint64_t id = 0;
  DLBRIDGE_TRY(ContextOfDevice(ordinal, "the exporter's device", &context, error));
  Address start = 0;
  const DLBridgeStatus status = InContext(context, error, [&] {
    return WhileCapturing(error, [&] {
      DLBRIDGE_TRY(IdOf(context, &id, error));
      return Open(message, handle.size, &start, error);
    });
  });
  if (status != DLBRIDGE_OK) {
    if (start != 0) {
      Close(context, start);
    }
    return status;
  }
  out->buffer = {DLBRIDGE_BACKEND_CUDA, DLBRIDGE_BUFFER_ADDRESS, start, 0, 0};
  out->device = {kDLCUDA, ordinal};
  out->size = handle.size;
  out->state[0] = reinterpret_cast<uintptr_t>(context);
  out->state[1] = id;
  return DLBRIDGE_OK;
}

// There is no caller to report a failure to. A destroyed context has already removed the mapping,
// and its handle must not be used. So ask about the address, which is always allowed: while the
// driver knows the mapping, its context is alive. The id tells the context from an earlier one with
// the same handle.
void IpcClose(const IpcMapping& mapping) {
  PointerFacts facts;
  if (!IsStarted(kCudaBackend) || AskFacts(mapping.buffer.handle, &facts, nullptr) != DLBRIDGE_OK ||
      facts.type == 0) {
    return;
  }
  const auto context = reinterpret_cast<Context>(static_cast<uintptr_t>(mapping.state[0]));
  if (facts.context != nullptr && facts.context != context) {
    return;
  }
  InContext(context, nullptr, [&] {
    return WhileCapturing(nullptr, [&] {
      uint64_t id = 0;
      DLBRIDGE_TRY(IdOf(context, &id, nullptr));
      return id != mapping.state[1]
                 ? DLBRIDGE_OK
                 : Check(g_cuda.driver.ipc_close_mem_handle(mapping.buffer.handle),
                         "cuIpcCloseMemHandle", nullptr);
    });
  });
}

}  // namespace dlbridge::cuda
