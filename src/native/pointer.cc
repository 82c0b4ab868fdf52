// SPDX-License-Identifier: Apache-2.0
#include "native/pointer.h"

#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/backend.h"
#include "validate/device_facts.h"

namespace dlbridge {
namespace {

void ClearInfo(DLBridgePointerInfo* out) {
  std::memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->device = MakeDevice(kDLCPU, 0);
  out->native_device = -1;
}

// The answer for memory that no driver knows.
void HostMemory(DLBridgePointerInfo* out) {
  ClearInfo(out);
  out->backend = DLBRIDGE_BACKEND_CPU;
  out->memory = DLBRIDGE_MEMORY_HOST;
}

// Which backends answered.
struct Answers {
  bool any;
  const Backend* missing;  // the first that is not available, or NULL
  DLBridgeStatus why;      // what its start returned
};

// Asks each backend until one knows the memory. Leaves `out->memory` 0 if none does.
DLBRIDGE_INLINE DLBridgeStatus AskEach(const BackendList& list, const DLBridgeBuffer& buffer,
                                       DLDevice label, DLBridgePointerInfo* out, Answers* answers,
                                       DLBridgeError* error) {
  for (uint32_t i = 0; i < list.count && out->memory == 0; ++i) {
    const Backend& backend = *list.backends[i];
    const DLBridgeStatus started = StartBackend(backend, nullptr);
    if (DLBRIDGE_LIKELY(started == DLBRIDGE_OK)) {
      ClearInfo(out);
      const DLBridgeStatus status = backend.pointer_info(buffer, label, out, error);
      if (status != DLBRIDGE_OK) {
        return status;
      }
      answers->any = true;
    } else if (answers->missing == nullptr) {
      answers->missing = &backend;
      answers->why = started;
    }
  }
  return DLBRIDGE_OK;
}

// Reports a missing driver only if none of the list is available: for kDLOneAPI one of the two may
// be installed alone.
DLBridgeStatus AskList(const BackendList& list, const DLBridgeBuffer& buffer, DLDevice label,
                       DLBridgePointerInfo* out, DLBridgeError* error) {
  for (;;) {
    Answers answers = {false, nullptr, DLBRIDGE_OK};
    DLBRIDGE_TRY(AskEach(list, buffer, label, out, &answers, error));
    if (out->memory != 0) {
      return DLBRIDGE_OK;
    }
    // A backend started before fork() may own this pointer.
    if (answers.missing == nullptr || (answers.any && answers.why != DLBRIDGE_ERROR_FORKED)) {
      HostMemory(out);
      return DLBRIDGE_OK;
    }
    // If the driver has become available meanwhile, it is asked too.
    DLBRIDGE_TRY(StartBackend(*answers.missing, error));
  }
}

// Leaves `out->memory` 0 if the driver is not started.
DLBridgeStatus AskIfStarted(DLBridgeBackend id, const DLBridgeBuffer& buffer, DLDevice label,
                            DLBridgePointerInfo* out, DLBridgeError* error) {
  const Backend& backend = *FindBackend(id);
  ClearInfo(out);
  return IsStarted(backend) ? backend.pointer_info(buffer, label, out, error) : DLBRIDGE_OK;
}

// The caller does not name the owner of the memory: ask only drivers that are started.
DLBridgeStatus AskStarted(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                          DLBridgeError* error) {
  for (DLBridgeBackend id = DLBRIDGE_BACKEND_CPU + 1; id <= kLastBackend; ++id) {
    const DLBridgeStatus status = AskIfStarted(id, buffer, label, out, error);
    if (status != DLBRIDGE_OK || out->memory != 0) {
      return status;
    }
  }
  HostMemory(out);
  return DLBRIDGE_OK;
}

DLBridgeStatus RejectUnasked(DLDevice label, DLBridgeError* error) {
  return RejectDevice(
      error, DLBRIDGE_ERROR_UNSUPPORTED, "device",
      "must be of a type whose driver this build can call: CPU, CUDA, ROCm, oneAPI or OpenCL",
      label);
}

// Is there a driver that can be asked about the device's `data`?
DLBridgeStatus CheckAskable(DLDevice label, DLBridgeError* error) {
  return ImpliedBufferKind(TypeOf(label)) == DLBRIDGE_BUFFER_HANDLE ? RejectUnasked(label, error)
                                                                    : DLBRIDGE_OK;
}

DLBridgeStatus CheckBuffer(const DLBridgeBuffer& buffer, DLDevice label, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckReserved(buffer.reserved, "buffer", error));
  if (buffer.kind != DLBRIDGE_BUFFER_ADDRESS && buffer.kind != DLBRIDGE_BUFFER_CL_MEM) {
    return RejectEnum(error, "buffer.kind",
                      "must be ADDRESS (1) or CL_MEM (2): no driver describes other handles",
                      buffer.kind, kLastBuffer);
  }
  if (buffer.backend != DLBRIDGE_BACKEND_NONE && FindBackend(buffer.backend) == nullptr) {
    return RejectEnum(error, "buffer.backend", "must be NONE (0) or one of " DLBRIDGE_LIST_BACKEND,
                      buffer.backend, kLastBackend);
  }
  if (buffer.kind == DLBRIDGE_BUFFER_CL_MEM && buffer.handle == 0) {
    return RejectArgument(error, "buffer.handle", "must not be NULL for a CL_MEM");
  }
  const bool opencl = buffer.backend == DLBRIDGE_BACKEND_OPENCL ||
                      (buffer.backend == DLBRIDGE_BACKEND_NONE && TypeOf(label) == kDLOpenCL);
  if (buffer.kind == DLBRIDGE_BUFFER_CL_MEM && !opencl) {
    return RejectEnum(error, "buffer.backend",
                      "must be OPENCL (5) for a CL_MEM, or NONE with an OpenCL device",
                      buffer.backend, kLastBackend);
  }
  return DLBRIDGE_OK;
}

bool IsSameDevice(const DLDevice& a, const DLDevice& b) {
  return TypeOf(a) == TypeOf(b) && a.device_id == b.device_id;
}

// Does the label match the memory that was found? The device id of host-like memory is ignored.
bool IsTrueLabel(const DLDevice& label, const DLBridgePointerInfo& found) {
  const int32_t type = TypeOf(label);
  // Every CUDA device can access managed memory, and producers label it with their device.
  if (type == kDLCUDA && found.memory == DLBRIDGE_MEMORY_MANAGED) {
    return TypeOf(found.device) == kDLCUDAManaged;
  }
  if (type == kDLCPU) {
    // The CPU can also read pinned, managed, host and shared memory.
    return found.memory != DLBRIDGE_MEMORY_DEVICE && found.memory != DLBRIDGE_MEMORY_USM_DEVICE;
  }
  if (DeviceTypeOf(type).host_like) {
    return type == TypeOf(found.device);
  }
  return IsSameDevice(label, found.device);
}

// Adds the piece of virtual memory that follows `found`, if there is one.
bool AddNextPiece(DLBridgeBuffer buffer, const DLDevice& label, DLBridgePointerInfo* found) {
  DLBridgePointerInfo next;
  buffer.handle = found->base + found->size;
  const bool follows = (found->properties & kPointerPiece) != 0 &&
                       AskPointer(buffer, label, &next, nullptr) == DLBRIDGE_OK &&
                       (next.properties & kPointerPiece) != 0 && next.base == buffer.handle &&
                       IsSameDevice(next.device, found->device);
  found->size += follows ? next.size : 0;
  return follows;
}

}  // namespace

DLBridgeStatus AskPointer(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                          DLBridgeError* error) {
  ClearInfo(out);
  DLBRIDGE_TRY(CheckBuffer(buffer, label, error));
  if (buffer.backend > DLBRIDGE_BACKEND_CPU) {
    return AskList({{FindBackend(buffer.backend), nullptr}, 1}, buffer, label, out, error);
  }
  if (TypeOf(label) == kDLCPU || buffer.backend == DLBRIDGE_BACKEND_CPU) {
    return AskStarted(buffer, label, out, error);
  }
  const BackendList list = BackendsOf(TypeOf(label));
  if (list.count == 0) {
    return RejectUnasked(label, error);
  }
  return AskList(list, buffer, label, out, error);
}

namespace {

// Does the tensor permit writing, although kernels must not write to its memory?
DeviceVerdict JudgeAccess(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  HandleFacts facts = {buffer, 0, false};
  const DLBridgeStatus status = kOpenClBackend.describe_handle(buffer, &facts, error);
  return {status, facts.read_only, {DLBRIDGE_RULE_NOT_WRITABLE, kNoAxis, 0, kReadOnlyMem}};
}

}  // namespace

DeviceVerdict JudgeDevice(const TouchedMemory& memory, DLBridgeError* error) {
  const int32_t type = TypeOf(memory.device);
  DLBridgeBuffer buffer = dlbridge_buffer_address(memory.data);
  if (type == kDLOpenCL) {
    buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
  } else {
    // Use the first byte that is touched: `data` itself may point to another allocation.
    buffer.handle += memory.begin;
  }
  DLBridgePointerInfo found;
  const DLBridgeStatus status = AskPointer(buffer, memory.device, &found, error);
  const uint64_t label = MemoryFact(0, type, memory.device.device_id);
  if (status != DLBRIDGE_OK) {
    return {status, false, {DLBRIDGE_RULE_DEVICE_LABEL, kNoAxis, label, 0}};
  }
  if (!IsTrueLabel(memory.device, found)) {
    return {DLBRIDGE_OK,
            true,
            {DLBRIDGE_RULE_DEVICE_LABEL, kNoAxis, label,
             MemoryFact(found.memory, TypeOf(found.device), found.device.device_id)}};
  }
  if ((found.properties & kPointerUnmapped) != 0) {
    return {DLBRIDGE_OK,
            true,
            {DLBRIDGE_RULE_ALLOCATION_BOUNDS, kNoAxis, 0, memory.end - memory.begin - 1}};
  }
  const uint64_t base =
      type == kDLOpenCL ? 0 : found.base - reinterpret_cast<uintptr_t>(memory.data);
  while (found.size != 0 && memory.end - base > found.size) {
    if (!AddNextPiece(buffer, memory.device, &found)) {
      return {DLBRIDGE_OK,
              true,
              {DLBRIDGE_RULE_ALLOCATION_BOUNDS, kNoAxis, found.size, memory.end - base - 1}};
    }
  }
  if (type == kDLOpenCL && memory.may_write) {
    return JudgeAccess(buffer, error);
  }
  return {DLBRIDGE_OK, false, {}};
}

}  // namespace dlbridge

namespace dlbridge {
namespace {

// Checks the struct and reads its options. PEERS needs a struct that has the field.
DLBridgeStatus ReadPointerOptions(const DLBridgePointerInfo* out, uint32_t* options,
                                  DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOut(out, kKnownPointerInfoBits, "out", options, error));
  if ((*options & DLBRIDGE_POINTER_INFO_PEERS) != 0 && SizeOf(out) < sizeof *out) {
    return RejectSize(error, "out.struct_size", sizeof *out, SizeOf(out));
  }
  return DLBRIDGE_OK;
}

// The devices that can access the memory, if it is on a device and its driver can tell.
DLBridgeStatus AskPeers(DLBridgePointerInfo* info, DLBridgeError* error) {
  const Backend& backend = *FindBackend(info->backend);
  const bool on_device =
      info->memory == DLBRIDGE_MEMORY_DEVICE || info->memory == DLBRIDGE_MEMORY_USM_DEVICE;
  if (!on_device || info->native_device < 0 || backend.peers == nullptr) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(backend.peers(info->native_device, &info->peers, error));
  info->properties |= DLBRIDGE_POINTER_PEERS_KNOWN;
  return DLBRIDGE_OK;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_pointer_info(const DLBridgeBuffer* buffer, DLDevice device,
                                     DLBridgePointerInfo* out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(buffer);
  DLBRIDGE_REQUIRE(out);
  uint32_t options = 0;
  DLBRIDGE_TRY(dlbridge::ReadPointerOptions(out, &options, error));
  DLBridgePointerInfo info;
  const DLDevice label = dlbridge::DeviceOrCpu(device);
  DLBridgeBuffer asked = *buffer;
  if (asked.kind == DLBRIDGE_BUFFER_DEFAULT) {
    DLBRIDGE_TRY(dlbridge::CheckAskable(label, error));
    asked.kind = dlbridge::ImpliedBufferKind(dlbridge::TypeOf(label));
  }
  DLBRIDGE_TRY(dlbridge::AskPointer(asked, label, &info, error));
  if ((info.properties & dlbridge::kPointerUnmapped) != 0) {
    return dlbridge::RejectArgument(error, "buffer",
                                    "is virtual memory that is reserved but not mapped: map memory "
                                    "there first (cuMemMap)");
  }
  if ((options & DLBRIDGE_POINTER_INFO_PEERS) != 0) {
    DLBRIDGE_TRY(dlbridge::AskPeers(&info, error));
  }
  info.properties &= ~uint32_t{dlbridge::kPointerPiece};
  info.options = options;
  dlbridge::WriteOut(info, out);
  return DLBRIDGE_OK;
}

}  // extern "C"
