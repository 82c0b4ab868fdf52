// SPDX-License-Identifier: Apache-2.0
#include "protocol/module.h"

#include "describe/boundary.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#ifdef __GLIBC__
#include <link.h>
#endif
#endif

namespace dlbridge {
namespace {

DLBridgeStatus RejectUnknownAddress(DLBridgeError* error) {
  return RejectStatus(
      error, DLBRIDGE_ERROR_NOT_FOUND, "address",
      "is in no loaded module: pass the address of a function or of static data of the module");
}

}  // namespace

#ifdef _WIN32

DLBridgeStatus PinModule(const void* address, DLBridgeError* error) {
  HMODULE module = nullptr;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
  // With FROM_ADDRESS the "name" is any address inside the module.
  const bool found = GetModuleHandleExA(flags, static_cast<LPCSTR>(address), &module) != 0;
  return found ? DLBRIDGE_OK : RejectUnknownAddress(error);
}

#else
namespace {

DLBridgeStatus RejectModule(DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the module of address",
                      "cannot be kept loaded: the loader does not find it again by its name in "
                      "this library's own linker namespace");
}

// Marks a loaded module as never to be unloaded. dlclose only drops the reference of this dlopen.
void* OpenForGood(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle == nullptr) {
    dlerror();  // clears the message: the caller gets a status instead
  } else {
    dlclose(handle);
  }
  return handle;
}

}  // namespace

#ifdef __GLIBC__

// The link_map identifies a module. A name alone is not sufficient: in another linker namespace it
// can mean another module.
DLBridgeStatus PinModule(const void* address, DLBridgeError* error) {
  Dl_info info;
  void* module = nullptr;
  if (dladdr1(address, &info, &module, RTLD_DL_LINKMAP) == 0) {
    return RejectUnknownAddress(error);
  }
  const char* name = static_cast<const link_map*>(module)->l_name;
  const bool main_program = name[0] == '\0';
  // In glibc a handle of dlopen is the link_map.
  return main_program || OpenForGood(name) == module ? DLBRIDGE_OK : RejectModule(error);
}

#else

DLBridgeStatus PinModule(const void* address, DLBridgeError* error) {
  Dl_info info;
  if (dladdr(address, &info) == 0) {
    return RejectUnknownAddress(error);
  }
  return OpenForGood(info.dli_fname) != nullptr ? DLBRIDGE_OK : RejectModule(error);
}

#endif  // __GLIBC__
#endif  // _WIN32

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_module_pin(const void* address, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(address);
  return dlbridge::PinModule(address, error);
}

}  // extern "C"
