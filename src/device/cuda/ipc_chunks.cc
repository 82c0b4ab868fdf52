// SPDX-License-Identifier: Apache-2.0
// Memory of cuMemCreate and cuMemMap between processes. A program may map many chunks into one
// range of addresses, as PyTorch's expandable segments do; each chunk has its own file descriptor.
// The importer maps them into one range, in the same order.
#include <cstring>

#include "device/cuda/ipc.h"
#include "support/text.h"

namespace dlbridge::cuda {
namespace {

bool HasMappingFunctions() {
  const Driver& driver = g_cuda.driver;
  return driver.mem_retain != nullptr && driver.mem_release != nullptr &&
         driver.mem_get_properties != nullptr && driver.mem_export != nullptr &&
         driver.mem_import != nullptr && driver.mem_address_reserve != nullptr &&
         driver.mem_address_free != nullptr && driver.mem_map != nullptr &&
         driver.mem_unmap != nullptr && driver.mem_set_access != nullptr;
}

// -------------------------------------------------------------------------------------- export

// The driver's attribute is part of the message only: it is known to be 0 for some memory that
// cuIpcGetMemHandle accepts.
DLBRIDGE_COLD DLBridgeStatus RejectMemory(Address address, DLBridgeError* error) {
  char problem[240];
  TextWriter(problem, sizeof problem)
      .String("is neither from cuMemAlloc nor from a pool or cuMemMap that this driver can share, ")
      .String(IsIpcCapable(address) ? "although the driver reports it as suitable"
                                    : "and the driver reports it as not suitable")
      .String(": copy it to memory of cuMemAlloc or cudaMalloc");
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory", problem);
}

DLBRIDGE_COLD DLBridgeStatus RejectCount(uint64_t count, DLBridgeError* error) {
  static_assert(kMaxIpcFds == 253, "as the message says");
  return RejectValue(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor",
                     "must lie in at most 253 chunks of cuMemMap: copy it to memory of cuMemAlloc "
                     "or cudaMalloc",
                     count);
}

DLBRIDGE_COLD DLBridgeStatus RejectHole(uint64_t offset, DLBridgeError* error) {
  return RejectValue(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor",
                     "must be mapped as a whole, but CUDA knows no memory at this offset from its "
                     "first byte",
                     offset);
}

// Finds the chunks that contain the `length` bytes from `start` on, and writes their sizes after
// the message.
struct Walk {
  Address start;
  uint64_t length;
  Address base;  // of the first chunk
  uint64_t size;
  uint64_t count;
};

DLBridgeStatus AddChunk(const Range& range, Walk* walk, IpcHandle* out, DLBridgeError* error) {
  const Address expected = walk->base + walk->size;
  if (walk->count == 0) {
    walk->base = range.base;
  } else if (range.base != expected || range.size == 0) {
    return RejectHole(expected - walk->start, error);
  }
  if (walk->count < kMaxIpcFds) {
    const uint64_t size = range.size;
    std::memcpy(out->bytes + sizeof(IpcMessage) + walk->count * sizeof size, &size, sizeof size);
  }
  walk->size += range.size;
  ++walk->count;
  return DLBRIDGE_OK;
}

// cuMemGetAddressRange reports the chunk, not the reserved range of addresses (cuda.h,
// CU_POINTER_ATTRIBUTE_RANGE_SIZE). UCX finds chunks in the same way
// (src/uct/cuda/cuda_ipc/cuda_ipc_vmm_multi.c).
DLBridgeStatus FindChunks(Walk* walk, IpcHandle* out, DLBridgeError* error) {
  Address next = walk->start;
  while (next - walk->start < walk->length) {
    Range range = {0, 0};
    const Result result = g_cuda.driver.mem_get_address_range(&range.base, &range.size, next);
    if (result == kInvalidValue || result == kNotFound) {
      return RejectHole(next - walk->start, error);
    }
    DLBRIDGE_TRY(Check(result, "cuMemGetAddressRange", error));
    DLBRIDGE_TRY(AddChunk(range, walk, out, error));
    next = walk->base + walk->size;
  }
  return walk->count <= kMaxIpcFds ? DLBRIDGE_OK : RejectCount(walk->count, error);
}

DLBridgeStatus CheckProperties(Allocation allocation, int32_t ordinal, DLBridgeError* error) {
  AllocationProp found;
  std::memset(&found, 0, sizeof found);
  DLBRIDGE_TRY(Check(g_cuda.driver.mem_get_properties(&found, allocation),
                     "cuMemGetAllocationPropertiesFromHandle", error));
  if (found.location.type != kLocationDevice ||
      found.location.id != g_cuda.devices[ordinal].handle) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "has chunks of cuMemMap on the host or on two devices: copy it to memory "
                        "of cuMemAlloc or cudaMalloc");
  }
  return (found.handle_types & kHandleFileDescriptor) != 0
             ? DLBRIDGE_OK
             : RejectStatus(
                   error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                   "was created by cuMemCreate without "
                   "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR: request it (PyTorch: "
                   "TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=1, or expandable_segments:False), or copy "
                   "the tensor to memory of cudaMalloc");
}

DLBridgeStatus ExportAllocation(Allocation allocation, int32_t ordinal, IpcHandle* out,
                                DLBridgeError* error) {
  DLBRIDGE_TRY(CheckProperties(allocation, ordinal, error));
  int fd = -1;
  DLBRIDGE_TRY(Check(g_cuda.driver.mem_export(&fd, allocation, kHandleFileDescriptor, 0),
                     "cuMemExportToShareableHandle", error));
  AddFile(fd, out);
  return DLBRIDGE_OK;
}

DLBridgeStatus ExportChunk(Address address, int32_t ordinal, IpcHandle* out, DLBridgeError* error) {
  Allocation allocation = 0;
  const Result result = g_cuda.driver.mem_retain(&allocation, reinterpret_cast<void*>(address));
  if (result == kInvalidValue || result == kNotSupported) {
    return RejectMemory(address, error);
  }
  DLBRIDGE_TRY(Check(result, "cuMemRetainAllocationHandle", error));
  const DLBridgeStatus status = ExportAllocation(allocation, ordinal, out, error);
  const DLBridgeStatus released = Check(g_cuda.driver.mem_release(allocation), "cuMemRelease",
                                        status == DLBRIDGE_OK ? error : nullptr);
  return status != DLBRIDGE_OK ? status : released;
}

// The size of a chunk, which follows the message.
uint64_t SizeOfChunk(const IpcHandle& handle, uint32_t index) {
  uint64_t size = 0;
  std::memcpy(&size, handle.bytes + sizeof(IpcMessage) + index * sizeof size, sizeof size);
  return size;
}

// -------------------------------------------------------------------------------------- import

// The handle may be released as soon as it is mapped: the mapping keeps the memory (cuMemRelease).
DLBridgeStatus MapChunk(int32_t fd, Address address, uint64_t size, uint64_t* mapped,
                        DLBridgeError* error) {
  Allocation allocation = 0;
  DLBRIDGE_TRY(Check(
      g_cuda.driver.mem_import(&allocation, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                               kHandleFileDescriptor),
      "cuMemImportFromShareableHandle", error));
  const DLBridgeStatus status =
      Check(g_cuda.driver.mem_map(address, size, 0, allocation, 0), "cuMemMap", error);
  *mapped += status == DLBRIDGE_OK ? size : 0;
  const DLBridgeStatus released = Check(g_cuda.driver.mem_release(allocation), "cuMemRelease",
                                        status == DLBRIDGE_OK ? error : nullptr);
  return status != DLBRIDGE_OK ? status : released;
}

// On failure `*mapped` bytes are mapped.
DLBridgeStatus MapChunks(const IpcHandle& handle, Address base, int32_t ordinal, uint64_t* mapped,
                         DLBridgeError* error) {
  for (uint32_t i = 0; i < handle.fd_count; ++i) {
    DLBRIDGE_TRY(MapChunk(handle.fds[i], base + *mapped, SizeOfChunk(handle, i), mapped, error));
  }
  const AccessDesc access = {{kLocationDevice, g_cuda.devices[ordinal].handle}, kAccessReadWrite};
  return Check(g_cuda.driver.mem_set_access(base, handle.size, &access, 1), "cuMemSetAccess",
               error);
}

// One call unmaps adjacent chunks that are unmapped as a whole (cuMemUnmap).
void Unmap(Address base, uint64_t mapped, uint64_t reserved) {
  if (mapped != 0) {
    g_cuda.driver.mem_unmap(base, mapped);
  }
  g_cuda.driver.mem_address_free(base, reserved);
}

}  // namespace

DLBridgeStatus ExportChunks(Address address, const IpcRequest& request, int32_t ordinal,
                            IpcHandle* out, DLBridgeError* error) {
  if (!HasMappingFunctions()) {
    return RejectMemory(address, error);
  }
  Walk walk = {address + static_cast<uint64_t>(request.begin),
               static_cast<uint64_t>(request.end - request.begin), 0, 0, 0};
  DLBRIDGE_TRY(FindChunks(&walk, out, error));
  Address at = walk.base;
  for (uint32_t i = 0; i < walk.count; ++i) {
    DLBRIDGE_TRY(ExportChunk(at, ordinal, out, error));
    at += SizeOfChunk(*out, i);
  }
  out->offset = address - walk.base;
  out->size = walk.size;
  return DLBRIDGE_OK;
}

DLBridgeStatus ImportChunks(const IpcHandle& handle, int32_t ordinal, IpcMapping* out,
                            DLBridgeError* error) {
  if (!HasMappingFunctions()) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is from cuMemMap, which this driver cannot import: install a driver for "
                        "CUDA 11.0 or later");
  }
  Address base = 0;
  uint64_t mapped = 0;
  DLBRIDGE_TRY(Check(g_cuda.driver.mem_address_reserve(&base, handle.size, 0, 0, 0),
                     "cuMemAddressReserve", error));
  const DLBridgeStatus status = MapChunks(handle, base, ordinal, &mapped, error);
  if (status != DLBRIDGE_OK) {
    Unmap(base, mapped, handle.size);
    return status;
  }
  out->buffer.handle = base;
  return DLBRIDGE_OK;
}

void CloseChunks(const IpcMapping& mapping) {
  Unmap(mapping.buffer.handle, mapping.size, mapping.size);
}

}  // namespace dlbridge::cuda
