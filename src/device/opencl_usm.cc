// SPDX-License-Identifier: Apache-2.0
// Addresses: unified shared memory, which a driver knows by the context that it was allocated in.
#include "describe/boundary.h"
#include "describe/device.h"
#include "device/opencl_driver.h"
#include "native/table.h"

namespace dlbridge {
namespace {

// What was found, and in which context.
struct Usm {
  uint32_t type;
  const void* base;
  size_t size;
  ClDevice device;
  uint64_t context;
  bool assumed;
  bool labelled;  // the entry of the label has this very device
};

// Asks the table's contexts in this order.
enum class Round : uint8_t { kOfLabel, kRegistered, kEnumerated };

int32_t MemoryOf(uint32_t type) {
  switch (type) {
    case kClTypeHost:
      return DLBRIDGE_MEMORY_USM_HOST;
    case kClTypeDevice:
      return DLBRIDGE_MEMORY_USM_DEVICE;
    case kClTypeShared:
      return DLBRIDGE_MEMORY_USM_SHARED;
    default:
      return 0;
  }
}

template <class T>
DLBridgeStatus Ask(ClGetMemAllocInfo* function, ClContext context, uint64_t address, uint32_t what,
                   T* out, DLBridgeError* error) {
  const size_t size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): handles are answers
  const int32_t code = function(context, ClHandle<const void*>(address), what, size, out, nullptr);
  return CheckCl(code, "clGetMemAllocInfoINTEL", error);
}

// Leaves `out->type` 0 where the context does not know the address.
DLBridgeStatus AskContext(const ClPlatformRecord* platform, ClContext context, uint64_t address,
                          Usm* out, DLBridgeError* error) {
  if (platform == nullptr || platform->get_mem_alloc_info == nullptr) {
    return DLBRIDGE_OK;
  }
  ClGetMemAllocInfo* function = platform->get_mem_alloc_info;
  uint32_t type = kClTypeUnknown;
  DLBRIDGE_TRY(Ask(function, context, address, kClAllocType, &type, error));
  if (MemoryOf(type) == 0) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(Ask(function, context, address, kClAllocBase, &out->base, error));
  DLBRIDGE_TRY(Ask(function, context, address, kClAllocSize, &out->size, error));
  DLBRIDGE_TRY(Ask(function, context, address, kClAllocDevice, &out->device, error));
  out->type = type;
  out->context = ClNumber(context);
  return DLBRIDGE_OK;
}

DLBridgeStatus AskNamedContext(uint64_t context, uint64_t address, Usm* out, DLBridgeError* error) {
  const ClPlatformRecord* platform = nullptr;
  DLBRIDGE_TRY(ContextPlatform(ClHandle<ClContext>(context), &platform, error));
  return AskContext(platform, ClHandle<ClContext>(context), address, out, error);
}

bool IsInRound(const DLBridgeContextEntry& entry, DLDevice label, Round round) {
  const bool enumerated = (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
  if (entry.backend != DLBRIDGE_BACKEND_OPENCL || entry.context == 0) {
    return false;
  }
  if (round == Round::kEnumerated || enumerated) {
    return round == Round::kEnumerated && enumerated;
  }
  const bool of_label =
      TypeOf(entry.device) == TypeOf(label) && entry.device.device_id == label.device_id;
  return of_label == (round == Round::kOfLabel);
}

// The entry is kept meanwhile: another thread may unregister it.
DLBridgeStatus AskEntry(const DLBridgeContextEntry& entry, uint64_t address, Usm* out,
                        DLBridgeError* error) {
  if (SharedTable().retain(entry.id) != DLBRIDGE_OK) {
    return DLBRIDGE_OK;
  }
  const DLBridgeStatus status =
      entry.platform == 0 ? AskNamedContext(entry.context, address, out, error)
                          : AskContext(FindPlatform(ClHandle<ClPlatform>(entry.platform)),
                                       ClHandle<ClContext>(entry.context), address, out, error);
  SharedTable().release(entry.id);
  return status;
}

DLBridgeStatus AskTable(uint64_t address, DLDevice label, Round round, Usm* out,
                        DLBridgeError* error) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  DLBridgeStatus status = DLBRIDGE_OK;
  uint64_t cursor = 0;
  while (status == DLBRIDGE_OK && out->type == 0 &&
         SharedTable().next(&cursor, &entry) == DLBRIDGE_OK) {
    if (IsInRound(entry, label, round)) {
      status = AskEntry(entry, address, out, error);
      out->labelled = round == Round::kOfLabel && entry.native_device == ClNumber(out->device);
    }
  }
  out->assumed = round == Round::kEnumerated;
  return status;
}

DLBridgeStatus AskAll(const DLBridgeBuffer& buffer, DLDevice label, Usm* out,
                      DLBridgeError* error) {
  bool ours = false;
  if (buffer.context != 0) {
    DLBRIDGE_TRY(IsContextOf(DLBRIDGE_BACKEND_OPENCL, buffer, label, &ours, error));
  }
  if (ours) {
    DLBRIDGE_TRY(AskNamedContext(buffer.context, buffer.handle, out, error));
  }
  DLBridgeStatus status = DLBRIDGE_OK;
  constexpr Round kRounds[] = {Round::kOfLabel, Round::kRegistered, Round::kEnumerated};
  for (uint32_t i = 0; i < 3 && status == DLBRIDGE_OK && out->type == 0; ++i) {
    status = AskTable(buffer.handle, label, kRounds[i], out, error);
  }
  return status;
}

// The label's id stands unless an application has registered it for another device: SYCL numbers
// devices in a way that no driver knows. Host memory is on no device.
bool IsTrue(DLDevice label, const Usm& usm) {
  if (TypeOf(label) != kDLOneAPI) {
    return false;
  }
  if (usm.labelled || usm.device == nullptr || IsLabelled(label, usm.device)) {
    return true;
  }
  const NamedDevice named(label);
  return !named.registered() || IsSameClDevice(named.device(), usm.device);
}

int32_t IdOf(const Usm& usm, DLDevice label) {
  if (IsTrue(label, usm)) {
    return label.device_id;
  }
  return usm.device == nullptr ? 0 : IdOfDevice(kDLOneAPI, usm.device, label);
}

}  // namespace

DLBridgeStatus UsmInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error) {
  Usm usm = {0, nullptr, 0, nullptr, 0, false, false};
  if (buffer.handle != 0) {
    DLBRIDGE_TRY(AskAll(buffer, label, &usm, error));
  }
  if (usm.type == 0) {
    return DLBRIDGE_OK;
  }
  out->backend = DLBRIDGE_BACKEND_OPENCL;
  out->memory = MemoryOf(usm.type);
  out->device = MakeDevice(kDLOneAPI, IdOf(usm, label));
  out->native_device = DeviceIndex(usm.device);
  out->properties = usm.assumed ? DLBRIDGE_POINTER_CONTEXT_ASSUMED : 0;
  out->base = ClNumber(usm.base);
  out->size = usm.size;
  out->context = usm.context;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
