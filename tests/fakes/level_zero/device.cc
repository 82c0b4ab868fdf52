// SPDX-License-Identifier: Apache-2.0
// zeInit, drivers, devices and contexts of the fake driver.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "functions.h"
#include "world.h"

// Two copies of the fake under one loader are two drivers, each with its own devices.
#ifndef FAKE_ZE_INSTANCE
#define FAKE_ZE_INSTANCE 0
#endif

namespace fake_ze {
namespace {

Device* AddDevice(Driver* driver, size_t index) {
  Device* device = TheWorld().Make<Device>(nullptr);
  device->driver = driver;
  device->root = device;
  device->index = index;
  device->uuid[0] = 0xd1;
  device->uuid[1] = FAKE_ZE_INSTANCE;
  device->uuid[2] = static_cast<uint8_t>(TheWorld().drivers.size());
  device->uuid[3] = static_cast<uint8_t>(index);
  return device;
}

void AddParts(Device* device) {
  const uint32_t count = Setting("FAKE_ZE_SUBDEVICES", 2);
  for (uint32_t i = 0; i < count; ++i) {
    Device* part = AddDevice(device->driver, 0);
    std::memcpy(part->uuid, device->uuid, sizeof part->uuid);
    part->root = device;
    part->subdevice = i;
    device->parts.push_back(part);
  }
}

void AddDriver() {
  Driver* driver = TheWorld().Make<Driver>(nullptr);
  const uint32_t count = Setting("FAKE_ZE_DEVICES", 2);
  for (uint32_t i = 0; i < count; ++i) {
    driver->devices.push_back(AddDevice(driver, i));
    AddParts(driver->devices.back());
  }
  TheWorld().drivers.push_back(driver);
}

// Of root devices only FAKE_ZE_PEERS.
bool CanAccess(const Device& device, const Device& peer) {
  if (device.root == peer.root) {
    return &device == &peer || (device.root != &device && peer.root != &peer);
  }
  const char* value = std::getenv("FAKE_ZE_PEERS");
  const std::string peers = "," + std::string(value != nullptr ? value : "") + ",";
  const std::string pair =
      "," + std::to_string(device.root->index) + ">" + std::to_string(peer.root->index) + ",";
  return peers.find(pair) != std::string::npos;
}

void Initialise() {
  World& world = TheWorld();
  const char* table = std::getenv("FAKE_ZE_TABLE");
  world.any_context_knows = table != nullptr && std::strcmp(table, "driver") == 0;
  const char* ipc = std::getenv("FAKE_ZE_IPC");
  world.ipc = ipc != nullptr ? ipc : "fd";
  const uint32_t count = Setting("FAKE_ZE_DRIVERS", 2);
  for (uint32_t i = 0; i < count; ++i) {
    AddDriver();
  }
  world.initialised = true;
}

// The convention of all queries of lists: a count of 0 asks for the number of handles.
template <class T, class Handle>
void Give(Call* call, const std::vector<T*>& all, uint32_t* count, Handle* out) {
  call->Pointer(count, "pCount");
  if (count == nullptr) {
    return;
  }
  if (*count == 0) {
    *count = static_cast<uint32_t>(all.size());
    return;
  }
  call->Pointer(out, "the array of handles");
  *count = std::min(*count, static_cast<uint32_t>(all.size()));
  for (uint32_t i = 0; i < *count && out != nullptr; ++i) {
    out[i] = ToHandle<Handle>(all[i]);
  }
}

}  // namespace
}  // namespace fake_ze

using fake_ze::Call;
using fake_ze::Context;
using fake_ze::Device;
using fake_ze::Driver;
using fake_ze::Kind;
using fake_ze::TheWorld;

ze_result_t zeInit(ze_init_flags_t flags) {
  FAKE_CALL(zeInit);
  call.Require(flags == 0 || flags == ZE_INIT_FLAG_GPU_ONLY, "flags has an unknown bit",
               ZE_RESULT_ERROR_INVALID_ENUMERATION);
  FAKE_OR_RETURN;
  const uint32_t result = fake_ze::Setting("FAKE_ZE_INIT", 0);
  if (result == 0 && !TheWorld().initialised) {
    fake_ze::Initialise();
  }
  return static_cast<ze_result_t>(result);
}

ze_result_t zeDriverGet(uint32_t* pCount, ze_driver_handle_t* phDrivers) {
  FAKE_CALL(zeDriverGet);
  fake_ze::Give(&call, TheWorld().drivers, pCount, phDrivers);
  return call.result();
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t hDriver, ze_api_version_t* version) {
  FAKE_CALL(zeDriverGetApiVersion);
  call.Get<Driver>(hDriver, "hDriver");
  call.Pointer(version, "version");
  FAKE_OR_RETURN;
  *version = ZE_API_VERSION_1_4;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t hDriver,
                                  ze_driver_properties_t* pDriverProperties) {
  FAKE_CALL(zeDriverGetProperties);
  call.Get<Driver>(hDriver, "hDriver");
  call.Typed(pDriverProperties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, "pDriverProperties");
  FAKE_OR_RETURN;
  pDriverProperties->driverVersion = 0x01030007;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGet(ze_driver_handle_t hDriver, uint32_t* pCount,
                        ze_device_handle_t* phDevices) {
  FAKE_CALL(zeDeviceGet);
  const auto* driver = call.Get<Driver>(hDriver, "hDriver");
  FAKE_OR_RETURN;
  fake_ze::Give(&call, driver->devices, pCount, phDevices);
  return call.result();
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t hDevice, uint32_t* pCount,
                                  ze_device_handle_t* phSubdevices) {
  FAKE_CALL(zeDeviceGetSubDevices);
  const auto* device = call.Get<Device>(hDevice, "hDevice");
  FAKE_OR_RETURN;
  fake_ze::Give(&call, device->parts, pCount, phSubdevices);
  return call.result();
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t hDevice,
                                  ze_device_properties_t* pDeviceProperties) {
  FAKE_CALL(zeDeviceGetProperties);
  const auto* device = call.Get<Device>(hDevice, "hDevice");
  call.Typed(pDeviceProperties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "pDeviceProperties");
  FAKE_OR_RETURN;
  pDeviceProperties->type = ZE_DEVICE_TYPE_GPU;
  pDeviceProperties->vendorId = 0x8086;
  pDeviceProperties->flags = device->root != device ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0;
  // The field is undefined for root devices: write garbage.
  pDeviceProperties->subdeviceId = device->root != device ? device->subdevice : 0xdead;
  std::memcpy(pDeviceProperties->uuid.id, device->uuid, sizeof device->uuid);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t hDevice, ze_device_handle_t hPeerDevice,
                                  ze_bool_t* value) {
  FAKE_CALL(zeDeviceCanAccessPeer);
  const auto* device = call.Get<Device>(hDevice, "hDevice");
  const auto* peer = call.Get<Device>(hPeerDevice, "hPeerDevice");
  call.Pointer(value, "value");
  FAKE_OR_RETURN;
  call.Require(device->driver == peer->driver, "hPeerDevice is of another driver");
  FAKE_OR_RETURN;
  *value = fake_ze::CanAccess(*device, *peer) ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreate(ze_driver_handle_t hDriver, const ze_context_desc_t* desc,
                            ze_context_handle_t* phContext) {
  FAKE_CALL(zeContextCreate);
  auto* driver = call.Get<Driver>(hDriver, "hDriver");
  call.Typed(desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC, "desc");
  call.Pointer(phContext, "phContext");
  FAKE_OR_RETURN;
  call.Require(desc->flags == 0, "desc->flags has an unknown bit",
               ZE_RESULT_ERROR_INVALID_ENUMERATION);
  FAKE_OR_RETURN;
  auto* context = TheWorld().Make<Context>(nullptr);
  context->driver = driver;
  *phContext = fake_ze::ToHandle<ze_context_handle_t>(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextDestroy(ze_context_handle_t hContext) {
  FAKE_CALL(zeContextDestroy);
  auto* context = call.Get<Context>(hContext, "hContext");
  FAKE_OR_RETURN;
  // The objects of a lost device cannot be destroyed before.
  for (const auto& [base, allocation] : TheWorld().memory) {
    call.Require(allocation.context != context || TheWorld().lost, "hContext still has memory",
                 ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  }
  for (const auto& object : TheWorld().objects) {
    const bool works = object->kind == Kind::kQueue || object->kind == Kind::kList;
    call.Require(object->context != context || !object->alive || !works || TheWorld().lost,
                 "hContext still has queues or lists", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  }
  FAKE_OR_RETURN;
  context->alive = false;
  // A driver may free the objects of a context with it.
  for (const auto& object : TheWorld().objects) {
    object->alive = object->alive && object->context != context;
  }
  return ZE_RESULT_SUCCESS;
}

ze_context_handle_t fake_ze_default_context(ze_driver_handle_t driver) {
  Call call("zeDriverGetDefaultContext");
  auto* found = call.Get<Driver>(driver, "hDriver");
  if (call.failed()) {
    return nullptr;
  }
  if (found->default_context == nullptr) {
    found->default_context = TheWorld().Make<Context>(nullptr);
    found->default_context->driver = found;
  }
  return fake_ze::ToHandle<ze_context_handle_t>(found->default_context);
}
