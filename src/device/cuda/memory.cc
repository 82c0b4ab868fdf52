// SPDX-License-Identifier: Apache-2.0
// Finds where CUDA's memory lies.
#include "device/cuda/internal.h"

namespace dlbridge::cuda {
namespace {

// No attribute requires a current context, none creates one, and asking is allowed during captures.
// Not const, because the driver's prototype lacks it.
uint32_t g_attributes[] = {kPointerMemoryType, kPointerDeviceOrdinal, kPointerIsManaged,
                           kPointerContext,    kPointerRangeStart,    kPointerRangeSize,
                           kPointerMapped};

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

// Memory of pools is one range, as the driver reports it. Older drivers have no pools.
bool IsOfPool(Address address) {
  void* pool = nullptr;
  return g_cuda.driver.pointer_get_attribute(static_cast<void*>(&pool), kPointerPool, address) ==
             kSuccess &&
         pool != nullptr;
}

// cuMemMap puts memory into a reservation, piece by piece. The range is then that of the piece. It
// is the whole reservation if the driver does not know the piece, or if the device has no context
// for the query: a query must not create one.
DLBRIDGE_COLD DLBridgeStatus PlacePiece(Address address, DLBridgePointerInfo* out,
                                        DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(ExistingContextOf(out->native_device, &context, error));
  if (context == nullptr) {
    return DLBRIDGE_OK;
  }
  Address base = 0;
  size_t size = 0;
  Result result = kSuccess;
  DLBRIDGE_TRY(InContext(context, error, [&] {
    return WhileCapturing(error, [&] {
      result = g_cuda.driver.mem_get_address_range(&base, &size, address);
      const bool unknown = result == kNotFound || result == kInvalidValue;
      return unknown ? DLBRIDGE_OK : Check(result, "cuMemGetAddressRange", error);
    });
  }));
  if (result == kSuccess && address - base < size) {
    out->base = base;
    out->size = size;
    out->properties |= kPointerPiece;
  }
  return DLBRIDGE_OK;
}

// Reserved memory without a mapping. The driver may report no device for it.
DLBRIDGE_COLD void PlaceUnmapped(DLDevice label, DLBridgePointerInfo* out) {
  out->memory = DLBRIDGE_MEMORY_DEVICE;
  out->properties |= kPointerUnmapped;
  out->device = out->native_device >= 0 ? Label(kDLCUDA, out->native_device) : label;
}

// The values that cuPointerGetAttributes reports beside the fields of DLBridgePointerInfo.
struct Kind {
  uint32_t type;
  uint32_t managed;
  uint32_t mapped;
};

DLBridgeStatus PlaceDevice(const Kind& kind, Address address, DLBridgePointerInfo* out,
                           DLBridgeError* error) {
  out->memory = kind.managed != 0 ? DLBRIDGE_MEMORY_MANAGED : DLBRIDGE_MEMORY_DEVICE;
  out->device = kind.managed != 0 ? Label(kDLCUDAManaged, 0) : Label(kDLCUDA, out->native_device);
  const bool whole = out->context != 0 || kind.managed != 0 || out->size == 0 ||
                     out->native_device < 0 || out->native_device >= g_cuda.device_count;
  return DLBRIDGE_LIKELY(whole) || IsOfPool(address) ? DLBRIDGE_OK
                                                     : PlacePiece(address, out, error);
}

}  // namespace

DLBridgeStatus AskFacts(Address address, PointerFacts* out, DLBridgeError* error) {
  *out = {0, 0, -1, nullptr, 0, 0, 1};
  void* values[] = {&out->type, &out->ordinal, &out->managed, static_cast<void*>(&out->context),
                    &out->base, &out->size,    &out->mapped};
  return Query(address, values, error);
}

bool IsIpcCapable(Address address) {
  uint32_t capable = 0;
  return g_cuda.driver.pointer_get_attribute(&capable, kPointerIsIpcCapable, address) == kSuccess &&
         capable != 0;
}

// The driver writes directly into `*out`: reading back what it has just written costs more than the
// rest of the call.
DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error) {
  Kind kind = {0, 0, 1};
  void* values[] = {&kind.type, &out->native_device, &kind.managed, &out->context,
                    &out->base, &out->size,          &kind.mapped};
  DLBRIDGE_TRY(Query(buffer.handle, values, error));
  const bool unmapped = DLBRIDGE_UNLIKELY(kind.mapped == 0) && out->size != 0 &&
                        out->context == 0 && kind.managed == 0 && kind.type != kMemoryHost;
  if (kind.type != kMemoryHost && kind.type != kMemoryDevice && !unmapped) {
    return DLBRIDGE_OK;
  }
  out->backend = DLBRIDGE_BACKEND_CUDA;
  out->native_device = out->native_device >= 0 ? out->native_device : -1;
  if (unmapped) {
    PlaceUnmapped(label, out);
    return DLBRIDGE_OK;
  }
  return kind.type == kMemoryHost && kind.managed == 0
             ? PlacePinned(buffer.handle, out, error)
             : PlaceDevice(kind, buffer.handle, out, error);
}

}  // namespace dlbridge::cuda
