// SPDX-License-Identifier: Apache-2.0
// Finds where CUDA's memory lies.
#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

// No attribute requires a current context, and none creates one. Not const, because the driver's
// prototype lacks it.
uint32_t g_attributes[] = {kPointerMemoryType, kPointerDeviceOrdinal, kPointerIsManaged,
                           kPointerContext,    kPointerRangeStart,    kPointerRangeSize};

constexpr DLDevice Label(DLDeviceType type, int32_t id) { return {type, id}; }

// Places host memory that CUDA knows. Memory that a program registered may have a different address
// on the device, and the driver may report the range in either. The result has host addresses, as
// tensors do.
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

// The values are in the order of the attributes.
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

bool IsIpcCapable(Address address) {
  uint32_t capable = 0;
  return g_cuda.driver.pointer_get_attribute(&capable, kPointerIsIpcCapable, address) == kSuccess &&
         capable != 0;
}

// The driver writes directly into `*out`: reading back what it has just written costs more than the
// rest of the call.
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
