// SPDX-License-Identifier: Apache-2.0
// Memory between guard pages: an access outside of it, after its end, or a write to read-only
// memory ends the process, and the fault handler knows which.
#ifndef DLBRIDGE_CONFORMANCE_MEMORY_H_
#define DLBRIDGE_CONFORMANCE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "text.h"

namespace dlbridge_conformance {

enum class Access { kWrite, kRead, kNone };

// Where the bytes lie in their pages: an access behind the last byte faults, or one before the
// first.
enum class Side { kEnd, kBegin };

struct Region {
  const char* name;  // such as "the data"
  unsigned char* pages;
  size_t page_bytes;  // without the guard pages
  unsigned char* start;
  size_t size;
  Access access;
};

// Returns zeroed memory for writing, or NULL. At most 64 regions live at once.
Region* NewRegion(const char* name, size_t size, Side side);
void Protect(Region* region, Access access);
void FreeRegion(Region* region);
void FreeAllRegions();

// Describes an access to `address` by the region that it belongs to. False if it belongs to none.
// `*access` receives what was allowed there.
bool Explain(const void* address, Line* out, Access* access);

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_MEMORY_H_
