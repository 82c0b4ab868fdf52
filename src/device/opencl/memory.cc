// SPDX-License-Identifier: Apache-2.0
// Finds memory that OpenCL knows: cl_mem handles, and addresses if the driver has USM.
#include "describe/device.h"
#include "device/opencl/internal.h"
#include "native/table.h"

namespace dlbridge::opencl {
// ------------------------------------------------------------------------------------- USM

namespace {

// The memory that was found, and its context.
struct Usm {
  uint32_t type;
  const void* base;
  size_t size;
  Device device;
  uint64_t context;
  bool assumed;
  bool labelled;  // the entry of the label has exactly this device
};

// The order in which the table's contexts are asked.
enum class Round : uint8_t { kOfLabel, kRegistered, kEnumerated };

int32_t MemoryOf(uint32_t type) {
  switch (type) {
    case kTypeHost:
      return DLBRIDGE_MEMORY_USM_HOST;
    case kTypeDevice:
      return DLBRIDGE_MEMORY_USM_DEVICE;
    case kTypeShared:
      return DLBRIDGE_MEMORY_USM_SHARED;
    default:
      return 0;
  }
}

template <class T>
DLBridgeStatus Ask(GetMemAllocInfo* function, Context context, uint64_t address, uint32_t what,
                   T* out, DLBridgeError* error) {
  const size_t size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): handles are answers
  const int32_t code = function(context, ToHandle<const void*>(address), what, size, out, nullptr);
  return Check(code, "clGetMemAllocInfoINTEL", error);
}

// Leaves `out->type` 0 if the context does not know the address.
DLBridgeStatus AskContext(const PlatformRecord* platform, Context context, uint64_t address,
                          Usm* out, DLBridgeError* error) {
  if (platform == nullptr || platform->get_mem_alloc_info == nullptr) {
    return DLBRIDGE_OK;
  }
  GetMemAllocInfo* function = platform->get_mem_alloc_info;
  uint32_t type = kTypeUnknown;
  DLBRIDGE_TRY(Ask(function, context, address, kAllocType, &type, error));
  if (MemoryOf(type) == 0) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(Ask(function, context, address, kAllocBase, &out->base, error));
  DLBRIDGE_TRY(Ask(function, context, address, kAllocSize, &out->size, error));
  DLBRIDGE_TRY(Ask(function, context, address, kAllocDevice, &out->device, error));
  out->type = type;
  out->context = ToInteger(context);
  return DLBRIDGE_OK;
}

DLBridgeStatus AskNamedContext(uint64_t context, uint64_t address, Usm* out, DLBridgeError* error) {
  const PlatformRecord* platform = nullptr;
  DLBRIDGE_TRY(ContextPlatform(ToHandle<Context>(context), &platform, error));
  return AskContext(platform, ToHandle<Context>(context), address, out, error);
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

// The entry is retained during the call: another thread may unregister it.
DLBridgeStatus AskEntry(const DLBridgeContextEntry& entry, uint64_t address, Usm* out,
                        DLBridgeError* error) {
  if (SharedTable().retain(entry.id) != DLBRIDGE_OK) {
    return DLBRIDGE_OK;
  }
  const DLBridgeStatus status =
      entry.platform == 0 ? AskNamedContext(entry.context, address, out, error)
                          : AskContext(FindPlatform(ToHandle<Platform>(entry.platform)),
                                       ToHandle<Context>(entry.context), address, out, error);
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
      out->labelled = round == Round::kOfLabel && entry.native_device == ToInteger(out->device);
    }
  }
  out->assumed = round == Round::kEnumerated;
  return status;
}

DLBridgeStatus AskAll(const DLBridgeBuffer& buffer, DLDevice label, Usm* out,
                      DLBridgeError* error) {
  bool belongs = false;
  if (buffer.context != 0) {
    DLBRIDGE_TRY(IsContextOf(DLBRIDGE_BACKEND_OPENCL, buffer, label, &belongs, error));
  }
  if (belongs) {
    DLBRIDGE_TRY(AskNamedContext(buffer.context, buffer.handle, out, error));
  }
  DLBridgeStatus status = DLBRIDGE_OK;
  constexpr Round kRounds[] = {Round::kOfLabel, Round::kRegistered, Round::kEnumerated};
  for (uint32_t i = 0; i < 3 && status == DLBRIDGE_OK && out->type == 0; ++i) {
    status = AskTable(buffer.handle, label, kRounds[i], out, error);
  }
  return status;
}

// The label's id is kept unless an application registered it for another device: no driver knows
// how SYCL numbers devices. Host memory is on no device.
bool IsTrue(DLDevice label, const Usm& usm) {
  if (TypeOf(label) != kDLOneAPI) {
    return false;
  }
  if (usm.labelled || usm.device == nullptr || IsLabelled(label, usm.device)) {
    return true;
  }
  const NamedDevice named(label);
  return !named.registered() || IsSameDevice(named.device(), usm.device);
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
  out->base = ToInteger(usm.base);
  out->size = usm.size;
  out->context = usm.context;
  return DLBRIDGE_OK;
}

// ---------------------------------------------------------------------------------- cl_mem

namespace {

template <class T>
DLBridgeStatus AskMem(const DLBridgeBuffer& buffer, uint32_t what, T* out, DLBridgeError* error) {
  const size_t size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): handles are answers
  const int32_t code =
      g_opencl.call.clGetMemObjectInfo(ToHandle<Mem>(buffer.handle), what, size, out, nullptr);
  return Check(code, "clGetMemObjectInfo", error);
}

DLBridgeStatus CheckType(const DLBridgeBuffer& buffer, const char* argument, DLBridgeError* error) {
  uint32_t type = 0;
  DLBRIDGE_TRY(AskMem(buffer, kMemType, &type, error));
  return type == kMemObjectBuffer
             ? DLBRIDGE_OK
             : RejectArgument(
                   error, argument,
                   "is a cl_mem of another type: expected a buffer, not an image or pipe");
}

DLBridgeStatus AskSvm(const DLBridgeBuffer& buffer, DLBridgePointerInfo* out,
                      DLBridgeError* error) {
  uint32_t svm = 0;
  // Drivers before OpenCL 2.0 reject the query: they have no SVM.
  if (AskMem(buffer, kMemUsesSvmPointer, &svm, nullptr) != DLBRIDGE_OK || svm == 0) {
    return DLBRIDGE_OK;
  }
  void* host = nullptr;
  DLBRIDGE_TRY(AskMem(buffer, kMemHostPointer, &host, error));
  out->memory = DLBRIDGE_MEMORY_SVM;
  out->base = ToInteger(host);
  return DLBRIDGE_OK;
}

// OpenCL does not report which device of its context a cl_mem is on. Takes the label's device if
// the context has it, else the context's first. The id of another device is kept: libraries may
// number devices differently. An id that no device has, and one that an application registered for
// another device, are not kept.
DLBridgeStatus PlaceMem(Context context, DLDevice label, DLBridgePointerInfo* out,
                        DLBridgeError* error) {
  DeviceList list;
  DLBRIDGE_TRY(ContextDevices(context, &list, error));
  const NamedDevice named(label);
  const bool fits = HasDevice(list, named.device());
  Device first = list.count != 0 ? list.devices[0] : nullptr;
  FreeDevices(&list);
  Device device = fits ? named.device() : first;
  out->native_device = DeviceIndex(device);
  const bool lies = named.device() == nullptr || (named.registered() && !fits);
  const bool labelled = TypeOf(label) == kDLOpenCL;
  out->device = MakeDevice(
      kDLOpenCL, labelled && !lies ? label.device_id : IdOfDevice(kDLOpenCL, device, label));
  return DLBRIDGE_OK;
}

DLBridgeStatus MemInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error) {
  size_t size = 0;
  Context context = nullptr;
  DLBRIDGE_TRY(CheckType(buffer, "buffer.handle", error));
  DLBRIDGE_TRY(AskMem(buffer, kMemSize, &size, error));
  DLBRIDGE_TRY(AskMem(buffer, kMemContext, &context, error));
  out->backend = DLBRIDGE_BACKEND_OPENCL;
  out->memory = DLBRIDGE_MEMORY_CL_MEM;
  out->size = size;
  out->context = ToInteger(context);
  DLBRIDGE_TRY(AskSvm(buffer, out, error));
  return PlaceMem(context, label, out, error);
}

}  // namespace

DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error) {
  return buffer.kind == DLBRIDGE_BUFFER_CL_MEM ? MemInfo(buffer, label, out, error)
                                               : UsmInfo(buffer, label, out, error);
}

DLBridgeStatus ToParent(DLBridgeBuffer* buffer, uint64_t* offset, uint64_t* size,
                        DLBridgeError* error) {
  Mem parent = nullptr;
  size_t origin = 0;
  size_t bytes = SIZE_MAX;
  DLBRIDGE_TRY(AskMem(*buffer, kMemParent, &parent, error));
  if (parent != nullptr) {
    DLBRIDGE_TRY(AskMem(*buffer, kMemOffset, &origin, error));
    DLBRIDGE_TRY(AskMem(*buffer, kMemSize, &bytes, error));
    buffer->handle = ToInteger(parent);
  }
  *offset = origin;
  *size = bytes;
  return DLBRIDGE_OK;
}

DLBridgeStatus MemFlags(const DLBridgeBuffer& buffer, uint64_t* out, DLBridgeError* error) {
  return AskMem(buffer, kMemFlags, out, error);
}

namespace {

DLBridgeStatus CheckContext(const DLBridgeBuffer& buffer, const char* argument, Context context,
                            DLBridgeError* error) {
  if (buffer.context == 0 || buffer.context == ToInteger(context)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("is not the context of this cl_mem: expected ")
      .Hex(ToInteger(context))
      .String(", found ")
      .Hex(buffer.context);
  return RejectArgument(error, argument, problem);
}

}  // namespace

DLBridgeStatus MemContext(const DLBridgeBuffer& buffer, const MemNames& names, Context* out,
                          DLBridgeError* error) {
  *out = nullptr;
  DLBRIDGE_TRY(CheckType(buffer, names.handle, error));
  DLBRIDGE_TRY(AskMem(buffer, kMemContext, out, error));
  return CheckContext(buffer, names.context, *out, error);
}

namespace {

// Is the label that of a device, and did no application register it? Then PlaceMem keeps it.
bool IsOrdinaryLabel(DLDevice label) {
  const NamedDevice named(label);
  return named.device() != nullptr && !named.registered();
}

}  // namespace

DLBridgeStatus CheckLabel(Context context, DLDevice label, DLBridgeError* error) {
  if (IsOrdinaryLabel(label)) {
    return DLBRIDGE_OK;
  }
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  DLBRIDGE_TRY(PlaceMem(context, label, &info, error));
  if (info.device.device_id == label.device_id) {
    return DLBRIDGE_OK;
  }
  return Reject(error,
                {DLBRIDGE_RULE_DEVICE_LABEL, kNoAxis, MemoryFact(0, kDLOpenCL, label.device_id),
                 MemoryFact(DLBRIDGE_MEMORY_CL_MEM, kDLOpenCL, info.device.device_id)});
}

namespace {

DLBridgeStatus CheckAccess(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  uint64_t flags = 0;
  DLBRIDGE_TRY(MemFlags(buffer, &flags, error));
  return (flags & kMemReadOnly) == 0
             ? DLBRIDGE_OK
             : RejectArgument(error, "tensor_flags",
                              "must have READ_ONLY: the cl_mem was created with CL_MEM_READ_ONLY; "
                              "set DLPACK_FLAG_BITMASK_READ_ONLY, or create it with "
                              "CL_MEM_READ_WRITE");
}

// A buffer that uses memory of the host shares it with every other buffer made of that memory.
DLBridgeStatus UseHostMemory(uint64_t flags, HandleFacts* facts, DLBridgeError* error) {
  if ((flags & kMemUseHostPointer) != 0) {
    void* host = nullptr;
    DLBRIDGE_TRY(AskMem(facts->memory, kMemHostPointer, &host, error));
    facts->memory = dlbridge_buffer_address(host);
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckHandle(const DLBridgeBuffer& buffer, DLDevice label, bool writable,
                           DLBridgeError* error) {
  Context context = nullptr;
  DLBRIDGE_TRY(MemContext(buffer, {"buffer.handle", "buffer.context"}, &context, error));
  DLBRIDGE_TRY(CheckLabel(context, label, error));
  return writable ? CheckAccess(buffer, error) : DLBRIDGE_OK;
}

DLBridgeStatus DescribeHandle(const DLBridgeBuffer& buffer, HandleFacts* out,
                              DLBridgeError* error) {
  uint64_t flags = 0;
  DLBRIDGE_TRY(MemFlags(buffer, &flags, error));
  *out = {buffer, 0, (flags & kMemReadOnly) != 0};
  uint64_t size = 0;
  DLBRIDGE_TRY(ToParent(&out->memory, &out->offset, &size, error));
  return UseHostMemory(flags, out, error);
}

DLBridgeStatus RetainHandle(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  return Check(g_opencl.call.clRetainMemObject(ToHandle<Mem>(buffer.handle)), "clRetainMemObject",
               error);
}

void ReleaseHandle(const DLBridgeBuffer& buffer) {
  if (IsStarted(kOpenClBackend)) {
    g_opencl.call.clReleaseMemObject(ToHandle<Mem>(buffer.handle));
  }
}

}  // namespace dlbridge::opencl
