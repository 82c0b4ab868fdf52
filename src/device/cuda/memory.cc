// SPDX-License-Identifier: Apache-2.0
// Where CUDA's memory lies.
#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

// None of these needs a context to be current, and none makes one. The driver's prototype lacks a
// const.
uint32_t g_attributes[] = {kPointerMemoryType, kPointerDeviceOrdinal, kPointerIsManaged,
                           kPointerContext,    kPointerRangeStart,    kPointerRangeSize};

constexpr DLDevice Label(DLDeviceType type, int32_t id) { return {type, id}; }

// Memory of the host that CUDA knows. What a program registered may have another address on the
// device, and the range may be told in either: it is given in addresses of the host, where tensors
// are.
DLBRIDGE_NOINLINE DLBridgeStatus PlacePinned(Address address, DLBridgePointerInfo* out,
                                             DLBridgeError* error) {
  Address host = 0;
  DLBRIDGE_TRY(Check(
      g_cuda.driver.pointer_get_attribute(static_cast<void*>(&host), kPointerHostPointer, address),
      "cuPointerGetAttribute", error));
  out->device = Label(kDLCUDAHost, 0);
  out->memory = DLBRIDGE_MEMORY_PINNED;
  const bool known = address - out->base < out->size;
  out->base = known ? out->base + (host - address) : 0;
  out->size = known ? out->size : 0;
  return DLBRIDGE_OK;
}

// The values go in the order of the attributes.
DLBRIDGE_INLINE DLBridgeStatus Query(Address address, void** values, DLBridgeError* error) {
  return Check(g_cuda.driver.pointer_get_attributes(g_cuda.pointer_attributes, g_attributes, values,
                                                    address),
               "cuPointerGetAttributes", error);
}

}  // namespace

DLBridgeStatus AskFacts(Address address, PointerFacts* out, DLBridgeError* error) {
  *out = {0, 0, -1, nullptr, 0, 0};
  void* values[] = {&out->type, &out->ordinal, &out->managed, static_cast<void*>(&out->context),
                    &out->base, &out->size};
  return Query(address, values, error);
}

// The driver writes to where the answer is wanted: to copy from where it has just written costs
// more than all the rest.
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice /*label*/,
                           DLBridgePointerInfo* out, DLBridgeError* error) {
  uint32_t type = 0;
  uint32_t managed = 0;
  void* values[] = {&type, &out->native_device, &managed, &out->context, &out->base, &out->size};
  DLBRIDGE_TRY(Query(buffer.handle, values, error));
  if (type != kMemoryHost && type != kMemoryDevice) {
    return DLBRIDGE_OK;
  }
  out->backend = DLBRIDGE_BACKEND_CUDA;
  out->native_device = out->native_device >= 0 ? out->native_device : -1;
  if (type == kMemoryHost && managed == 0) {
    return PlacePinned(buffer.handle, out, error);
  }
  out->memory = managed != 0 ? DLBRIDGE_MEMORY_MANAGED : DLBRIDGE_MEMORY_DEVICE;
  out->device = managed != 0 ? Label(kDLCUDAManaged, 0) : Label(kDLCUDA, out->native_device);
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::cuda
