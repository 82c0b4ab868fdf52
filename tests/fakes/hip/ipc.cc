// SPDX-License-Identifier: Apache-2.0
// IPC memory of the fake: a handle is valid in other processes while the exporter lives.
#include <unistd.h>
#include <csignal>
#include <cstring>

#include "state.h"

#if FAKE_HIP_LEVEL > 0

namespace fake_hip {
namespace {

struct Handle {
  char mark[8];
  pid_t exporter;
  size_t offset;
  size_t size;
  char uuid[16];
};
static_assert(sizeof(Handle) <= sizeof(hipIpcMemHandle_t), "it fits");

constexpr char kMark[8] = "fakehip";

bool IsOfCurrentDevice(const Handle& handle) {
  char uuid[16];
  Uuid(TheThread().device, uuid);
  return std::memcmp(uuid, handle.uuid, sizeof uuid) == 0;
}

}  // namespace
}  // namespace fake_hip

using fake_hip::Allocation;
using fake_hip::FindAllocation;
using fake_hip::Handle;
using fake_hip::NameOf;

extern "C" {

FAKE_EXPORT hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* out, void* pointer) {
  FAKE_CALL(hipIpcGetMemHandle, NameOf(pointer))
  FAKE_UNSAFE(hipIpcGetMemHandle)
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(pointer, &base);
  if (found == nullptr || found->kind != kFakeDevice) {
    return call.Reject(hipErrorInvalidValue, "no memory of a device");
  }
  if (base != reinterpret_cast<uintptr_t>(pointer)) {
    return call.Reject(hipErrorInvalidValue, "not the start of an allocation");
  }
  if (found->device != fake_hip::TheThread().device) {
    return call.Reject(hipErrorInvalidValue, "memory of another device than the thread's");
  }
  if (found->unshareable) {
    return call.Return(hipErrorInvalidValue);
  }
  Handle handle = {};
  std::memcpy(handle.mark, fake_hip::kMark, sizeof handle.mark);
  handle.exporter = getpid();
  handle.offset = fake_hip::SharedOffset(found->bytes);
  handle.size = found->size;
  fake_hip::Uuid(found->device, handle.uuid);
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &handle, sizeof handle);
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t in,
                                           unsigned int flags) {
  FAKE_CALL(hipIpcOpenMemHandle, std::to_string(flags))
  FAKE_UNSAFE(hipIpcOpenMemHandle)
  Handle handle;
  std::memcpy(&handle, &in, sizeof handle);
  if (flags != hipIpcMemLazyEnablePeerAccess) {
    return call.Reject(hipErrorInvalidValue, "flags");
  }
  if (std::memcmp(handle.mark, fake_hip::kMark, sizeof handle.mark) != 0 ||
      kill(handle.exporter, 0) != 0) {
    return call.Return(hipErrorInvalidDevicePointer);
  }
  if (handle.exporter == getpid()) {
    return call.Return(hipErrorInvalidContext);
  }
  if (!fake_hip::IsOfCurrentDevice(handle)) {
    return call.Reject(hipErrorInvalidDevicePointer, "memory of another device than the thread's");
  }
  *pointer = fake_hip::AddAllocation(kFakeDevice, fake_hip::TheThread().device, handle.size,
                                     fake_hip::SharedAt(handle.offset), true);
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipIpcCloseMemHandle(void* pointer) {
  FAKE_CALL(hipIpcCloseMemHandle, NameOf(pointer))
  FAKE_UNSAFE(hipIpcCloseMemHandle)
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(pointer, &base);
  if (found == nullptr || !found->mapped || base != reinterpret_cast<uintptr_t>(pointer)) {
    return call.Reject(hipErrorInvalidHandle, "nothing that was opened");
  }
  if (found->device != fake_hip::TheThread().device) {
    return call.Reject(hipErrorInvalidHandle, "memory of another device than the thread's");
  }
  fake_hip::RemoveAllocation(base);
  return call.Return(hipSuccess);
}

}  // extern "C"

#endif
