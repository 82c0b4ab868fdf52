// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are found at run time and never closed.
#ifndef DLBRIDGE_SRC_SUPPORT_LIBRARY_H_
#define DLBRIDGE_SRC_SUPPORT_LIBRARY_H_

#include <cstddef>
#include <cstdint>

#include "support/text.h"

namespace dlbridge {

struct LibraryNames {
  // Environment variable that names a file to use instead of all others.
  const char* variable;
  // An already loaded file whose name has this prefix is used first; NULL: none.
  const char* loaded_prefix;
  // First each name is looked up among the loaded libraries, then each is loaded, in this order.
  const char* const* names;
  uint32_t count;
};

// A handle, or NULL. `file` receives the path of the library, `reason` each name that was tried
// with the error of the loader.
void* OpenLibrary(const LibraryNames& names, TextWriter* file, TextWriter* reason);

// NULL if the library has no such symbol.
void* FindSymbol(void* library, const char* name);

// Sets a function pointer; returns false and sets NULL if the library has no such symbol.
template <class Function>
bool BindSymbol(void* library, const char* name, Function** out) {
  *out = reinterpret_cast<Function*>(FindSymbol(library, name));
  return *out != nullptr;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_LIBRARY_H_
