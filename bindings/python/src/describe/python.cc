// SPDX-License-Identifier: Apache-2.0
// Capsules, the library's file and its function table.
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dladdr
#endif
#include <dlfcn.h>
#endif

#include "describe.h"

namespace dlbridge::python {
namespace {

// The capsule keeps its tensor; the address is valid while the capsule lives.
std::pair<nb::object, Address> Capsule(nb::handle object) {
  if (!PyCapsule_CheckExact(object.ptr())) {
    throw nb::type_error("not a capsule");
  }
  const char* name = PyCapsule_GetName(object.ptr());
  void* pointer = PyCapsule_GetPointer(object.ptr(), name);
  if (pointer == nullptr) {
    throw nb::python_error();
  }
  if (name == nullptr) {
    return {nb::none(), AddressOf(pointer)};
  }
  const nb::bytes bytes(name);
  return {bytes.attr("decode")("utf-8", "backslashreplace"), AddressOf(pointer)};
}

// The file of the library that this extension calls.
#ifdef _WIN32
nb::object LibraryFile() {
  HMODULE module = nullptr;
  wchar_t name[32768];
  const DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  const auto* address = reinterpret_cast<LPCWSTR>(dlbridge_version_string());
  DWORD size = 0;
  if (GetModuleHandleExW(flags, address, &module) != 0) {
    size = GetModuleFileNameW(module, name, sizeof name / sizeof *name);
  }
  return size == 0 ? nb::none() : nb::steal(PyUnicode_FromWideChar(name, size));
}
#else
nb::object LibraryFile() {
  Dl_info info;
  if (dladdr(dlbridge_version_string(), &info) == 0 || info.dli_fname == nullptr) {
    return nb::none();
  }
  return nb::module_::import_("os").attr("fsdecode")(nb::bytes(info.dli_fname));
}
#endif

void ModulePin(Address address) {
  CallReleased([&](DLBridgeError* error) { return dlbridge_module_pin(At<void>(address), error); });
}

}  // namespace

void BindPython(nb::module_* module) {
  module->def("capsule", Capsule, nb::arg("capsule").none(),
              "(name, address) of a capsule, which is left as it is.");
  module->def("library_file", LibraryFile, "The file that the library was loaded from.");
  module->def("module_pin", ModulePin, nb::arg("address"),
              "Keeps the module that holds an address loaded until the process ends.");
  module->def(
      "get_api", [](uint32_t abi) { return AddressOf(dlbridge_get_api(abi, sizeof(DLBridgeApi))); },
      nb::arg("abi") = DLBRIDGE_ABI, "Address of the library's DLBridgeApi; 0 if its ABI differs.");
  module->attr("ABI") = DLBRIDGE_ABI;
}

}  // namespace dlbridge::python
