// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are found at run time and never closed.
#ifndef DLBRIDGE_SRC_SUPPORT_LIBRARY_H_
#define DLBRIDGE_SRC_SUPPORT_LIBRARY_H_

#include <cstddef>
#include <cstdint>

#include "support/text.h"

namespace dlbridge {

struct LibraryNames {
  const char* variable;  // of the environment: a file that is taken instead of all others
  const char*
      loaded_prefix;  // a file that is loaded already and whose name begins so goes first; NULL
  const char* const* names;  // tried in this order: first whether one is loaded, then for loading
  uint32_t count;
};

// A handle, or NULL. `file` receives where it was found, `reason` each name that was tried with
// what the loader said.
void* OpenLibrary(const LibraryNames& names, TextWriter* file, TextWriter* reason);

// NULL where the library has no such symbol.
void* FindSymbol(void* library, const char* name);

// Sets a function pointer; false, and NULL, where the library has no such symbol.
template <class Function>
bool BindSymbol(void* library, const char* name, Function** out) {
  *out = reinterpret_cast<Function*>(FindSymbol(library, name));
  return *out != nullptr;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_LIBRARY_H_
