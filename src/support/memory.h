// SPDX-License-Identifier: Apache-2.0
// Aligned memory from the system. On Windows it needs its own function to free it. It includes
// nothing of src: the recorded tests include it.
#ifndef DLBRIDGE_SRC_SUPPORT_MEMORY_H_
#define DLBRIDGE_SRC_SUPPORT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif

namespace dlbridge {

#ifdef _WIN32

// nullptr if there is no memory. `alignment` is a power of two.
inline void* AllocateAligned(size_t alignment, size_t bytes) {
  return _aligned_malloc(bytes, alignment);
}

#else

// Large blocks use huge pages where the kernel has them. Small pages are mapped one by one at the
// first write, which takes longer than filling them.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLeastOnHugePages = 2 * kHugePage;

// Covers whole huge pages only. The kernel may ignore the advice.
inline void AdviseHugePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

// mimalloc 2.0.9 aligns some blocks of 1024 bytes to 128 bytes only, whatever was asked for. It
// aligns sizes that are no power of two correctly.
[[gnu::cold, gnu::noinline]] inline void* AllocateAlignedAgain(size_t alignment, size_t bytes,
                                                               void* misaligned) {
  void* memory = nullptr;
  const bool failed = posix_memalign(&memory, alignment, bytes + alignment + 1) != 0;
  std::free(misaligned);
  return failed ? nullptr : memory;
}

// nullptr if there is no memory. `alignment` is a power of two.
inline void* AllocateAligned(size_t alignment, size_t bytes) {
  // Some allocators abort where the sum overflows.
  if (alignment > PTRDIFF_MAX || bytes > PTRDIFF_MAX - alignment) {
    return nullptr;
  }
  const bool is_large = bytes >= kLeastOnHugePages;
  const size_t least = is_large ? kHugePage : sizeof(void*);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < least ? least : alignment, bytes) != 0) {
    return nullptr;
  }
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    return AllocateAlignedAgain(alignment, bytes, memory);
  }
  if (is_large) {
    AdviseHugePages(memory, bytes);
  }
  return memory;
}

#endif

inline void FreeAligned(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_MEMORY_H_
