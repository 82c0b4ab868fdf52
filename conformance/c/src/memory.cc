// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace dlbridge_conformance {
namespace {

constexpr size_t kRegions = 64;
Region regions[kRegions];

#if defined(_WIN32)

size_t PageSize() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

void* MapPages(size_t bytes) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS);
}

void UnmapPages(void* pages, size_t) { VirtualFree(pages, 0, MEM_RELEASE); }

void SetAccess(void* pages, size_t bytes, Access access) {
  DWORD before = 0;
  const DWORD mode = access == Access::kWrite  ? PAGE_READWRITE
                     : access == Access::kRead ? PAGE_READONLY
                                               : PAGE_NOACCESS;
  VirtualProtect(pages, bytes, mode, &before);
}

#else

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void* MapPages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void UnmapPages(void* pages, size_t bytes) { munmap(pages, bytes); }

void SetAccess(void* pages, size_t bytes, Access access) {
  const int mode = access == Access::kWrite  ? PROT_READ | PROT_WRITE
                   : access == Access::kRead ? PROT_READ
                                             : PROT_NONE;
  mprotect(pages, bytes, mode);
}

#endif

Region* FreeSlot() {
  for (Region& region : regions) {
    if (region.pages == nullptr) {
      return &region;
    }
  }
  return nullptr;
}

}  // namespace

Region* NewRegion(const char* name, size_t size, Side side) {
  Region* region = FreeSlot();
  const size_t page = PageSize();
  const size_t bytes = (size / page + 1) * page;
  unsigned char* mapped =
      region == nullptr ? nullptr : static_cast<unsigned char*>(MapPages(bytes + 2 * page));
  if (mapped == nullptr) {
    return nullptr;
  }
  region->name = name;
  region->pages = mapped + page;
  region->page_bytes = bytes;
  region->start = side == Side::kEnd ? region->pages + bytes - size : region->pages;
  region->size = size;
  Protect(region, Access::kWrite);
  return region;
}

void Protect(Region* region, Access access) {
  if (region != nullptr) {
    region->access = access;
    SetAccess(region->pages, region->page_bytes, access);
  }
}

void FreeRegion(Region* region) {
  if (region != nullptr && region->pages != nullptr) {
    const size_t page = PageSize();
    UnmapPages(region->pages - page, region->page_bytes + 2 * page);
    region->pages = nullptr;
  }
}

void FreeAllRegions() {
  for (Region& region : regions) {
    FreeRegion(&region);
  }
}

bool Explain(const void* address, Line* out, Access* access) {
  const auto* at = static_cast<const unsigned char*>(address);
  const size_t page = PageSize();
  for (const Region& region : regions) {
    if (region.pages == nullptr || at < region.pages - page ||
        at >= region.pages + region.page_bytes + page) {
      continue;
    }
    *access = region.access;
    const long long offset = at - region.start;
    if (at < region.pages || at >= region.pages + region.page_bytes) {
      *access = Access::kWrite;
      out->Add("an access outside of %s: byte %lld of %zu", region.name, offset, region.size);
    } else if (region.access == Access::kNone) {
      out->Add("an access to byte %lld of %s after its deleter has run", offset, region.name);
    } else {
      out->Add("a write to byte %lld of %s, which must not be written to", offset, region.name);
    }
    return true;
  }
  return false;
}

}  // namespace dlbridge_conformance
