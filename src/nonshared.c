/*
 * SPDX-License-Identifier: Apache-2.0
 * Defines functions that older versions of glibc have only in libc_nonshared.a. The objects there
 * have no landing pads, and a single such object makes the linker drop IBT, SHSTK and BTI from the
 * whole file. The version script hides these names.
 */
#include <stddef.h>
#include <sys/stat.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 33)

/* The layout of `struct stat` to ask for. Each machine has one layout. */
#ifdef __x86_64__
#define STAT_LAYOUT 1
#else
#define STAT_LAYOUT 0
#endif

int __fxstat(int layout, int file, struct stat* found);
int fstat(int file, struct stat* found) { return __fxstat(STAT_LAYOUT, file, found); }

extern void* __dso_handle __attribute__((visibility("hidden")));
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                      void* module);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, __dso_handle);
}

#endif
