// SPDX-License-Identifier: Apache-2.0
#include "support/library.h"

#include <cstdlib>
#include <cstring>

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

// Moves past a prefix of `*text`.
bool Skip(const char** text, const char* prefix) {
  const size_t length = std::strlen(prefix);
  if (std::strncmp(*text, prefix, length) != 0) {
    return false;
  }
  *text += length;
  return true;
}

// Adds "cannot open NAME: WHY". glibc's messages already begin with the name.
void AppendReason(const char* name, const char* why, TextWriter* reason) {
  reason->String(reason->length() != 0 ? "; cannot open " : "cannot open ").String(name);
  if (why == nullptr) {
    return;
  }
  if (Skip(&why, name) && Skip(&why, ": ")) {
    Skip(&why, "cannot open shared object file: ");
  }
  reason->String(": ").String(why);
}

}  // namespace

#ifdef _WIN32

namespace {

void* Open(const char* name, bool loaded_only, TextWriter* reason) {
  HMODULE module = GetModuleHandleA(name);
  if (module == nullptr && !loaded_only) {
    module = LoadLibraryA(name);
  }
  if (module == nullptr && !loaded_only) {
    AppendReason(name, nullptr, reason);
  }
  return reinterpret_cast<void*>(module);
}

const char* Variable(const char* name) { return std::getenv(name); }

void* OpenPrefixed(const char* /*prefix*/) { return nullptr; }

void WriteFile(void* library, const char* /*name*/, TextWriter* file) {
  char path[260];
  if (GetModuleFileNameA(reinterpret_cast<HMODULE>(library), path, sizeof path) != 0) {
    path[sizeof path - 1] = '\0';
    file->String(path);
  }
}

}  // namespace

void* FindSymbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}

#else

namespace {

void* Open(const char* name, bool loaded_only, TextWriter* reason) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | (loaded_only ? RTLD_NOLOAD : 0));
  // dlerror() also clears the message, so the caller of dlbridge does not find it later.
  const char* why = handle == nullptr ? dlerror() : nullptr;
  if (handle == nullptr && !loaded_only) {
    AppendReason(name, why, reason);
  }
  return handle;
}

#ifdef __GLIBC__

// A privileged program must not take its drivers from the environment.
const char* Variable(const char* name) { return secure_getenv(name); }

struct Search {
  const char* prefix;
  char path[4096];
};

int Matches(dl_phdr_info* info, size_t /*size*/, void* search_argument) {
  auto* search = static_cast<Search*>(search_argument);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* base = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(base, search->prefix, std::strlen(search->prefix)) != 0) {
    return 0;
  }
  TextWriter path(search->path, sizeof search->path);
  return path.String(info->dlpi_name).fits() ? 1 : 0;
}

// Some packages bundle a driver under another name. If such a copy is loaded, it is used: a second
// copy of a driver does not know the memory of the first one.
void* OpenPrefixed(const char* prefix) {
  Search search = {prefix, {0}};
  if (prefix == nullptr || dl_iterate_phdr(Matches, &search) == 0) {
    return nullptr;
  }
  return Open(search.path, true, nullptr);
}

void WriteFile(void* library, const char* name, TextWriter* file) {
  link_map* map = nullptr;
  const bool found = dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  file->String(found && map->l_name[0] != '\0' ? map->l_name : name);
}

#else

const char* Variable(const char* name) { return std::getenv(name); }

void* OpenPrefixed(const char* /*prefix*/) { return nullptr; }

void WriteFile(void* /*library*/, const char* name, TextWriter* file) { file->String(name); }

#endif  // __GLIBC__

}  // namespace

void* FindSymbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    dlerror();
  }
  return symbol;
}

#endif  // _WIN32

namespace {

void* OpenAny(const LibraryNames& names, bool loaded_only, TextWriter* file, TextWriter* reason) {
  for (uint32_t i = 0; i < names.count; ++i) {
    void* library = Open(names.names[i], loaded_only, reason);
    if (library != nullptr) {
      WriteFile(library, names.names[i], file);
      return library;
    }
  }
  return nullptr;
}

}  // namespace

void* OpenLibrary(const LibraryNames& names, TextWriter* file, TextWriter* reason) {
  const char* chosen = Variable(names.variable);
  if (chosen != nullptr && chosen[0] != '\0') {
    const LibraryNames only = {nullptr, nullptr, &chosen, 1};
    return OpenAny(only, false, file, reason);
  }
  void* library = OpenPrefixed(names.loaded_prefix);
  if (library != nullptr) {
    WriteFile(library, names.loaded_prefix, file);
    return library;
  }
  library = OpenAny(names, true, file, reason);
  return library != nullptr ? library : OpenAny(names, false, file, reason);
}

}  // namespace dlbridge
