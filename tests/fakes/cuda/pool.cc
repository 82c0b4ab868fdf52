// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools of the fake. The file descriptor of an exported pool has the process and the
// number of the pool in its name. The data of a pointer names the file of its memory in that
// process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

struct PointerData {
  char magic[8];
  int pid;
  int pool;
  int file;
  int reserved;
  uint64_t size;
};
static_assert(sizeof(PointerData) <= sizeof(CUmemPoolPtrExportData), "CUDA's data has 64 bytes");

constexpr char kMagic[8] = "fakeptr";

Pool* NewPool(int device) {
  TheState().pools.emplace_back();
  Pool* pool = &TheState().pools.back();
  pool->device = device;
  pool->process = getpid();
  pool->number = static_cast<int>(TheState().next_id++);
  return pool;
}

Pool* FindPool(CUmemoryPool handle, const char* function) {
  for (Pool& pool : TheState().pools) {
    if (reinterpret_cast<CUmemoryPool>(&pool) == handle) {
      return &pool;
    }
  }
  Violation(CUDA_ERROR_INVALID_VALUE, std::string(function) + " with no live pool");
  return nullptr;
}

// Reads the name of a file that was exported.
bool ReadName(int file, int* physical, int* pid, int* number) {
  return std::sscanf(NameOfFile(file).c_str(), "/memfd:fake_cuda_pool:%d:%d:%d", physical, pid,
                     number) == 3;
}

// The same allocation again has the same address, and no count.
Memory* FindImported(const std::string& data) {
  for (auto& entry : TheState().memory) {
    if (entry.second.pool != nullptr && entry.second.pool->imported &&
        entry.second.handle == data) {
      return &entry.second;
    }
  }
  return nullptr;
}

Memory* MapPointer(const PointerData& data, const std::string& text, Pool* pool) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", data.pid, data.file);
  Memory memory;
  memory.kind = Kind::kPool;
  memory.handle = text;
  memory.size = data.size;
  memory.device = pool->device;
  memory.pool = pool;
  memory.opened = 1;
  memory.number = TheState().next_number++;
  memory.file = open(path, O_RDWR | O_CLOEXEC);
  struct stat status = {};
  if (memory.file < 0 || fstat(memory.file, &status) != 0 ||
      data.size != static_cast<uint64_t>(status.st_size)) {
    close(memory.file);
    return nullptr;
  }
  memory.bytes = static_cast<unsigned char*>(MapFile(memory.file, memory.size));
  memory.address = reinterpret_cast<CUdeviceptr>(ReserveAddresses(memory.size));
  return &(TheState().memory[memory.address] = memory);
}

bool HasMemory(const Pool* pool) {
  bool found = false;
  for (const auto& entry : TheState().memory) {
    found = found || entry.second.pool == pool;
  }
  return found;
}

}  // namespace

Pool* DefaultPool(int device) {
  for (Pool& pool : TheState().pools) {
    if (pool.is_default && pool.device == device) {
      return &pool;
    }
  }
  Pool* pool = NewPool(device);
  pool->is_default = true;
  return pool;
}

}  // namespace fake_cuda

using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::Pool;
using fake_cuda::TheState;

#define FAKE_POOL(name, function)                     \
  Pool* name = fake_cuda::FindPool(handle, function); \
  if ((name) == nullptr) {                            \
    return CUDA_ERROR_INVALID_VALUE;                  \
  }

extern "C" {

FAKE_NEWER CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
  FAKE_CALL("cuMemPoolCreate", kInit);
  FAKE_REQUIRE(props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                   props->location.type == CU_MEM_LOCATION_TYPE_DEVICE && props->location.id >= 0 &&
                   props->location.id < static_cast<int>(TheState().devices.size()),
               CUDA_ERROR_INVALID_VALUE, "cuMemPoolCreate of other memory than a device's");
  Pool* pool = fake_cuda::NewPool(props->location.id);
  pool->exportable = props->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *out = reinterpret_cast<CUmemoryPool>(pool);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool handle) {
  FAKE_CALL("cuMemPoolDestroy", kInit);
  FAKE_UNSAFE("cuMemPoolDestroy");
  FAKE_POOL(pool, "cuMemPoolDestroy");
  FAKE_REQUIRE(!pool->is_default, CUDA_ERROR_INVALID_VALUE, "cuMemPoolDestroy of a default pool");
  FAKE_REQUIRE(!fake_cuda::HasMemory(pool), CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolDestroy before its memory is freed");
  TheState().pools.remove_if([&](const Pool& other) { return &other == pool; });
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t size,
                                                    CUmemoryPool handle, CUstream) {
  FAKE_CALL("cuMemAllocFromPoolAsync", kContext);
  FAKE_POOL(pool, "cuMemAllocFromPoolAsync");
  FAKE_REQUIRE(!pool->imported, CUDA_ERROR_INVALID_VALUE,
               "cuMemAllocFromPoolAsync from an imported pool");
  Memory* memory = fake_cuda::AllocateOnDevice(Kind::kPool, size, pool->device, nullptr);
  memory->pool = pool;
  *out = memory->address;
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map,
                                               size_t count) {
  FAKE_CALL("cuMemPoolSetAccess", kInit);
  FAKE_UNSAFE("cuMemPoolSetAccess");
  FAKE_POOL(pool, "cuMemPoolSetAccess");
  FAKE_REQUIRE(count == 1 && map->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                   map->location.id == pool->device &&
                   map->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
               CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolSetAccess of something else than access of its own device");
  pool->accessible = true;
  return CUDA_SUCCESS;
}

// A pool that cannot be exported fails without a violation: this is how a program learns it.
FAKE_NEWER CUresult CUDAAPI cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle,
                                                             CUmemAllocationHandleType type,
                                                             unsigned long long flags) {
  FAKE_CALL("cuMemPoolExportToShareableHandle", kInit);
  FAKE_UNSAFE("cuMemPoolExportToShareableHandle");
  FAKE_POOL(pool, "cuMemPoolExportToShareableHandle");
  FAKE_REQUIRE(flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
               CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolExportToShareableHandle with flags or another type of handle");
  if (!pool->exportable || pool->imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  char name[64];
  std::snprintf(name, sizeof name, "fake_cuda_pool:%d:%d:%d",
                TheState().devices[static_cast<size_t>(pool->device)].physical, pool->process,
                pool->number);
  *static_cast<int*>(out) = memfd_create(name, 0);
  pool->exported = true;
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* handle,
                                                               CUmemAllocationHandleType type,
                                                               unsigned long long flags) {
  FAKE_CALL("cuMemPoolImportFromShareableHandle", kInit);
  FAKE_UNSAFE("cuMemPoolImportFromShareableHandle");
  FAKE_REQUIRE(flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
               CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolImportFromShareableHandle with flags or another type of handle");
  int physical = -1;
  int pid = 0;
  int number = 0;
  if (!fake_cuda::ReadName(static_cast<int>(reinterpret_cast<intptr_t>(handle)), &physical, &pid,
                           &number)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int device = fake_cuda::DeviceOfPhysical(physical);
  if (device < 0) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  Pool* pool = fake_cuda::NewPool(device);
  pool->imported = true;
  pool->accessible = false;
  pool->process = pid;
  pool->number = number;
  *out = reinterpret_cast<CUmemoryPool>(pool);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData* out,
                                                   CUdeviceptr address) {
  FAKE_CALL("cuMemPoolExportPointer", kInit);
  FAKE_UNSAFE("cuMemPoolExportPointer");
  const Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr && memory->pool != nullptr && memory->address == address,
               CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolExportPointer of an address that is no start of memory of a pool");
  FAKE_REQUIRE(memory->pool->exported, CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolExportPointer before its pool was exported");
  fake_cuda::PointerData data = {};
  std::memcpy(data.magic, fake_cuda::kMagic, sizeof data.magic);
  data.pid = getpid();
  data.pool = memory->pool->number;
  data.file = memory->file;
  data.size = memory->size;
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &data, sizeof data);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle,
                                                   CUmemPoolPtrExportData* in) {
  FAKE_CALL("cuMemPoolImportPointer", kInit);
  FAKE_UNSAFE("cuMemPoolImportPointer");
  FAKE_POOL(pool, "cuMemPoolImportPointer");
  FAKE_REQUIRE(pool->imported, CUDA_ERROR_INVALID_VALUE,
               "cuMemPoolImportPointer from a pool that was not imported");
  fake_cuda::PointerData data;
  std::memcpy(&data, in, sizeof data);
  if (std::memcmp(data.magic, fake_cuda::kMagic, sizeof data.magic) != 0 ||
      data.pid != pool->process || data.pool != pool->number) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::string text(reinterpret_cast<const char*>(in->reserved), sizeof in->reserved);
  Memory* memory = fake_cuda::FindImported(text);
  memory = memory != nullptr ? memory : fake_cuda::MapPointer(data, text, pool);
  if (memory == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = memory->address;
  return CUDA_SUCCESS;
}
}
