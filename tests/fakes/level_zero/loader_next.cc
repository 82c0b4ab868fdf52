// SPDX-License-Identifier: Apache-2.0
// A newer Level Zero loader. It links the real loader, and forwards the functions that only newer
// loaders export to the fake driver. Prototypes follow the newer headers.
//
// FAKE_ZE_LOADER_LACKS: comma-separated names of functions that fail as if the driver lacked them.
// FAKE_ZE_LOADER_BY_TYPE: zeInit fails, and zeInitDrivers returns the drivers.
#include <dlfcn.h>
#include <level_zero/ze_api.h>

#include <cstdlib>
#include <string>

#include "control.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// The struct that the newer zeInitDrivers takes.
struct InitDriverTypeDesc {
  uint32_t stype;
  const void* next;
  uint32_t flags;
};

template <class Function>
Function* InDriver(const char* name) {
  void* driver = dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_NOLOAD);
  void* symbol = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (symbol == nullptr) {
    std::abort();
  }
  return reinterpret_cast<Function*>(symbol);
}

template <class Function>
Function* InLoader(const char* name) {
  static void* loader = dlopen("libze_loader.so.1", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(loader, name));
}

bool Lacks(const char* function) {
  const char* value = std::getenv("FAKE_ZE_LOADER_LACKS");
  const std::string lacks = "," + std::string(value != nullptr ? value : "") + ",";
  return lacks.find("," + std::string(function) + ",") != std::string::npos;
}

bool IsByType() { return std::getenv("FAKE_ZE_LOADER_BY_TYPE") != nullptr; }

}  // namespace

#define CONTROL(name) InDriver<decltype(name)>(#name)

EXPORT ze_result_t zeInit(ze_init_flags_t flags) {
  return IsByType() ? ZE_RESULT_ERROR_UNINITIALIZED : InLoader<decltype(zeInit)>("zeInit")(flags);
}

EXPORT ze_result_t zeInitDrivers(uint32_t* count, ze_driver_handle_t* drivers,
                                 InitDriverTypeDesc* desc) {
  if (!IsByType()) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  if (desc == nullptr || desc->stype != 0x00020021 || desc->next != nullptr || desc->flags == 0) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  const ze_result_t result = InLoader<decltype(zeInit)>("zeInit")(0);
  return result != ZE_RESULT_SUCCESS
             ? result
             : InLoader<decltype(zeDriverGet)>("zeDriverGet")(count, drivers);
}

EXPORT ze_context_handle_t zeDriverGetDefaultContext(ze_driver_handle_t driver) {
  return Lacks("zeDriverGetDefaultContext") ? nullptr : CONTROL(fake_ze_default_context)(driver);
}

EXPORT ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout) {
  return Lacks("zeCommandListHostSynchronize") ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                                               : CONTROL(fake_ze_list_synchronize)(list, timeout);
}

EXPORT ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t queue, uint32_t* ordinal) {
  return Lacks("zeCommandQueueGetOrdinal") ? ZE_RESULT_ERROR_UNINITIALIZED
                                           : CONTROL(fake_ze_queue_ordinal)(queue, ordinal);
}

EXPORT ze_result_t zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle) {
  return CONTROL(fake_ze_put_ipc)(context, handle);
}
