// SPDX-License-Identifier: Apache-2.0
// Aligned memory of the system's; on Windows it is given back by a call of its own.
#ifndef DLBRIDGE_SRC_SUPPORT_MEMORY_H_
#define DLBRIDGE_SRC_SUPPORT_MEMORY_H_

#include <cstddef>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace dlbridge {

// nullptr where there is none. `alignment` is a power of two.
inline void* AllocateAligned(size_t alignment, size_t bytes) {
#ifdef _WIN32
  return _aligned_malloc(bytes, alignment);
#else
  void* memory = nullptr;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return posix_memalign(&memory, least, bytes) == 0 ? memory : nullptr;
#endif
}

inline void FreeAligned(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_MEMORY_H_
