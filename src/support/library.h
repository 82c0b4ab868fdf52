// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are found at run time and never closed. A process may have several copies
// of one: a framework's package brings its own beside the system's.
#ifndef DLBRIDGE_SRC_SUPPORT_LIBRARY_H_
#define DLBRIDGE_SRC_SUPPORT_LIBRARY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/text.h"

namespace dlbridge {

struct LibraryNames {
  // Environment variable that names a file to use instead of all others.
  const char* variable;
  // Every loaded file whose name has this prefix is a copy.
  const char* prefix;
  // By these names a copy is found among the loaded libraries, then loaded, in this order.
  const char* const* names;
  uint32_t count;
};

struct LibraryCopy {
  void* handle;
  char file[256];  // its path
};

// Changes whenever a library is loaded into the process. 0 if the system does not count that.
uint64_t LoadCount();

// Finds the copies of one library. Begin is called first and by one thread. Any thread may call the
// const functions at any time after it.
class LibrarySearch {
 public:
  // Reads the variable. Returns false if there is no memory.
  bool Begin(const LibraryNames& names);

  // Finds the copy that was loaded first, of those that are loaded and were not tried.
  bool FindLoaded(const LibraryNames& names, LibraryCopy* out) const;

  // Loads the first copy that can be loaded and was not tried. `reason` receives each name for
  // which there is none, with the error of the loader.
  bool Load(const LibraryNames& names, LibraryCopy* out, TextWriter* reason) const;

  // The copies that were tried are not found again. One thread at a time may add to them. If there
  // are as many as there is room for, no further copy is found.
  void AddTried(void* handle);
  bool IsTried(void* handle) const;

  // Can there be a copy that was not found before? Only if a library was loaded since then. `loads`
  // is the LoadCount from before the search that found no more.
  bool MayHaveMore(uint64_t loads) const {
    return loads == 0 || loads != searched_.load(std::memory_order_acquire);
  }
  void FoundNoMore(uint64_t loads) { searched_.store(loads, std::memory_order_release); }

 private:
  static constexpr uint32_t kRoom = 8;

  bool Take(void* handle, const char* name, LibraryCopy* out) const;

  char* chosen_ = nullptr;  // the value of the variable
  std::atomic<void*> tried_[kRoom] = {};
  std::atomic<uint64_t> searched_{0};
};

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
