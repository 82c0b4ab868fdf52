// SPDX-License-Identifier: Apache-2.0
// Declarations that the files for memory between processes share: docs/ipc.md.
#ifndef DLBRIDGE_SRC_DEVICE_CUDA_IPC_H_
#define DLBRIDGE_SRC_DEVICE_CUDA_IPC_H_

#include <cstdint>

#include "device/cuda/internal.h"

namespace dlbridge::cuda {

// The kinds of memory. The numbers are part of the format.
enum IpcKind : uint32_t {
  kIpcAllocation = 1,  // of cuMemAlloc: a handle of CUDA's first IPC functions
  kIpcPool = 2,        // of a stream-ordered pool: the pool's file descriptor and a pointer in it
  kIpcChunks = 3       // of cuMemCreate and cuMemMap: a file descriptor for each chunk
};

// The contents of IpcMapping::state, by index. kKind is 0 until the memory is open. Memory of
// cuMemAlloc belongs to the context that opened it; kPoolImport is for memory of pools.
enum : uint8_t { kKind = 0, kContext = 1, kContextId = 2, kPoolImport = 1 };

constexpr uint32_t kIpcHasEvent = 1;  // a bit of IpcMessage::flags

// The handle in a descriptor of format 2. For kIpcChunks the sizes of the chunks follow it, 8 bytes
// each, in the order of the file descriptors.
struct IpcMessage {
  uint32_t kind;
  uint32_t flags;
  Uuid uuid;  // of the device, since ordinals differ between processes
  IpcEventHandle event;
  char data[64];  // IpcMemHandle or PoolPointer; for kIpcChunks zero
};
static_assert(sizeof(IpcMessage) == 152, "part of the format");
static_assert(sizeof(IpcMessage) + sizeof(uint64_t) * kMaxIpcFds <= kMaxIpcHandle,
              "the largest message fits");

// Runs `body` in a context, in the relaxed capture mode.
template <class Body>
DLBridgeStatus InRelaxedContext(Context context, DLBridgeError* error, const Body& body) {
  return InContext(context, error, [&] { return WhileCapturing(error, body); });
}

// The start and size of the allocation, or of the chunk of mapped memory, that contains an address.
struct Range {
  Address base;
  size_t size;
};
DLBridgeStatus AskRange(Address address, Range* out, DLBridgeError* error);

// Rejects a size in a message that is larger than the memory from `start` to the end of the range.
DLBridgeStatus CheckSize(const Range& range, Address start, uint64_t size, DLBridgeError* error);

// Enters a new file descriptor of the driver into an export, which owns it.
void AddFile(int fd, IpcHandle* out);

// The functions below run in the context of the device, with relaxed capture mode.

// The pool of memory, or NULL if it is from none or the driver is too old to report it.
DLBridgeStatus AskPool(Address address, Pool* out, DLBridgeError* error);
DLBridgeStatus ExportPool(Pool pool, Address address, IpcMessage* message, IpcHandle* out,
                          DLBridgeError* error);
DLBridgeStatus ImportPool(const IpcMessage& message, const IpcHandle& handle, int32_t ordinal,
                          IpcMapping* out, DLBridgeError* error);
void ClosePool(const IpcMapping& mapping);

// Appends the chunks that contain the tensor's bytes. This is the last kind that is tried: memory
// without an allocation handle cannot be shared.
DLBridgeStatus ExportChunks(Address address, const IpcRequest& request, int32_t ordinal,
                            IpcHandle* out, DLBridgeError* error);
DLBridgeStatus ImportChunks(const IpcHandle& handle, int32_t ordinal, IpcMapping* out,
                            DLBridgeError* error);
void CloseChunks(const IpcMapping& mapping);

// The functions below enter the stream's context themselves.

// Rejects a stream that is capturing, and drivers that are too old for events between processes.
DLBridgeStatus CheckIpcStream(const DLBridgeStream& stream, DLBridgeError* error);

// Records an event on the stream and returns its handle for other processes.
DLBridgeStatus RecordIpcEvent(const DLBridgeStream& stream, IpcEventHandle* out,
                              DLBridgeError* error);

// Makes the stream wait for the exporter's event; NULL: the host waits.
DLBridgeStatus WaitForIpcEvent(const IpcEventHandle& handle, int32_t ordinal,
                               const DLBridgeStream* stream, DLBridgeError* error);

}  // namespace dlbridge::cuda

#endif  // DLBRIDGE_SRC_DEVICE_CUDA_IPC_H_
