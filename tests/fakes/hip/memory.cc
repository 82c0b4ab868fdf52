// SPDX-License-Identifier: Apache-2.0
// Memory of the fake. Memory types are numbered as in the version that the fake plays.
#include <sys/mman.h>

#include <cstring>

#include "state.h"

namespace fake_hip {
namespace {

int TypeOf(const Allocation& allocation) {
  const bool old = Major() < 6;
  switch (allocation.kind) {
    case kFakeDevice:
      return old ? 1 : 2;
    case kFakeManaged:
      return TheState().version >= 50700001 ? (old ? 4 : 3) : 0;
    case kFakeArray:
      return old ? 2 : 10;
    default:
      return old ? 0 : 1;
  }
}

}  // namespace

Allocation* FindAllocation(const void* pointer, uintptr_t* base) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto& memory = TheState().memory;
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) {
    return nullptr;
  }
  --found;
  if (address - found->first >= found->second.size) {
    return nullptr;
  }
  *base = found->first;
  return &found->second;
}

// Device memory gets an address that the host cannot access.
void* AddAllocation(FakeHipMemory kind, int device, size_t size, char* bytes, bool mapped) {
  void* address = bytes;
  if (kind == kFakeDevice || kind == kFakeArray) {
    address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  TheState().memory[reinterpret_cast<uintptr_t>(address)] = {kind,  device, size,
                                                             bytes, false,  mapped};
  return address;
}

void RemoveAllocation(uintptr_t base) {
  auto& memory = TheState().memory;
  const auto found = memory.find(base);
  if (found != memory.end()) {
    if (found->second.kind == kFakeDevice || found->second.kind == kFakeArray) {
      munmap(reinterpret_cast<void*>(base), found->second.size);
    }
    if (!found->second.mapped) {
      FreeBytes(found->second.bytes, found->second.size);
    }
    memory.erase(found);
  }
}

}  // namespace fake_hip

using fake_hip::Allocation;
using fake_hip::FindAllocation;
using fake_hip::NameOf;

extern "C" {

FAKE_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes,
                                               const void* pointer) {
  FAKE_CALL(hipPointerGetAttributes, NameOf(pointer))
  uintptr_t base = 0;
  const Allocation* found = FindAllocation(pointer, &base);
  if (pointer == nullptr || (found == nullptr && fake_hip::Major() < 6)) {
    return call.Return(hipErrorInvalidValue);
  }
  std::memset(attributes, 0, sizeof *attributes);
  const int type = found == nullptr ? 0 : fake_hip::TypeOf(*found);
  // The header's enumeration lacks values of newer runtimes.
  std::memcpy(attributes, &type, sizeof type);
  attributes->device = found == nullptr ? -2 : found->device;
  if (found != nullptr) {
    attributes->isManaged = found->kind == kFakeManaged ? 1 : 0;
    attributes->devicePointer = const_cast<void*>(pointer);
  }
  return call.Return(hipSuccess);
}

FAKE_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size,
                                             hipDeviceptr_t pointer) {
  FAKE_CALL(hipMemGetAddressRange, NameOf(pointer))
  uintptr_t start = 0;
  const Allocation* found = FindAllocation(pointer, &start);
  if (found == nullptr) {
    return call.Return(fake_hip::Major() < 6 ? hipErrorInvalidDevicePointer : hipErrorNotFound);
  }
  *base = found->hidden_range ? nullptr : reinterpret_cast<void*>(start);
  *size = found->size;
  return call.Return(hipSuccess);
}

}  // extern "C"
