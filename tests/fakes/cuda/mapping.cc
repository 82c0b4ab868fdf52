// SPDX-License-Identifier: Apache-2.0
// Virtual memory management of the fake: reserved addresses, memory of cuMemCreate and its
// mappings. A file descriptor of exported memory is one of the file of its bytes, so the memory
// lives as long as any process has it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

// As on NVIDIA's devices.
constexpr size_t kGranularity = size_t{2} << 20;

// Addresses that are aligned to the granularity. At least one granule of addresses that are never
// used follows them, so that no two reservations are adjacent.
void* ReserveAligned(size_t size) {
  auto* all = static_cast<unsigned char*>(ReserveAddresses(size + 2 * kGranularity));
  if (all == nullptr) {
    return nullptr;
  }
  const size_t before = kGranularity - reinterpret_cast<uintptr_t>(all) % kGranularity;
  munmap(all, before);
  if (before < kGranularity) {
    munmap(all + before + size + kGranularity, kGranularity - before);
  }
  return all + before;
}

Allocation* FindAllocation(CUmemGenericAllocationHandle handle, const char* function) {
  for (Allocation& allocation : TheState().allocations) {
    if (reinterpret_cast<uintptr_t>(&allocation) == handle && allocation.handles > 0) {
      return &allocation;
    }
  }
  Violation(CUDA_ERROR_INVALID_VALUE, std::string(function) + " with no live handle");
  return nullptr;
}

CUmemGenericAllocationHandle HandleOf(const Allocation* allocation) {
  return reinterpret_cast<uintptr_t>(allocation);
}

void EndIfUnused(Allocation* allocation) {
  if (allocation->handles == 0 && allocation->mappings == 0) {
    close(allocation->file);
    TheState().allocations.remove_if([&](const Allocation& other) { return &other == allocation; });
  }
}

// The mapping that starts at an address, or NULL.
Memory* MappingAt(CUdeviceptr address) {
  const auto found = TheState().memory.find(address);
  return found != TheState().memory.end() && found->second.reservation != nullptr ? &found->second
                                                                                  : nullptr;
}

// Are the bytes a series of whole mappings without holes?
bool IsWhole(CUdeviceptr address, size_t size) {
  size_t done = 0;
  while (done < size) {
    const Memory* mapping = MappingAt(address + done);
    if (mapping == nullptr) {
      return false;
    }
    done += mapping->size;
  }
  return done == size && size != 0;
}

template <class Visit>
void ForMappings(CUdeviceptr address, size_t size, const Visit& visit) {
  for (size_t done = 0; done < size;) {
    Memory* mapping = MappingAt(address + done);
    done += mapping->size;
    visit(mapping);
  }
}

bool Overlaps(CUdeviceptr address, size_t size) {
  for (const auto& entry : TheState().memory) {
    const Memory& memory = entry.second;
    if (memory.reservation != nullptr && memory.address < address + size &&
        address < memory.address + memory.size) {
      return true;
    }
  }
  return false;
}

// Reads the name of a file that was exported.
bool ReadFile(int file, Allocation* out) {
  int physical = -1;
  struct stat status = {};
  if (std::sscanf(NameOfFile(file).c_str(), "/memfd:fake_cuda_chunk:%d:%u", &physical,
                  &out->handle_types) != 2 ||
      fstat(file, &status) != 0) {
    return false;
  }
  out->size = static_cast<size_t>(status.st_size);
  out->device = DeviceOfPhysical(physical);
  return out->device >= 0;
}

}  // namespace

Reservation* FindReservation(CUdeviceptr address, size_t size) {
  for (Reservation& reservation : TheState().reservations) {
    const size_t offset = address - reservation.address;
    if (offset < reservation.size && size <= reservation.size - offset) {
      return &reservation;
    }
  }
  return nullptr;
}

bool IsReachable(const Memory& memory, size_t offset, size_t span) {
  if (offset >= memory.size || (memory.pool != nullptr && !memory.pool->accessible)) {
    return false;
  }
  size_t have = memory.size - offset;
  bool accessible = memory.accessible;
  for (const Memory* next = &memory; memory.reservation != nullptr && have < span;) {
    next = MappingAt(next->address + next->size);
    if (next == nullptr) {
      break;
    }
    accessible = accessible && next->accessible;
    have += next->size;
  }
  return accessible && span <= have;
}

}  // namespace fake_cuda

using fake_cuda::Allocation;
using fake_cuda::kGranularity;
using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::Reservation;
using fake_cuda::TheState;

#define FAKE_ALLOCATION(name, function)                           \
  Allocation* name = fake_cuda::FindAllocation(handle, function); \
  if ((name) == nullptr) {                                        \
    return CUDA_ERROR_INVALID_VALUE;                              \
  }

extern "C" {

FAKE_NEWER CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* out, size_t size,
                                        const CUmemAllocationProp* prop, unsigned long long flags) {
  FAKE_CALL("cuMemCreate", kInit);
  FAKE_REQUIRE(flags == 0 && size != 0 && size % kGranularity == 0, CUDA_ERROR_INVALID_VALUE,
               "cuMemCreate of a size that is no multiple of the granularity");
  FAKE_REQUIRE(prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                   prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0 &&
                   prop->location.id < static_cast<int>(TheState().devices.size()),
               CUDA_ERROR_INVALID_VALUE, "cuMemCreate of other memory than a device's");
  Allocation allocation;
  allocation.size = size;
  allocation.device = prop->location.id;
  allocation.handle_types = prop->requestedHandleTypes;
  allocation.handles = 1;
  char name[64];
  std::snprintf(name, sizeof name, "fake_cuda_chunk:%d:%u",
                TheState().devices[static_cast<size_t>(allocation.device)].physical,
                allocation.handle_types);
  allocation.file = memfd_create(name, MFD_CLOEXEC);
  if (allocation.file < 0 || ftruncate(allocation.file, static_cast<off_t>(size)) != 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  TheState().allocations.push_back(allocation);
  *out = fake_cuda::HandleOf(&TheState().allocations.back());
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  FAKE_CALL("cuMemRelease", kInit);
  FAKE_UNSAFE("cuMemRelease");
  FAKE_ALLOCATION(allocation, "cuMemRelease");
  --allocation->handles;
  fake_cuda::EndIfUnused(allocation);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t alignment,
                                                CUdeviceptr hint, unsigned long long flags) {
  FAKE_CALL("cuMemAddressReserve", kInit);
  FAKE_UNSAFE("cuMemAddressReserve");
  FAKE_REQUIRE(alignment == 0 && hint == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE,
               "cuMemAddressReserve with an alignment, a hint or flags");
  if (size == 0 || size % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;  // the size may come from another process
  }
  if (size > SIZE_MAX / 2) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* addresses = fake_cuda::ReserveAligned(size);
  void* bytes = fake_cuda::ReserveAddresses(size);
  if (addresses == nullptr || bytes == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  TheState().reservations.push_back(
      {reinterpret_cast<CUdeviceptr>(addresses), size, static_cast<unsigned char*>(bytes)});
  *out = TheState().reservations.back().address;
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size) {
  FAKE_CALL("cuMemAddressFree", kInit);
  FAKE_UNSAFE("cuMemAddressFree");
  Reservation* reservation = fake_cuda::FindReservation(address, size);
  FAKE_REQUIRE(
      reservation != nullptr && reservation->address == address && reservation->size == size,
      CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree of something else than a reservation");
  FAKE_REQUIRE(!fake_cuda::Overlaps(address, size), CUDA_ERROR_INVALID_VALUE,
               "cuMemAddressFree of addresses that are mapped");
  munmap(reinterpret_cast<void*>(address), size + kGranularity);
  munmap(reservation->bytes, size);
  TheState().reservations.remove_if(
      [&](const Reservation& other) { return &other == reservation; });
  return CUDA_SUCCESS;
}

// The file descriptors and sizes of an import are foreign: a size that does not fit the memory
// fails without a violation.
FAKE_NEWER CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                                     CUmemGenericAllocationHandle handle,
                                     unsigned long long flags) {
  FAKE_CALL("cuMemMap", kInit);
  FAKE_UNSAFE("cuMemMap");
  FAKE_ALLOCATION(allocation, "cuMemMap");
  FAKE_REQUIRE(offset == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE,
               "cuMemMap with an offset or flags");
  Reservation* reservation = fake_cuda::FindReservation(address, size);
  FAKE_REQUIRE(reservation != nullptr, CUDA_ERROR_INVALID_VALUE,
               "cuMemMap of addresses that are not reserved");
  FAKE_REQUIRE(!fake_cuda::Overlaps(address, size), CUDA_ERROR_INVALID_VALUE,
               "cuMemMap of addresses that are mapped");
  if (size == 0 || size % kGranularity != 0 || address % kGranularity != 0 ||
      size > allocation->size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Memory memory;
  memory.kind = Kind::kMapped;
  memory.address = address;
  memory.size = size;
  memory.device = allocation->device;
  memory.bytes = reservation->bytes + (address - reservation->address);
  memory.reservation = reservation;
  memory.allocation = allocation;
  memory.accessible = false;
  memory.pieces.push_back({0, size});
  memory.number = TheState().next_number++;
  mmap(memory.bytes, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, allocation->file, 0);
  ++allocation->mappings;
  TheState().memory[address] = memory;
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size) {
  FAKE_CALL("cuMemUnmap", kInit);
  FAKE_UNSAFE("cuMemUnmap");
  FAKE_REQUIRE(fake_cuda::IsWhole(address, size), CUDA_ERROR_INVALID_VALUE,
               "cuMemUnmap of something else than whole mappings");
  std::vector<Memory> mappings;
  fake_cuda::ForMappings(address, size, [&](Memory* memory) { mappings.push_back(*memory); });
  for (const Memory& memory : mappings) {
    mmap(memory.bytes, memory.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    --memory.allocation->mappings;
    fake_cuda::EndIfUnused(memory.allocation);
    TheState().memory.erase(memory.address);
  }
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t size,
                                           const CUmemAccessDesc* desc, size_t count) {
  FAKE_CALL("cuMemSetAccess", kInit);
  FAKE_UNSAFE("cuMemSetAccess");
  FAKE_REQUIRE(fake_cuda::IsWhole(address, size), CUDA_ERROR_INVALID_VALUE,
               "cuMemSetAccess of something else than whole mappings");
  FAKE_REQUIRE(count == 1 && desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                   desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
               CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess of something else than a device's access");
  fake_cuda::ForMappings(address, size, [&](Memory* memory) {
    memory->accessible = memory->accessible || memory->device == desc->location.id;
  });
  return CUDA_SUCCESS;
}

// Memory that was not mapped fails without a violation: this is how a program learns it.
FAKE_NEWER CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out,
                                                        void* address) {
  FAKE_CALL("cuMemRetainAllocationHandle", kInit);
  FAKE_UNSAFE("cuMemRetainAllocationHandle");
  const Memory* memory = fake_cuda::FindMemory(reinterpret_cast<CUdeviceptr>(address));
  if (memory == nullptr || memory->allocation == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++memory->allocation->handles;
  *out = fake_cuda::HandleOf(memory->allocation);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* out, CUmemGenericAllocationHandle handle) {
  FAKE_CALL("cuMemGetAllocationPropertiesFromHandle", kInit);
  FAKE_UNSAFE("cuMemGetAllocationPropertiesFromHandle");
  FAKE_ALLOCATION(allocation, "cuMemGetAllocationPropertiesFromHandle");
  std::memset(out, 0, sizeof *out);
  out->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  out->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  out->location.id = allocation->device;
  out->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(allocation->handle_types);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemExportToShareableHandle(void* out,
                                                         CUmemGenericAllocationHandle handle,
                                                         CUmemAllocationHandleType type,
                                                         unsigned long long flags) {
  FAKE_CALL("cuMemExportToShareableHandle", kInit);
  FAKE_UNSAFE("cuMemExportToShareableHandle");
  FAKE_ALLOCATION(allocation, "cuMemExportToShareableHandle");
  FAKE_REQUIRE(
      flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
          (allocation->handle_types & type) != 0,
      CUDA_ERROR_INVALID_VALUE,
      "cuMemExportToShareableHandle with flags or a type of handle that was not requested");
  *static_cast<int*>(out) = dup(allocation->file);
  return CUDA_SUCCESS;
}

FAKE_NEWER CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out,
                                                           void* handle,
                                                           CUmemAllocationHandleType type) {
  FAKE_CALL("cuMemImportFromShareableHandle", kInit);
  FAKE_UNSAFE("cuMemImportFromShareableHandle");
  FAKE_REQUIRE(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE,
               "cuMemImportFromShareableHandle with another type of handle");
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  Allocation allocation;
  if (!fake_cuda::ReadFile(file, &allocation)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  allocation.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  allocation.handles = 1;
  TheState().allocations.push_back(allocation);
  *out = fake_cuda::HandleOf(&TheState().allocations.back());
  return CUDA_SUCCESS;
}
}
