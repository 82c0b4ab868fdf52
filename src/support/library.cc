// SPDX-License-Identifier: Apache-2.0
#include "support/library.h"

#include <cstdlib>
#include <cstring>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#ifdef __linux__
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

void WriteFile(void* library, const char* name, TextWriter* file) {
  link_map* map = nullptr;
  const bool found = dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  file->String(found && map->l_name[0] != '\0' ? map->l_name : name);
}

#else

const char* Variable(const char* name) { return std::getenv(name); }

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

#ifdef __linux__

namespace {

int TakeCount(dl_phdr_info* info, size_t /*size*/, void* count) {
  *static_cast<uint64_t*>(count) = info->dlpi_adds;
  return 1;
}

struct Match {
  const char* prefix;
  uint32_t skip;  // how many matches come before it
  char path[4096];
};

int TakeMatch(dl_phdr_info* info, size_t /*size*/, void* argument) {
  auto* match = static_cast<Match*>(argument);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* base = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(base, match->prefix, std::strlen(match->prefix)) != 0) {
    return 0;
  }
  TextWriter path(match->path, sizeof match->path);
  return path.String(info->dlpi_name).fits() && match->skip-- == 0 ? 1 : 0;
}

// Finds the path of a loaded file whose name has the prefix, in the order of loading. It is opened
// after the walk: the loader forbids that meanwhile.
bool FindMatch(const char* prefix, uint32_t number, Match* out) {
  out->prefix = prefix;
  out->skip = number;
  return dl_iterate_phdr(TakeMatch, static_cast<void*>(out)) != 0;
}

}  // namespace

uint64_t LoadCount() {
  uint64_t count = 0;
  dl_iterate_phdr(TakeCount, static_cast<void*>(&count));
  return count;
}

#else

namespace {

struct Match {
  char path[1];
};
bool FindMatch(const char* /*prefix*/, uint32_t /*number*/, Match* /*out*/) { return false; }

}  // namespace

uint64_t LoadCount() { return 0; }

#endif  // __linux__

bool LibrarySearch::Begin(const LibraryNames& names) {
  const char* value = names.variable != nullptr ? Variable(names.variable) : nullptr;
  if (value == nullptr || value[0] == '\0') {
    return true;
  }
  // A copy: the environment may change before a later search.
  const size_t size = std::strlen(value) + 1;
  chosen_ = static_cast<char*>(std::malloc(size));
  if (chosen_ == nullptr) {
    return false;
  }
  std::memcpy(chosen_, value, size);
  return true;
}

bool LibrarySearch::FindLoaded(const LibraryNames& names, LibraryCopy* out) const {
  const bool has_room = IsTried(nullptr);
  if (!has_room) {
    return false;
  }
  if (chosen_ != nullptr) {
    return Take(Open(chosen_, true, nullptr), chosen_, out);
  }
  Match match;
  for (uint32_t i = 0; FindMatch(names.prefix, i, &match); ++i) {
    if (Take(Open(match.path, true, nullptr), match.path, out)) {
      return true;
    }
  }
  // The file may have another name if the name in it, its SONAME, is one of these.
  for (uint32_t i = 0; i < names.count; ++i) {
    if (Take(Open(names.names[i], true, nullptr), names.names[i], out)) {
      return true;
    }
  }
  return false;
}

bool LibrarySearch::Load(const LibraryNames& names, LibraryCopy* out, TextWriter* reason) const {
  if (chosen_ != nullptr) {
    return Take(Open(chosen_, false, reason), chosen_, out);
  }
  for (uint32_t i = 0; i < names.count; ++i) {
    if (Take(Open(names.names[i], false, reason), names.names[i], out)) {
      return true;
    }
  }
  return false;
}

bool LibrarySearch::Take(void* handle, const char* name, LibraryCopy* out) const {
  if (handle == nullptr || IsTried(handle)) {
    return false;
  }
  out->handle = handle;
  TextWriter file(out->file, sizeof out->file);
  WriteFile(handle, name, &file);
  return true;
}

void LibrarySearch::AddTried(void* handle) {
  for (std::atomic<void*>& tried : tried_) {
    if (tried.load(std::memory_order_relaxed) == nullptr) {
      tried.store(handle, std::memory_order_release);
      return;
    }
  }
}

bool LibrarySearch::IsTried(void* handle) const {
  for (const std::atomic<void*>& tried : tried_) {
    if (tried.load(std::memory_order_acquire) == handle) {
      return true;
    }
  }
  return false;
}

}  // namespace dlbridge
