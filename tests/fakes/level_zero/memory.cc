// SPDX-License-Identifier: Apache-2.0
// USM of the fake driver: anonymous files, which another process can map.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "control.h"
#include "functions.h"
#include "world.h"

namespace fake_ze {
namespace {

constexpr uint64_t kJustBytes = UINT64_MAX;

// The contents of an IPC handle; FAKE_ZE_IPC selects which fields are used.
struct HandleBytes {
  uint64_t fd;
  uint64_t reserved;
  int32_t process;
  int32_t fd_of_process;
};
static_assert(sizeof(HandleBytes) <= ZE_MAX_IPC_HANDLE_SIZE, "it fits");

void* Map(int fd, size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapped != MAP_FAILED ? mapped : nullptr;
}

// Takes ownership of the descriptor.
ze_result_t Add(const Allocation& allocation, void** out) {
  void* mapped = allocation.fd != -1 ? Map(allocation.fd, allocation.size) : nullptr;
  if (mapped == nullptr) {
    close(allocation.fd);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  TheWorld().memory[reinterpret_cast<uintptr_t>(mapped)] = allocation;
  *out = mapped;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Allocate(size_t size, Context* context, Device* device, ze_memory_type_t type,
                     void** out) {
  const int fd = memfd_create("fake_ze", MFD_CLOEXEC);
  if (fd == -1 || ftruncate(fd, static_cast<off_t>(size)) != 0) {
    close(fd);
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  return Add({size, context, device, type, fd, -1, 0, false}, out);
}

void Remove(std::map<uintptr_t, Allocation>::iterator found) {
  munmap(reinterpret_cast<void*>(found->first), found->second.size);
  close(found->second.fd);
  if (found->second.handle_fd != -1) {
    close(found->second.handle_fd);
  }
  TheWorld().memory.erase(found);
}

bool IsInUse(uintptr_t base, size_t size) {
  const auto touches = [base, size](const void* address) {
    return reinterpret_cast<uintptr_t>(address) - base < size;
  };
  for (const Engine* engine : TheWorld().engines) {
    for (const Command& command : engine->pending) {
      for (const Run& run : command.runs) {
        if (touches(run.to) || touches(run.from)) {
          return true;
        }
      }
    }
  }
  return false;
}

// The allocation of a context that starts at an address, or end() and a recorded violation.
std::map<uintptr_t, Allocation>::iterator FindBase(Call* call, const void* address,
                                                   const Context* context) {
  auto found = TheWorld().memory.find(reinterpret_cast<uintptr_t>(address));
  if (found == TheWorld().memory.end()) {
    call->Break("ptr is not the start of an allocation");
  } else if (found->second.context != context) {
    call->Break("ptr is memory of another context");
  }
  return found;
}

Device* CheckDevice(Call* call, ze_device_handle_t handle, const Context* context) {
  Device* device = call->Get<Device>(handle, "hDevice");
  if (device != nullptr && context != nullptr) {
    call->Require(device->driver == context->driver, "hDevice is of another driver");
  }
  return device;
}

void CheckSize(Call* call, size_t size, size_t alignment, void** out) {
  call->Require(size != 0, "size is 0", ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  call->Require((alignment & (alignment - 1)) == 0 && alignment <= 4096,
                "alignment is no power of two up to a page", ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  call->Pointer(out, "pptr");
}

void WriteHandle(Allocation* allocation, ze_ipc_mem_handle_t* handle) {
  if (allocation->handle_fd == -1) {
    allocation->handle_fd = fcntl(allocation->fd, F_DUPFD_CLOEXEC, 0);
  }
  ++allocation->handles;
  const bool bytes = TheWorld().ipc == "bytes";
  const bool process = TheWorld().ipc == "process";
  const HandleBytes value = {bytes ? kJustBytes : static_cast<uint64_t>(allocation->handle_fd), 0,
                             process ? static_cast<int32_t>(getpid()) : 0,
                             bytes ? static_cast<int32_t>(getpid()) : 0};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->data, &value, sizeof value);
  if (bytes) {
    std::memcpy(handle->data + 32, &allocation->handle_fd, sizeof allocation->handle_fd);
  }
}

int OpenOf(int32_t process, int32_t fd) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

// A new descriptor of the memory of a handle, or -1.
int OpenHandle(const ze_ipc_mem_handle_t& handle) {
  HandleBytes value;
  std::memcpy(&value, handle.data, sizeof value);
  if (value.fd == kJustBytes) {
    int32_t fd = -1;
    std::memcpy(&fd, handle.data + 32, sizeof fd);
    return OpenOf(value.fd_of_process, fd);
  }
  const auto fd = static_cast<int32_t>(value.fd);
  return value.process != 0 ? OpenOf(value.process, fd) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

std::map<uintptr_t, Allocation>::iterator FindAllocation(const void* address) {
  auto& memory = TheWorld().memory;
  const auto value = reinterpret_cast<uintptr_t>(address);
  auto next = memory.upper_bound(value);
  if (next == memory.begin()) {
    return memory.end();
  }
  --next;
  return value - next->first < next->second.size ? next : memory.end();
}

void CheckRange(Call* call, const void* address, size_t bytes, const Context* context,
                const char* argument) {
  const auto found = FindAllocation(address);
  if (found == TheWorld().memory.end()) {
    return;
  }
  const Allocation& allocation = found->second;
  const size_t left = allocation.size - (reinterpret_cast<uintptr_t>(address) - found->first);
  call->Require(bytes <= left, std::string(argument) + " leaves its allocation",
                ZE_RESULT_ERROR_INVALID_SIZE);
  call->Require(allocation.context == context,
                std::string(argument) + " is memory of another context");
}

}  // namespace fake_ze

using fake_ze::Call;
using fake_ze::Context;
using fake_ze::Device;
using fake_ze::TheWorld;

ze_result_t zeMemAllocDevice(ze_context_handle_t hContext,
                             const ze_device_mem_alloc_desc_t* device_desc, size_t size,
                             size_t alignment, ze_device_handle_t hDevice, void** pptr) {
  FAKE_CALL(zeMemAllocDevice);
  auto* context = call.Get<Context>(hContext, "hContext");
  Device* device = fake_ze::CheckDevice(&call, hDevice, context);
  call.Typed(device_desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "device_desc");
  fake_ze::CheckSize(&call, size, alignment, pptr);
  FAKE_OR_RETURN;
  return fake_ze::Allocate(size, context, device, ZE_MEMORY_TYPE_DEVICE, pptr);
}

ze_result_t zeMemAllocShared(ze_context_handle_t hContext,
                             const ze_device_mem_alloc_desc_t* device_desc,
                             const ze_host_mem_alloc_desc_t* host_desc, size_t size,
                             size_t alignment, ze_device_handle_t hDevice, void** pptr) {
  FAKE_CALL(zeMemAllocShared);
  auto* context = call.Get<Context>(hContext, "hContext");
  Device* device = fake_ze::CheckDevice(&call, hDevice, context);
  call.Typed(device_desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "device_desc");
  call.Typed(host_desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "host_desc");
  fake_ze::CheckSize(&call, size, alignment, pptr);
  FAKE_OR_RETURN;
  return fake_ze::Allocate(size, context, device, ZE_MEMORY_TYPE_SHARED, pptr);
}

ze_result_t zeMemAllocHost(ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t* host_desc,
                           size_t size, size_t alignment, void** pptr) {
  FAKE_CALL(zeMemAllocHost);
  auto* context = call.Get<Context>(hContext, "hContext");
  call.Typed(host_desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "host_desc");
  fake_ze::CheckSize(&call, size, alignment, pptr);
  FAKE_OR_RETURN;
  return fake_ze::Allocate(size, context, nullptr, ZE_MEMORY_TYPE_HOST, pptr);
}

ze_result_t zeMemFree(ze_context_handle_t hContext, void* ptr) {
  FAKE_CALL(zeMemFree);
  const auto* context = call.Get<Context>(hContext, "hContext");
  FAKE_OR_RETURN;
  const auto found = fake_ze::FindBase(&call, ptr, context);
  FAKE_OR_RETURN;
  call.Require(!found->second.imported, "ptr was opened, not allocated");
  call.Require(!fake_ze::IsInUse(found->first, found->second.size), "ptr is still being copied",
               ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  FAKE_OR_RETURN;
  fake_ze::Remove(found);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t hContext, const void* ptr,
                                    ze_memory_allocation_properties_t* pMemAllocProperties,
                                    ze_device_handle_t* phDevice) {
  FAKE_CALL(zeMemGetAllocProperties);
  const auto* context = call.Get<Context>(hContext, "hContext");
  call.Pointer(ptr, "ptr");
  call.Typed(pMemAllocProperties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
             "pMemAllocProperties");
  FAKE_OR_RETURN;
  const bool any = TheWorld().any_context_knows;
  const auto found = fake_ze::FindAllocation(ptr);
  if (found == TheWorld().memory.end() ||
      (any ? found->second.context->driver != context->driver : found->second.context != context)) {
    pMemAllocProperties->type = ZE_MEMORY_TYPE_UNKNOWN;
    pMemAllocProperties->id = 0xdead;
    if (!any && phDevice != nullptr) {
      *phDevice = reinterpret_cast<ze_device_handle_t>(uintptr_t{0xdead});
    }
    return ZE_RESULT_SUCCESS;
  }
  pMemAllocProperties->type = found->second.type;
  pMemAllocProperties->id = found->first;
  pMemAllocProperties->pageSize = 4096;
  if (phDevice != nullptr) {
    *phDevice = fake_ze::ToHandle<ze_device_handle_t>(found->second.device);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t hContext, const void* ptr, void** pBase,
                                 size_t* pSize) {
  FAKE_CALL(zeMemGetAddressRange);
  const auto* context = call.Get<Context>(hContext, "hContext");
  call.Pointer(ptr, "ptr");
  FAKE_OR_RETURN;
  const auto found = fake_ze::FindAllocation(ptr);
  if (found == TheWorld().memory.end() || found->second.context->driver != context->driver) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
  if (pBase != nullptr) {
    *pBase = reinterpret_cast<void*>(found->first);
  }
  if (pSize != nullptr) {
    *pSize = found->second.size;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetIpcHandle(ze_context_handle_t hContext, const void* ptr,
                              ze_ipc_mem_handle_t* pIpcHandle) {
  FAKE_CALL(zeMemGetIpcHandle);
  const auto* context = call.Get<Context>(hContext, "hContext");
  call.Pointer(pIpcHandle, "pIpcHandle");
  FAKE_OR_RETURN;
  const auto found = fake_ze::FindBase(&call, ptr, context);
  FAKE_OR_RETURN;
  call.Require(found->second.type == ZE_MEMORY_TYPE_DEVICE, "ptr is no device memory");
  FAKE_OR_RETURN;
  fake_ze::WriteHandle(&found->second, pIpcHandle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t fake_ze_put_ipc(ze_context_handle_t context, ze_ipc_mem_handle_t handle) {
  FAKE_CALL(zeMemPutIpcHandle);
  const auto* of = call.Get<Context>(context, "hContext");
  FAKE_OR_RETURN;
  for (auto& [base, allocation] : TheWorld().memory) {
    ze_ipc_mem_handle_t own;
    if (allocation.context != of || allocation.handles == 0) {
      continue;
    }
    fake_ze::WriteHandle(&allocation, &own);
    --allocation.handles;
    if (std::memcmp(&own, &handle, sizeof own) != 0) {
      continue;
    }
    if (--allocation.handles == 0) {
      close(allocation.handle_fd);
      allocation.handle_fd = -1;
    }
    return ZE_RESULT_SUCCESS;
  }
  call.Break("handle is none that was got and not put");
  return call.result();
}

// A handle comes from another process: an invalid one is an error, not a violation of this process.
ze_result_t zeMemOpenIpcHandle(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags,
                               void** pptr) {
  FAKE_CALL(zeMemOpenIpcHandle);
  auto* context = call.Get<Context>(hContext, "hContext");
  Device* device = fake_ze::CheckDevice(&call, hDevice, context);
  call.Require(flags <= 3, "flags has an unknown bit", ZE_RESULT_ERROR_INVALID_ENUMERATION);
  call.Pointer(pptr, "pptr");
  FAKE_OR_RETURN;
  const int fd = fake_ze::OpenHandle(handle);
  struct stat file = {};
  if (fd == -1 || fstat(fd, &file) != 0 || file.st_size <= 0) {
    close(fd);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  return fake_ze::Add(
      {static_cast<size_t>(file.st_size), context, device, ZE_MEMORY_TYPE_DEVICE, fd, -1, 0, true},
      pptr);
}

ze_result_t zeMemCloseIpcHandle(ze_context_handle_t hContext, const void* ptr) {
  FAKE_CALL(zeMemCloseIpcHandle);
  const auto* context = call.Get<Context>(hContext, "hContext");
  FAKE_OR_RETURN;
  const auto found = fake_ze::FindBase(&call, ptr, context);
  FAKE_OR_RETURN;
  call.Require(found->second.imported, "ptr was allocated, not opened");
  FAKE_OR_RETURN;
  fake_ze::Remove(found);
  return ZE_RESULT_SUCCESS;
}
