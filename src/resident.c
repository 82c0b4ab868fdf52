/*
 * SPDX-License-Identifier: Apache-2.0
 * Keeps the shared library loaded on systems whose linker has no -z nodelete: its deleters may be
 * called after the plugin that loaded it is unloaded. Runs once, when the library is loaded.
 */
#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
  (void)reserved;
  if (reason == DLL_PROCESS_ATTACH) {
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    HMODULE module = NULL;
    return GetModuleHandleExA(flags, (LPCSTR)self, &module);
  }
  return TRUE;
}

#else

#include <dlfcn.h>
#include <stddef.h>

__attribute__((constructor)) static void stay(void) {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0) {
    void* handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle != NULL) dlclose(handle);
  }
}

#endif
