// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of the calling thread and can make the n-th one fail.
//
// It defines malloc and its relatives for the whole program, so that it sees the library's calls
// whether the library is shared or static. Include it in one file of a program only. Sanitizers
// bring their own malloc: there the counts come from their hooks, and no allocation can be made to
// fail. Under valgrind, and on Windows, where each module has its own malloc, no allocation is
// counted. Tests ask Allocations::Counts() and CanFail() and skip.
#ifndef DLBRIDGE_TESTS_SUPPORT_ALLOCATIONS_H_
#define DLBRIDGE_TESTS_SUPPORT_ALLOCATIONS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "support/aligned.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLBRIDGE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define DLBRIDGE_TEST_SANITIZED 1
#endif
#endif

namespace dlbridge_test {

// The tally of one thread while a scope is open.
struct Tally {
  bool open;
  int64_t allocated;  // calls that returned memory
  int64_t freed;      // calls that freed memory
  int64_t fail_at;    // number of the allocation that fails, from 1; 0: none
  int64_t asked;      // calls, including failed ones
};
inline thread_local Tally tally = {};

inline bool ShouldFail() { return tally.open && ++tally.asked == tally.fail_at; }
inline void NoteAllocated(const void* memory) {
  if (tally.open && memory != nullptr) {
    ++tally.allocated;
  }
}
inline void NoteFreed(const void* memory) {
  if (tally.open && memory != nullptr) {
    ++tally.freed;
  }
}

// Counts this thread's allocations and frees while it lives. Scopes must not be nested.
class Allocations {
 public:
  explicit Allocations(int64_t fail_at = 0) { tally = {true, 0, 0, fail_at, 0}; }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  ~Allocations() { tally.open = false; }

  int64_t made() const { return tally.allocated; }
  int64_t asked() const { return tally.asked; }
  int64_t live() const { return tally.allocated - tally.freed; }
  bool failed() const { return tally.fail_at != 0 && tally.asked >= tally.fail_at; }

  // Whether allocations are counted here, and whether they can be made to fail.
  static bool Counts();
  static bool CanFail();
};

// A call that the compiler cannot remove.
inline void* Probe() {
  void* (*volatile allocate)(size_t) = std::malloc;
  return allocate(24);
}

// Aligned memory too: the hooks of ThreadSanitizer report its release but not its allocation.
inline void* AlignedProbe() {
  void* (*volatile allocate)(size_t, size_t) = AllocateAligned;
  return allocate(64, 24);
}

inline bool Allocations::Counts() {
  int64_t made = 0;
  {
    const Allocations scope;
    std::free(Probe());
    FreeAligned(AlignedProbe());
    made = scope.made();
  }
  return made == 2;
}

inline bool Allocations::CanFail() {
  void* memory = nullptr;
  {
    const Allocations scope(1);
    memory = Probe();
  }
  std::free(memory);
  return memory == nullptr;
}

}  // namespace dlbridge_test

#ifdef DLBRIDGE_TEST_SANITIZED

extern "C" {
void __sanitizer_malloc_hook(const volatile void* memory, size_t size);
void __sanitizer_free_hook(const volatile void* memory);
}

void __sanitizer_malloc_hook(const volatile void* memory, size_t /*size*/) {
  dlbridge_test::NoteAllocated(const_cast<const void*>(memory));
}
void __sanitizer_free_hook(const volatile void* memory) {
  dlbridge_test::NoteFreed(const_cast<const void*>(memory));
}

#elif !defined(_WIN32)

// Only one file of a program includes this header: see the top.
// NOLINTBEGIN(misc-definitions-in-headers)
extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) noexcept {
  void* memory = dlbridge_test::ShouldFail() ? nullptr : __libc_malloc(size);
  dlbridge_test::NoteAllocated(memory);
  return memory;
}

void* calloc(size_t count, size_t size) noexcept {
  void* memory = dlbridge_test::ShouldFail() ? nullptr : __libc_calloc(count, size);
  dlbridge_test::NoteAllocated(memory);
  return memory;
}

void* realloc(void* memory, size_t size) noexcept {
  if (dlbridge_test::ShouldFail()) {
    return nullptr;
  }
  dlbridge_test::NoteFreed(memory);
  void* moved = __libc_realloc(memory, size);
  dlbridge_test::NoteAllocated(moved);
  return moved;
}

void* memalign(size_t alignment, size_t size) noexcept {
  void* memory = dlbridge_test::ShouldFail() ? nullptr : __libc_memalign(alignment, size);
  dlbridge_test::NoteAllocated(memory);
  return memory;
}

void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }

int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  void* memory = memalign(alignment, size);
  if (memory == nullptr) {
    return ENOMEM;
  }
  *out = memory;
  return 0;
}

void free(void* memory) noexcept {
  dlbridge_test::NoteFreed(memory);
  __libc_free(memory);
}

}  // extern "C"

// NOLINTEND(misc-definitions-in-headers)

#endif

#endif  // DLBRIDGE_TESTS_SUPPORT_ALLOCATIONS_H_
