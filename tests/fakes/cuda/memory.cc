// SPDX-License-Identifier: Apache-2.0
// The memory of the fake. Device memory has addresses that fault when the host touches them; its
// bytes are in a memory file, which another process can open.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_cuda {

void* ReserveAddresses(size_t size) {
  void* address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

std::string NameOfFile(int file) {
  char path[64];
  char name[128] = {};
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return readlink(path, name, sizeof name - 1) > 0 ? name : "";
}

int DeviceOfPhysical(int physical) {
  const auto& devices = TheState().devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].physical == physical) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void* MapFile(int file, size_t size) {
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return bytes == MAP_FAILED ? nullptr : bytes;
}

namespace {

CUdeviceptr AddressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

Memory* Enter(const Memory& memory) {
  Memory* entered = &(TheState().memory[memory.address] = memory);
  entered->number = TheState().next_number++;
  return entered;
}

Memory* AllocateOnHost(Kind kind, size_t size, bool other_address) {
  Memory memory;
  memory.kind = kind;
  memory.size = size;
  memory.device = Current()->device;
  memory.context = Current();
  memory.bytes = static_cast<unsigned char*>(
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  memory.address = AddressOf(other_address ? ReserveAddresses(size) : memory.bytes);
  return Enter(memory);
}

bool IsMapped(const Memory& memory, CUdeviceptr address) {
  return FindPiece(memory, address - memory.address) != nullptr;
}

// The driver may not know more about an unmapped address than its reservation.
bool IsHidden(const Memory* memory, CUdeviceptr address) {
  return memory == nullptr || (TheState().hide_unmapped && !IsMapped(*memory, address));
}

unsigned TypeOf(const Memory* memory, CUdeviceptr address) {
  if (IsHidden(memory, address)) {
    return 0;
  }
  return memory->kind == Kind::kPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

// The range of an allocation; for memory of cuMemMap, and where nothing is mapped, the reservation.
Reservation RangeOf(const Memory* memory, CUdeviceptr address) {
  if (memory != nullptr && memory->reservation == nullptr) {
    return {memory->address, memory->size, nullptr};
  }
  const Reservation* reservation = FindReservation(address, 1);
  return reservation != nullptr ? *reservation : Reservation{};
}

// Writes one attribute of an allocation, or of an unknown address (NULL).
CUresult Attribute(CUpointer_attribute attribute, const Memory* memory, CUdeviceptr address,
                   void* out) {
  const bool host = memory != nullptr && memory->kind == Kind::kPinned;
  const bool orphan =
      memory != nullptr && (memory->kind == Kind::kPool || memory->kind == Kind::kMapped);
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(out) = TypeOf(memory, address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(out) = IsHidden(memory, address) ? -2 : memory->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(out) = memory != nullptr && memory->kind == Kind::kManaged ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(out) =
          memory == nullptr || orphan ? nullptr : reinterpret_cast<CUcontext>(memory->context);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(out) = memory != nullptr && memory->kind == Kind::kDevice ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(out) = RangeOf(memory, address).address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(out) = RangeOf(memory, address).size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(out) =
          memory == nullptr ? nullptr : reinterpret_cast<CUmemoryPool>(memory->pool);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(out) = memory != nullptr && IsMapped(*memory, address) ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<uint64_t*>(out) = memory == nullptr ? 0 : memory->number;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: {
      const bool reachable = memory != nullptr && (host || memory->kind == Kind::kManaged);
      if (!reachable) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const CUdeviceptr bytes = AddressOf(memory->bytes);
      const bool device_side = address - memory->address < memory->size;
      *static_cast<CUdeviceptr*>(out) = device_side ? bytes + (address - memory->address) : address;
      return CUDA_SUCCESS;
    }
    default:
      return Violation(CUDA_ERROR_INVALID_VALUE,
                       "cuPointerGetAttributes of an attribute that needs a context, has side "
                       "effects, or that older drivers lack");
  }
}

bool NeedsNewDriver(CUpointer_attribute attribute) {
  const int version = TheState().version;
  return (version < 10020 && attribute >= CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) ||
         (version < 11030 && attribute >= CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
}

}  // namespace

Memory* AllocateOnDevice(Kind kind, size_t size, int device, Context* context) {
  Memory memory;
  memory.kind = kind;
  memory.size = size;
  memory.device = device;
  memory.context = context;
  memory.file = memfd_create("fake_cuda", MFD_CLOEXEC);
  if (memory.file < 0 || ftruncate(memory.file, static_cast<off_t>(size)) != 0) {
    return nullptr;
  }
  memory.bytes = static_cast<unsigned char*>(MapFile(memory.file, size));
  memory.address = AddressOf(ReserveAddresses(size));
  return Enter(memory);
}

const Piece* FindPiece(const Memory& memory, size_t offset) {
  static const Piece whole = {0, SIZE_MAX};
  if (memory.kind != Kind::kMapped) {
    return &whole;
  }
  for (const Piece& piece : memory.pieces) {
    if (offset - piece.offset < piece.size) {
      return &piece;
    }
  }
  return nullptr;
}

Memory* FindMemory(CUdeviceptr address) {
  for (auto& entry : TheState().memory) {
    Memory& memory = entry.second;
    const bool host_side = memory.kind == Kind::kPinned || memory.kind == Kind::kManaged;
    if (address - memory.address < memory.size ||
        (host_side && address - AddressOf(memory.bytes) < memory.size)) {
      return &memory;
    }
  }
  return nullptr;
}

// Where the fake itself accesses an address of either side.
unsigned char* BytesAt(CUdeviceptr address) {
  const Memory* memory = FindMemory(address);
  const size_t offset = address - memory->address;
  return memory->bytes + (offset < memory->size ? offset : address - AddressOf(memory->bytes));
}

void FreeMemory(Memory* memory) {
  if (!memory->registered) {
    munmap(memory->bytes, memory->size);
  }
  if (memory->address != AddressOf(memory->bytes)) {
    munmap(reinterpret_cast<void*>(memory->address), memory->size);
  }
  if (memory->file >= 0) {
    close(memory->file);
  }
  TheState().memory.erase(memory->address);
}

}  // namespace fake_cuda

using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::TheState;

namespace {

// 64 bytes of device 0 in a context.
void FastAttribute(CUpointer_attribute attribute, CUdeviceptr address, void* out) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(out) = CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<uint64_t*>(out) = 1;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<uint64_t*>(out) = address;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<uint64_t*>(out) = 64;
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<uint64_t*>(out) = 1;
      break;
    default:
      *static_cast<unsigned*>(out) = attribute == CU_POINTER_ATTRIBUTE_MAPPED ? 1 : 0;
  }
}

CUresult Free(CUdeviceptr address, const char* function) {
  Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr, CUDA_ERROR_INVALID_VALUE,
               std::string(function) + " of no allocation");
  FAKE_REQUIRE(memory->reservation == nullptr && memory->kind != Kind::kImported,
               CUDA_ERROR_INVALID_VALUE,
               std::string(function) + " of memory of cuMemMap or of an IPC handle");
  fake_cuda::FreeMemory(memory);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* out, size_t size) {
  FAKE_CALL("cuMemAlloc_v2", kContext);
  FAKE_UNSAFE("cuMemAlloc");
  fake_cuda::Context* context = fake_cuda::Current();
  *out = fake_cuda::AllocateOnDevice(Kind::kDevice, size, context->device, context)->address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* out, size_t size, CUstream stream) {
  FAKE_CALL("cuMemAllocAsync", kContext);
  const fake_cuda::Stream* found = fake_cuda::FindStream(stream, "cuMemAllocAsync");
  if (found == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const int device = found->context->device;
  Memory* memory = fake_cuda::AllocateOnDevice(Kind::kPool, size, device, nullptr);
  memory->pool = fake_cuda::DefaultPool(device);
  *out = memory->address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* out, size_t size, unsigned) {
  FAKE_CALL("cuMemAllocManaged", kContext);
  FAKE_UNSAFE("cuMemAllocManaged");
  *out = fake_cuda::AllocateOnHost(Kind::kManaged, size, false)->address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostAlloc(void** out, size_t size, unsigned flags) {
  FAKE_CALL("cuMemHostAlloc", kContext);
  FAKE_UNSAFE("cuMemHostAlloc");
  const bool other_address = (flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0;
  *out = fake_cuda::AllocateOnHost(Kind::kPinned, size, other_address)->bytes;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostRegister_v2(void* pointer, size_t size, unsigned) {
  FAKE_CALL("cuMemHostRegister_v2", kContext);
  FAKE_UNSAFE("cuMemHostRegister");
  Memory memory;
  memory.kind = Kind::kPinned;
  memory.size = size;
  memory.device = fake_cuda::Current()->device;
  memory.context = fake_cuda::Current();
  memory.bytes = static_cast<unsigned char*>(pointer);
  memory.address = fake_cuda::AddressOf(pointer);
  memory.registered = true;
  fake_cuda::Enter(memory);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostUnregister(void* pointer) {
  FAKE_CALL("cuMemHostUnregister", kContext);
  FAKE_UNSAFE("cuMemHostUnregister");
  return Free(fake_cuda::AddressOf(pointer), "cuMemHostUnregister");
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned) {
  FAKE_CALL("cuMemHostGetDevicePointer_v2", kContext);
  FAKE_UNSAFE("cuMemHostGetDevicePointer");
  const CUdeviceptr address = fake_cuda::AddressOf(pointer);
  const Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr, CUDA_ERROR_INVALID_VALUE,
               "cuMemHostGetDevicePointer of no allocation");
  *out = memory->address + (address - fake_cuda::AddressOf(memory->bytes));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeHost(void* pointer) {
  FAKE_CALL("cuMemFreeHost", kContext);
  FAKE_UNSAFE("cuMemFreeHost");
  return Free(fake_cuda::AddressOf(pointer), "cuMemFreeHost");
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
  FAKE_CALL("cuMemFree_v2", kContext);
  FAKE_UNSAFE("cuMemFree");
  return Free(address, "cuMemFree");
}

CUresult CUDAAPI cuPointerGetAttribute(void* out, CUpointer_attribute attribute,
                                       CUdeviceptr address) {
  FAKE_CALL("cuPointerGetAttribute", kInit);
  const Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr, CUDA_ERROR_INVALID_VALUE,
               "cuPointerGetAttribute, which fails for memory that CUDA does not know");
  if (fake_cuda::NeedsNewDriver(attribute)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return fake_cuda::Attribute(attribute, memory, address, out);
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                        void** values, CUdeviceptr address) {
  if (fake_cuda::g_fast) {
    for (unsigned i = 0; i < count; ++i) {
      FastAttribute(attributes[i], address, values[i]);
    }
    return CUDA_SUCCESS;
  }
  FAKE_CALL("cuPointerGetAttributes", kInit);
  const Memory* memory = fake_cuda::FindMemory(address);
  for (unsigned i = 0; i < count; ++i) {
    FAKE_REQUIRE(values[i] != nullptr, CUDA_ERROR_INVALID_VALUE,
                 "cuPointerGetAttributes without a place for a value");
    FAKE_REQUIRE(!fake_cuda::NeedsNewDriver(attributes[i]), CUDA_ERROR_INVALID_VALUE,
                 "cuPointerGetAttributes of an attribute newer than the driver");
    const CUresult result = fake_cuda::Attribute(attributes[i], memory, address, values[i]);
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  FAKE_CALL("cuMemGetAddressRange_v2", kContext);
  FAKE_UNSAFE("cuMemGetAddressRange");
  const Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr && memory->kind != Kind::kManaged, CUDA_ERROR_NOT_FOUND,
               "cuMemGetAddressRange of memory that it does not know");
  const fake_cuda::Piece* piece = fake_cuda::FindPiece(*memory, address - memory->address);
  FAKE_REQUIRE(piece != nullptr, CUDA_ERROR_NOT_FOUND,
               "cuMemGetAddressRange of memory that is not mapped");
  const bool mapped = memory->kind == Kind::kMapped;
  *base = memory->address + piece->offset;
  *size = mapped ? piece->size : memory->size;
  return CUDA_SUCCESS;
}

CUdeviceptr fake_cuda_map(int device, size_t reserved) {
  return fake_cuda_map_pieces(device, reserved, 0, reserved, 1);
}

CUdeviceptr fake_cuda_map_pieces(int device, size_t reserved, size_t first, size_t piece,
                                 int count) {
  const std::lock_guard<std::recursive_mutex> guard(TheState().lock);
  Memory* memory = fake_cuda::AllocateOnDevice(Kind::kMapped, reserved, device, nullptr);
  for (int i = 0; i < count; ++i) {
    memory->pieces.push_back({first + static_cast<size_t>(i) * piece, piece});
  }
  return memory->address;
}

void fake_cuda_poke(CUdeviceptr address, const void* bytes, size_t size) {
  const std::lock_guard<std::recursive_mutex> guard(TheState().lock);
  std::memcpy(fake_cuda::BytesAt(address), bytes, size);
}

void fake_cuda_peek(CUdeviceptr address, void* bytes, size_t size) {
  const std::lock_guard<std::recursive_mutex> guard(TheState().lock);
  std::memcpy(bytes, fake_cuda::BytesAt(address), size);
}
}
