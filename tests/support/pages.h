// SPDX-License-Identifier: Apache-2.0
// Whole pages of memory and their access rights.
#ifndef DLBRIDGE_TESTS_SUPPORT_PAGES_H_
#define DLBRIDGE_TESTS_SUPPORT_PAGES_H_

#include <cstddef>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace dlbridge_test {

#ifdef _WIN32

enum class Access : DWORD { kNone = PAGE_NOACCESS, kRead = PAGE_READONLY, kWrite = PAGE_READWRITE };

inline size_t PageSize() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

inline void* MapPages(size_t size, Access access) {
  return VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, static_cast<DWORD>(access));
}

inline bool ProtectPages(void* pages, size_t size, Access access) {
  DWORD before = 0;
  return size == 0 || VirtualProtect(pages, size, static_cast<DWORD>(access), &before) != 0;
}

inline void UnmapPages(void* pages, size_t /*size*/) { VirtualFree(pages, 0, MEM_RELEASE); }

#else

enum class Access : int { kNone = PROT_NONE, kRead = PROT_READ, kWrite = PROT_READ | PROT_WRITE };

inline size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Returns nullptr on failure.
inline void* MapPages(size_t size, Access access) {
  void* pages = mmap(nullptr, size, static_cast<int>(access), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

// A size of 0 is not passed on: the kernel accepts it, qemu-user rejects it.
inline bool ProtectPages(void* pages, size_t size, Access access) {
  return size == 0 || mprotect(pages, size, static_cast<int>(access)) == 0;
}

inline void UnmapPages(void* pages, size_t size) { munmap(pages, size); }

#endif

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_PAGES_H_
