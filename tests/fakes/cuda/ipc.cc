// SPDX-License-Identifier: Apache-2.0
// IPC memory of the fake: a handle names the process that holds the file and its descriptor.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

struct Handle {
  char magic[8];
  int pid;
  int file;
  int physical;
  int reserved;
  uint64_t size;
};
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle), "a handle of CUDA has 64 bytes");

constexpr char kMagic[8] = "fakeipc";

int OpenFile(const Handle& handle) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.file);
  return open(path, O_RDWR | O_CLOEXEC);
}

Memory* FindOpened(const std::string& handle) {
  for (auto& entry : TheState().memory) {
    if (entry.second.opened > 0 && entry.second.handle == handle &&
        entry.second.context == Current()) {
      return &entry.second;
    }
  }
  return nullptr;
}

Memory* Map(const Handle& handle, const std::string& text) {
  Memory memory;
  memory.kind = Kind::kImported;
  memory.handle = text;
  memory.size = handle.size;
  memory.device = Current()->device;
  memory.context = Current();
  memory.file = OpenFile(handle);
  // The handle is foreign: the file may be any of that process, and of another size.
  struct stat status = {};
  if (memory.file < 0 || fstat(memory.file, &status) != 0 || handle.size == 0 ||
      handle.size != static_cast<uint64_t>(status.st_size)) {
    close(memory.file);
    return nullptr;
  }
  void* bytes = mmap(nullptr, handle.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
  void* address = mmap(nullptr, handle.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory.bytes = static_cast<unsigned char*>(bytes);
  memory.address = reinterpret_cast<CUdeviceptr>(address);
  return &(TheState().memory[memory.address] = memory);
}

}  // namespace
}  // namespace fake_cuda

using fake_cuda::Current;
using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::TheState;

extern "C" {

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  FAKE_CALL("cuIpcGetMemHandle", kContext);
  FAKE_UNSAFE("cuIpcGetMemHandle");
  const Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr && memory->address == address, CUDA_ERROR_INVALID_VALUE,
               "cuIpcGetMemHandle of an address that is no start of an allocation");
  FAKE_REQUIRE(memory->context == nullptr || memory->context == Current(),
               CUDA_ERROR_INVALID_CONTEXT,
               "cuIpcGetMemHandle in another context than the memory's");
  FAKE_REQUIRE(memory->kind == Kind::kDevice, CUDA_ERROR_INVALID_VALUE,
               "cuIpcGetMemHandle of memory that it does not share");
  fake_cuda::Handle handle = {};
  std::memcpy(handle.magic, fake_cuda::kMagic, sizeof handle.magic);
  handle.pid = getpid();
  handle.file = memory->file;
  handle.physical = TheState().devices[static_cast<size_t>(memory->device)].physical;
  handle.size = memory->size;
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle in, unsigned flags) {
  FAKE_CALL("cuIpcOpenMemHandle_v2", kContext);
  FAKE_UNSAFE("cuIpcOpenMemHandle");
  FAKE_REQUIRE(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE,
               "cuIpcOpenMemHandle without its only flag");
  fake_cuda::Handle handle;
  std::memcpy(&handle, &in, sizeof handle);
  if (std::memcmp(handle.magic, fake_cuda::kMagic, sizeof handle.magic) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FAKE_REQUIRE(handle.pid != getpid(), CUDA_ERROR_INVALID_CONTEXT,
               "cuIpcOpenMemHandle in the process that exported");
  const auto device = static_cast<size_t>(Current()->device);
  FAKE_REQUIRE(TheState().devices[device].physical == handle.physical, CUDA_ERROR_INVALID_CONTEXT,
               "cuIpcOpenMemHandle on another device than the memory's");
  const fake_cuda::Context* current = Current();
  auto& opener = TheState().openers[{handle.pid, handle.physical}];
  if (opener.first != nullptr && opener.first->alive && opener.first->id == opener.second &&
      opener.first != current) {
    return CUDA_ERROR_ALREADY_MAPPED;
  }
  const std::string text(in.reserved, sizeof in.reserved);
  Memory* memory = fake_cuda::FindOpened(text);
  memory = memory != nullptr ? memory : fake_cuda::Map(handle, text);
  if (memory == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  opener = {Current(), current->id};
  ++memory->opened;
  *out = memory->address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address) {
  FAKE_CALL("cuIpcCloseMemHandle", kContext);
  FAKE_UNSAFE("cuIpcCloseMemHandle");
  Memory* memory = fake_cuda::FindMemory(address);
  FAKE_REQUIRE(memory != nullptr && memory->opened > 0 && memory->address == address,
               CUDA_ERROR_INVALID_VALUE, "cuIpcCloseMemHandle of what was not opened");
  FAKE_REQUIRE(memory->context == Current(), CUDA_ERROR_INVALID_CONTEXT,
               "cuIpcCloseMemHandle in another context than it was opened in");
  if (--memory->opened == 0) {
    fake_cuda::FreeMemory(memory);
  }
  return CUDA_SUCCESS;
}
}
