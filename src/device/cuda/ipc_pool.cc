// SPDX-License-Identifier: Apache-2.0
// Memory of stream-ordered pools (cuMemAllocAsync) between processes.
#include <cstdlib>
#include <cstring>

#include "device/cuda/ipc.h"
#include "support/lock.h"
#include "support/text.h"

namespace dlbridge::cuda {
namespace {

// Imported memory of a pool. If a process imports the same allocation twice, drivers return the
// same address twice, and the first cuMemFree unmaps it for both (NVIDIA bug 5570902, quoted in
// NVIDIA/cuda-python issue 2783). So the imports of an address share an entry, whose last user
// frees the memory.
struct PoolImport {
  PoolImport* next;
  int32_t ordinal;
  Address start;
  Pool pool;
  uint64_t users;
};
PoolImport* g_imports;

// Held during calls of the driver: no import may find an address that another thread is about to
// unmap. None of these calls waits for work of a device or runs code of the program.
Lock g_imports_lock;

bool HasPoolFunctions() {
  const Driver& driver = g_cuda.driver;
  return g_cuda.reports_pools && driver.mem_pool_export != nullptr &&
         driver.mem_pool_import != nullptr && driver.mem_pool_export_pointer != nullptr &&
         driver.mem_pool_import_pointer != nullptr && driver.mem_pool_set_access != nullptr &&
         driver.mem_pool_destroy != nullptr && driver.mem_free != nullptr;
}

DLBRIDGE_COLD DLBridgeStatus RejectPool(Result result, DLBridgeError* error) {
  char problem[240];
  TextWriter(problem, sizeof problem)
      .String("is from a pool that is not for sharing, or imported (")
      .String("cuMemPoolExportToShareableHandle: ")
      .Signed(result)
      .String("): create the pool with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or copy the ")
      .String("tensor to memory of cuMemAlloc or cudaMalloc");
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory", problem);
}

// The pool belongs to the caller.
DLBridgeStatus OpenPool(int32_t fd, int32_t ordinal, Pool* out, DLBridgeError* error) {
  DLBRIDGE_TRY(
      Check(g_cuda.driver.mem_pool_import(out, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                          kHandleFileDescriptor, 0),
            "cuMemPoolImportFromShareableHandle", error));
  const AccessDesc access = {{kLocationDevice, g_cuda.devices[ordinal].handle}, kAccessReadWrite};
  const DLBridgeStatus status =
      Check(g_cuda.driver.mem_pool_set_access(*out, &access, 1), "cuMemPoolSetAccess", error);
  if (status != DLBRIDGE_OK) {
    g_cuda.driver.mem_pool_destroy(*out);
  }
  return status;
}

DLBridgeStatus OpenPointer(const IpcMessage& message, Pool pool, Address* out,
                           DLBridgeError* error) {
  PoolPointer pointer;
  static_assert(sizeof message.data == sizeof pointer, "part of the format");
  std::memcpy(&pointer, message.data, sizeof pointer);
  const Result result = g_cuda.driver.mem_pool_import_pointer(out, pool, &pointer);
  return result != kAlreadyMapped
             ? Check(result, "cuMemPoolImportPointer", error)
             : RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                            "is imported in this process already (cuMemPoolImportPointer: 208, "
                            "CUDA_ERROR_ALREADY_MAPPED): share that tensor with dlbridge_share");
}

PoolImport* FindImport(int32_t ordinal, Address start) {
  PoolImport* entry = g_imports;
  while (entry != nullptr && (entry->ordinal != ordinal || entry->start != start)) {
    entry = entry->next;
  }
  return entry;
}

// Frees the memory before its pool.
void EndImport(PoolImport* entry) {
  g_cuda.driver.mem_free(entry->start);
  g_cuda.driver.mem_pool_destroy(entry->pool);
  std::free(entry);
}

void Drop(PoolImport* entry) {
  if (--entry->users != 0) {
    return;
  }
  PoolImport** link = &g_imports;
  while (*link != entry) {
    link = &(*link)->next;
  }
  *link = entry->next;
  EndImport(entry);
}

// Enters the memory of `made`, which is open, into the list, or finds it there. Frees `made` in the
// latter case.
PoolImport* Enter(PoolImport* made) {
  PoolImport* found = FindImport(made->ordinal, made->start);
  if (found != nullptr) {
    g_cuda.driver.mem_pool_destroy(made->pool);
    std::free(made);
    ++found->users;
    return found;
  }
  made->users = 1;
  made->next = g_imports;
  g_imports = made;
  return made;
}

// Fills `made`. The list is locked.
DLBridgeStatus Open(const IpcMessage& message, int32_t fd, PoolImport* made, DLBridgeError* error) {
  DLBRIDGE_TRY(OpenPool(fd, made->ordinal, &made->pool, error));
  const DLBridgeStatus status = OpenPointer(message, made->pool, &made->start, error);
  if (status != DLBRIDGE_OK) {
    g_cuda.driver.mem_pool_destroy(made->pool);
  }
  return status;
}

// The attributes report the range of imported memory (NVIDIA/cuda-python pull request 2224).
DLBridgeStatus CheckImport(Address start, uint64_t size, DLBridgeError* error) {
  PointerFacts facts;
  DLBRIDGE_TRY(AskFacts(start, &facts, error));
  return CheckSize({facts.base, facts.size}, start, size, error);
}

}  // namespace

DLBridgeStatus AskPool(Address address, Pool* out, DLBridgeError* error) {
  *out = nullptr;
  return !HasPoolFunctions() ? DLBRIDGE_OK
                             : Check(g_cuda.driver.pointer_get_attribute(static_cast<void*>(out),
                                                                         kPointerPool, address),
                                     "cuPointerGetAttribute", error);
}

DLBridgeStatus ExportPool(Pool pool, Address address, IpcMessage* message, IpcHandle* out,
                          DLBridgeError* error) {
  Range range;
  DLBRIDGE_TRY(AskRange(address, &range, error));
  int fd = -1;
  const Result result = g_cuda.driver.mem_pool_export(&fd, pool, kHandleFileDescriptor, 0);
  if (result == kInvalidValue || result == kNotSupported) {
    return RejectPool(result, error);
  }
  DLBRIDGE_TRY(Check(result, "cuMemPoolExportToShareableHandle", error));
  AddFile(fd, out);
  PoolPointer pointer;
  DLBRIDGE_TRY(Check(g_cuda.driver.mem_pool_export_pointer(&pointer, range.base),
                     "cuMemPoolExportPointer", error));
  std::memcpy(message->data, &pointer, sizeof pointer);
  message->kind = kIpcPool;
  out->offset = address - range.base;
  out->size = range.size;
  return DLBRIDGE_OK;
}

DLBridgeStatus ImportPool(const IpcMessage& message, const IpcHandle& handle, int32_t ordinal,
                          IpcMapping* out, DLBridgeError* error) {
  if (!HasPoolFunctions()) {
    return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the memory",
                        "is from a pool, which this driver cannot import: install a driver for "
                        "CUDA 11.3 or later");
  }
  auto* made = static_cast<PoolImport*>(std::calloc(1, sizeof(PoolImport)));
  if (made == nullptr) {
    return RejectMemory(error);
  }
  made->ordinal = ordinal;
  const Locked locked(&g_imports_lock);
  DLBridgeStatus status = Open(message, handle.fds[0], made, error);
  if (status != DLBRIDGE_OK) {
    std::free(made);
    return status;
  }
  PoolImport* entry = Enter(made);
  status = CheckImport(entry->start, handle.size, error);
  if (status != DLBRIDGE_OK) {
    Drop(entry);
    return status;
  }
  out->buffer.handle = entry->start;
  out->state[kPoolImport] = reinterpret_cast<uintptr_t>(entry);
  return DLBRIDGE_OK;
}

void ClosePool(const IpcMapping& mapping) {
  const Locked locked(&g_imports_lock);
  Drop(reinterpret_cast<PoolImport*>(static_cast<uintptr_t>(mapping.state[kPoolImport])));
}

}  // namespace dlbridge::cuda
