// SPDX-License-Identifier: Apache-2.0
// Level Zero's devices, and the contexts under which the context table has them.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "describe/device.h"
#include "device/level_zero/internal.h"
#include "native/table.h"

namespace dlbridge::level_zero {

Devices g_devices;

namespace {

constexpr Result kOutOfHostMemory = 0x70000002;

// A driver, and the context under which its devices are entered into the table.
struct DriverRecord {
  Driver driver;
  std::atomic<Context> made;  // NULL until one had to be created
};

DriverRecord* g_drivers;
uint32_t g_driver_count;

// An array that a call of the driver fills. The driver is asked for the length first.
template <class Handle>
struct Handles {
  Handle* items = nullptr;
  uint32_t count = 0;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() { std::free(items); }

  template <class Ask>
  Result Fill(Ask ask) {
    const Result counted = ask(&count, static_cast<Handle*>(nullptr));
    if (counted != kSuccess || count == 0) {
      return counted;
    }
    items = static_cast<Handle*>(std::calloc(count, sizeof(void*)));
    return items != nullptr ? ask(&count, items) : kOutOfHostMemory;
  }
};

// The state of the search for devices.
struct Search {
  DeviceRecord* records = nullptr;
  uint32_t count = 0;
  uint32_t capacity = 0;
  int32_t roots = 0;
  const char* call = nullptr;  // the last call, for the message if it failed
};

DeviceRecord* Append(Search* search) {
  if (search->count == search->capacity) {
    const uint32_t capacity = search->capacity == 0 ? 16 : search->capacity * 2;
    void* grown = std::realloc(search->records, capacity * sizeof(DeviceRecord));
    if (grown == nullptr) {
      return nullptr;
    }
    search->records = static_cast<DeviceRecord*>(grown);
    search->capacity = capacity;
  }
  return &search->records[search->count++];
}

Result AddDevice(Driver driver, Device device, int32_t index, bool is_root, Search* search) {
  DevicePropertiesT properties = {};
  properties.stype = kDeviceProperties;
  search->call = "zeDeviceGetProperties";
  const Result result = g_ze.zeDeviceGetProperties(device, &properties);
  if (result != kSuccess) {
    return result;
  }
  DeviceRecord* record = Append(search);
  if (record == nullptr) {
    return kOutOfHostMemory;
  }
  *record = {device, driver, index, is_root, (properties.flags & kSubDevice) != 0, 0, {}};
  record->subdevice_id = record->is_sub_device ? properties.subdevice_id : 0;
  std::memcpy(record->uuid, properties.uuid, sizeof record->uuid);
  return kSuccess;
}

// Sub-devices may have sub-devices. Levels beyond those of any hardware are ignored.
constexpr int kMostLevels = 4;

Result AddTree(Driver driver, Device device, int32_t index, int level, Search* search) {
  Result result = AddDevice(driver, device, index, level == 0, search);
  if (result != kSuccess || level == kMostLevels) {
    return result;
  }
  Handles<Device> parts;
  search->call = "zeDeviceGetSubDevices";
  result = parts.Fill([device](uint32_t* count, Device* items) {
    return g_ze.zeDeviceGetSubDevices(device, count, items);
  });
  for (uint32_t i = 0; i < parts.count && result == kSuccess; ++i) {
    result = AddTree(driver, parts.items[i], index, level + 1, search);
  }
  return result;
}

Result AddDriver(Driver driver, Search* search) {
  Handles<Device> devices;
  search->call = "zeDeviceGet";
  Result result = devices.Fill(
      [driver](uint32_t* count, Device* items) { return g_ze.zeDeviceGet(driver, count, items); });
  for (uint32_t i = 0; i < devices.count && result == kSuccess; ++i) {
    result = AddTree(driver, devices.items[i], search->roots, 0, search);
    ++search->roots;
  }
  return result;
}

// Zeroed memory is a record without a context.
Result KeepDrivers(const Handles<Driver>& drivers) {
  g_drivers = static_cast<DriverRecord*>(std::calloc(drivers.count, sizeof(DriverRecord)));
  if (g_drivers == nullptr) {
    return kOutOfHostMemory;
  }
  for (uint32_t i = 0; i < drivers.count; ++i) {
    g_drivers[i].driver = drivers.items[i];
  }
  g_driver_count = drivers.count;
  return kSuccess;
}

struct DriverContext {
  Context context;
  uint32_t flags;
};

// Another copy of this library may have entered devices of the driver: then all use its context.
bool FindEntered(Driver driver, DriverContext* out) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  for (uint64_t cursor = 0; table.next(&cursor, &entry) == DLBRIDGE_OK;) {
    if (entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO && entry.platform == ToInteger(driver) &&
        (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0) {
      *out = {ToHandle<Context>(entry.context), entry.properties};
      return true;
    }
  }
  return false;
}

// One context per process, never destroyed: any user of the table may use it at any time.
DLBridgeStatus MakeContext(DriverRecord* record, DriverContext* out, DLBridgeError* error) {
  out->flags = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;
  out->context = record->made.load(std::memory_order_acquire);
  if (out->context != nullptr) {
    return DLBRIDGE_OK;
  }
  const ContextDescT desc = {kContextDesc, nullptr, 0};
  DLBRIDGE_ZE_TRY(zeContextCreate, record->driver, &desc, &out->context);
  Context first = nullptr;
  if (!record->made.compare_exchange_strong(first, out->context, std::memory_order_acq_rel)) {
    g_ze.zeContextDestroy(out->context);
    out->context = first;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus ContextOf(DriverRecord* record, DriverContext* out, DLBridgeError* error) {
  if (FindEntered(record->driver, out)) {
    return DLBRIDGE_OK;
  }
  if (g_ze.zeDriverGetDefaultContext != nullptr) {
    *out = {g_ze.zeDriverGetDefaultContext(record->driver), DLBRIDGE_CONTEXT_ENUMERATED};
    if (out->context != nullptr) {
      return DLBRIDGE_OK;
    }
  }
  return MakeContext(record, out, error);
}

DLBridgeStatus Enter(const DeviceRecord& device, const DriverContext& context,
                     DLBridgeError* error) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  entry.device = MakeDevice(kDLOneAPI, device.index);
  entry.platform = ToInteger(device.driver);
  entry.native_device = ToInteger(device.device);
  entry.context = ToInteger(context.context);
  entry.properties = context.flags;
  std::memcpy(entry.uuid, device.uuid, sizeof entry.uuid);
  bool mine = false;
  return EnterDevice(entry, &mine, error);
}

DLBridgeStatus EnterDriver(DriverRecord* driver, DLBridgeError* error) {
  DriverContext context = {nullptr, 0};
  DLBridgeStatus status = DLBRIDGE_OK;
  for (uint32_t i = 0; i < g_devices.count && status == DLBRIDGE_OK; ++i) {
    const DeviceRecord& device = g_devices.records[i];
    if (!device.is_root || device.driver != driver->driver) {
      continue;
    }
    status = context.context == nullptr ? ContextOf(driver, &context, error) : DLBRIDGE_OK;
    status = status == DLBRIDGE_OK ? Enter(device, context, error) : status;
  }
  return status;
}

constexpr int32_t kMostPeers = 64;

// Devices of two drivers do not access each other's memory: a driver does not know the other's
// handles.
DLBridgeStatus CanAccess(const DeviceRecord& device, const DeviceRecord& owner, bool* able,
                         DLBridgeError* error) {
  *able = &device == &owner;
  if (*able || device.driver != owner.driver) {
    return DLBRIDGE_OK;
  }
  uint8_t value = 0;
  const Result result = g_ze.zeDeviceCanAccessPeer(device.device, owner.device, &value);
  *able = result == kSuccess && value != 0;
  return result == kSuccess || IsLacking(result)
             ? DLBRIDGE_OK
             : RejectCall(error, "zeDeviceCanAccessPeer", result);
}

}  // namespace

Result FindDevices(GetDrivers* get_drivers, const char** call) {
  Handles<Driver> drivers;
  Search search;
  *call = "zeDriverGet";
  Result result = drivers.Fill(get_drivers);
  for (uint32_t i = 0; i < drivers.count && result == kSuccess; ++i) {
    result = AddDriver(drivers.items[i], &search);
    *call = search.call;
  }
  if (result == kSuccess && search.count != 0) {
    result = KeepDrivers(drivers);
  }
  if (result != kSuccess) {
    std::free(search.records);
    return result;
  }
  g_devices = {search.records, search.count, search.roots};
  return kSuccess;
}

const DeviceRecord* FindDevice(Device device) {
  for (uint32_t i = 0; i < g_devices.count; ++i) {
    if (g_devices.records[i].device == device) {
      return &g_devices.records[i];
    }
  }
  return nullptr;
}

const DeviceRecord* FindRoot(int32_t index) {
  for (uint32_t i = 0; i < g_devices.count; ++i) {
    if (g_devices.records[i].is_root && g_devices.records[i].index == index) {
      return &g_devices.records[i];
    }
  }
  return nullptr;
}

DLBridgeStatus NativeDevice(DLDevice label, uint64_t context, const char* argument, Device* out,
                            DLBridgeError* error) {
  const DLBridgeContextTable& table = SharedTable();
  DLBridgeContextEntry entry;
  if ((table.find(label, context, &entry) == DLBRIDGE_OK ||
       table.find(label, 0, &entry) == DLBRIDGE_OK) &&
      entry.backend == DLBRIDGE_BACKEND_LEVEL_ZERO) {
    *out = ToHandle<Device>(entry.native_device);
    return DLBRIDGE_OK;
  }
  const DeviceRecord* root = TypeOf(label) == kDLOneAPI ? FindRoot(label.device_id) : nullptr;
  if (root == nullptr) {
    return RejectArgument(error, argument,
                          "has a device that neither Level Zero nor the context table knows: "
                          "expected one that dlbridge_context_next reports, or a smaller id");
  }
  *out = root->device;
  return DLBRIDGE_OK;
}

DLBridgeStatus Peers(int32_t native_device, uint64_t* capable, DLBridgeError* error) {
  const DeviceRecord* owner = FindRoot(native_device);
  if (owner == nullptr) {
    return RejectArgument(error, "native_device", "is not a device of Level Zero");
  }
  *capable = 0;
  for (int32_t i = 0; i < g_devices.roots && i < kMostPeers; ++i) {
    bool able = false;
    DLBRIDGE_TRY(CanAccess(*FindRoot(i), *owner, &able, error));
    *capable |= uint64_t{able} << i;
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Enumerate(int32_t /*device_type*/, DLBridgeError* error) {
  for (uint32_t i = 0; i < g_driver_count; ++i) {
    DLBRIDGE_TRY(EnterDriver(&g_drivers[i], error));
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge::level_zero
