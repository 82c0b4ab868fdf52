// SPDX-License-Identifier: Apache-2.0
// Finds which context knows some memory. Level Zero answers for one context at a time, so the order
// of the questions matters.
#include "describe/device.h"
#include "device/level_zero/internal.h"
#include "native/table.h"

namespace dlbridge::level_zero {
namespace {

constexpr uint32_t kMostAsked = 16;

// Asks the most probable contexts first: a driver may know the memory of all its contexts in each
// of them.
struct Question {
  uint64_t address;
  DLDevice label;
  bool met_enumerated;
  uint32_t asked_count;
  uint64_t asked[kMostAsked];
};

bool IsRegistered(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) == 0;
}

bool IsOfDevice(const DLBridgeContextEntry& entry, const DLDevice& device) {
  return TypeOf(entry.device) == TypeOf(device) && entry.device.device_id == device.device_id;
}

// A context often belongs to several entries. Contexts that do not fit the list are asked again.
bool IsRepeated(Question* question, uint64_t context) {
  for (uint32_t i = 0; i < question->asked_count; ++i) {
    if (question->asked[i] == context) {
      return true;
    }
  }
  if (question->asked_count < kMostAsked) {
    question->asked[question->asked_count++] = context;
  }
  return false;
}

// Asks the context of an entry. If the entry has a release callback, it is retained during the
// call, or skipped if it is already gone.
DLBridgeStatus AskEntry(const DLBridgeContextEntry& entry, Question* question, Memory* out,
                        DLBridgeError* error) {
  if (IsRepeated(question, entry.context)) {
    return DLBRIDGE_OK;
  }
  const DLBridgeContextTable& table = SharedTable();
  if (entry.release != nullptr && table.retain(entry.id) != DLBRIDGE_OK) {
    return DLBRIDGE_OK;
  }
  const DLBridgeStatus status = AskContext(entry.context, question->address, out, error);
  if (entry.release != nullptr) {
    table.release(entry.id);
  }
  out->assumed = !IsRegistered(entry);
  out->key = entry.device;
  return status;
}

enum class Among : uint8_t { kRegisteredOfLabel, kRegistered, kEnumeratedOfLabel, kEnumerated };

bool IsAmong(const DLBridgeContextEntry& entry, Among among, const DLDevice& label) {
  const bool registered = among == Among::kRegisteredOfLabel || among == Among::kRegistered;
  const bool any = among == Among::kRegistered || among == Among::kEnumerated;
  return registered == IsRegistered(entry) && (any || IsOfDevice(entry, label));
}

DLBridgeStatus AskTable(Among among, Question* question, Memory* out, DLBridgeError* error) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  uint64_t cursor = 0;
  DLBridgeStatus status = DLBRIDGE_OK;
  while (status == DLBRIDGE_OK && out->type == kUnknown &&
         table.next(&cursor, &entry) == DLBRIDGE_OK) {
    if (entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO) {
      question->met_enumerated |= !IsRegistered(entry);
      status = IsAmong(entry, among, question->label) ? AskEntry(entry, question, out, error)
                                                      : DLBRIDGE_OK;
    }
  }
  return status;
}

DLBridgeStatus AskAll(Question* question, Memory* out, DLBridgeError* error) {
  DLBRIDGE_TRY(AskTable(Among::kRegisteredOfLabel, question, out, error));
  DLBRIDGE_TRY(AskTable(Among::kRegistered, question, out, error));
  if (out->type == kUnknown && !question->met_enumerated) {
    DLBRIDGE_TRY(Enumerate(kDLOneAPI, error));
  }
  DLBRIDGE_TRY(AskTable(Among::kEnumeratedOfLabel, question, out, error));
  return AskTable(Among::kEnumerated, question, out, error);
}

// Fast path: the default context of the label is nearly always the right one.
DLBridgeStatus AskLabelThenAll(uint64_t address, DLDevice label, Memory* out,
                               DLBridgeError* error) {
  Question question = {address, label, false, 0, {0}};
  DLBridgeContextEntry entry;
  if (SharedTable().find(label, 0, &entry) == DLBRIDGE_OK &&
      entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO && IsRegistered(entry)) {
    DLBRIDGE_TRY(AskEntry(entry, &question, out, error));
  }
  return out->type == kUnknown ? AskAll(&question, out, error) : DLBRIDGE_OK;
}

int32_t MemoryKind(uint32_t type) {
  switch (type) {
    case kHost:
      return DLBRIDGE_MEMORY_USM_HOST;
    case kDevice:
      return DLBRIDGE_MEMORY_USM_DEVICE;
    default:
      return DLBRIDGE_MEMORY_USM_SHARED;
  }
}

// Does an entry have the device of some memory, or the root device of its sub-device?
bool IsDeviceOf(const DLBridgeContextEntry& entry, const Memory& memory) {
  Device native = ToHandle<Device>(entry.native_device);
  if (entry.backend != DLBRIDGE_BACKEND_LEVEL_ZERO) {
    return false;
  }
  const DeviceRecord* root = memory.record != nullptr ? FindRoot(memory.record->index) : nullptr;
  return native == memory.device || (root != nullptr && native == root->device);
}

// The label of a device in the table: a registered entry's rather than an enumerated one's. The id
// is -1 if there is none.
DLDevice IdInTable(const Memory& memory) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  DLDevice found = MakeDevice(kDLOneAPI, -1);
  for (uint64_t cursor = 0; table.next(&cursor, &entry) == DLBRIDGE_OK;) {
    if (TypeOf(entry.device) != kDLOneAPI || !IsDeviceOf(entry, memory)) {
      continue;
    }
    found = entry.device;
    if (IsRegistered(entry)) {
      return found;
    }
  }
  if (found.device_id == -1 && memory.record != nullptr &&
      table.find(MakeDevice(kDLOneAPI, memory.record->index), 0, &entry) != DLBRIDGE_OK) {
    found.device_id = memory.record->index;  // the table has no other device with this id
  }
  return found;
}

}  // namespace

DLBridgeStatus AskContext(uint64_t context, uint64_t address, Memory* out, DLBridgeError* error) {
  if (address == 0) {
    return DLBRIDGE_OK;
  }
  AllocationPropertiesT properties = {};
  properties.stype = kAllocationProperties;
  // A driver may leave it unchanged.
  Device device = nullptr;
  DLBRIDGE_ZE_TRY(zeMemGetAllocProperties, ToHandle<Context>(context),
                  ToHandle<const void*>(address), &properties, &device);
  if (properties.type == kUnknown) {
    return DLBRIDGE_OK;
  }
  out->context = context;
  out->type = properties.type;
  out->device = properties.type == kHost ? nullptr : device;
  out->record = out->device != nullptr ? FindDevice(out->device) : nullptr;
  return DLBRIDGE_OK;
}

DLBridgeStatus FindMemory(const DLBridgeBuffer& buffer, DLDevice label, Memory* out,
                          DLBridgeError* error) {
  *out = {0, kUnknown, false, nullptr, nullptr, MakeDevice(kDLOneAPI, -1)};
  if (buffer.context == 0) {
    return AskLabelThenAll(buffer.handle, label, out, error);
  }
  bool belongs = false;
  DLBRIDGE_TRY(IsContextOf(DLBRIDGE_BACKEND_LEVEL_ZERO, buffer, label, &belongs, error));
  return belongs ? AskContext(buffer.context, buffer.handle, out, error) : DLBRIDGE_OK;
}

DLDevice LabelOf(const Memory& memory, DLDevice label) {
  const bool labelled = TypeOf(label) == kDLOneAPI;
  if (memory.device == nullptr) {
    return labelled ? label
                    : MakeDevice(kDLOneAPI, memory.key.device_id < 0 ? 0 : memory.key.device_id);
  }
  DLBridgeContextEntry entry;
  const bool contradicted = labelled && SharedTable().find(label, 0, &entry) == DLBRIDGE_OK &&
                            IsRegistered(entry) && !IsDeviceOf(entry, memory);
  return labelled && !contradicted ? label : IdInTable(memory);
}

DLBridgeStatus PointerInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                           DLBridgeError* error) {
  Memory memory;
  DLBRIDGE_TRY(FindMemory(buffer, label, &memory, error));
  if (memory.type == kUnknown) {
    return DLBRIDGE_OK;
  }
  void* base = nullptr;
  size_t size = 0;
  DLBRIDGE_ZE_TRY(zeMemGetAddressRange, ToHandle<Context>(memory.context),
                  ToHandle<const void*>(buffer.handle), &base, &size);
  out->backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  out->device = LabelOf(memory, label);
  out->memory = MemoryKind(memory.type);
  out->native_device = memory.record != nullptr ? memory.record->index : -1;
  out->properties = memory.assumed ? DLBRIDGE_POINTER_CONTEXT_ASSUMED : 0;
  out->base = ToInteger(base);
  out->size = size;
  out->context = memory.context;
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::level_zero
