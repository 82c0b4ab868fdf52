/*
 * SPDX-License-Identifier: Apache-2.0
 * Makes calls of one loaded module to the C library fail: memory, files, mappings, the loader.
 *
 * The hooks replace the entries of the module's global offset table, so that no other module's
 * calls are counted or fail, whatever calls them. They also work under AddressSanitizer and
 * valgrind. C, so that every binding's tests can use them. Linux with the GNU C library only.
 */
#ifndef DLBRIDGE_TESTS_FAULTS_HOOKS_H_
#define DLBRIDGE_TESTS_FAULTS_HOOKS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FAULTS_EXPORT __attribute__((visibility("default")))
#else
#define FAULTS_EXPORT
#endif

/* What the module has and has not given back, since faults_install. */
typedef struct FaultsLive {
  int64_t blocks;   /* memory of malloc and its relatives */
  int64_t mappings; /* of mmap */
} FaultsLive;

/*
 * Hooks the first loaded module whose path contains `part`; "" is the main program. Returns the
 * number of hooked functions; 0: no such module.
 */
FAULTS_EXPORT int faults_install(const char* part);

/*
 * From now on the nth call of the calling thread (1: the next) fails, and with `forever` all later
 * ones too. nth 0: none fails, calls are only counted.
 */
FAULTS_EXPORT void faults_arm(int64_t nth, int forever);
/* Ends that. Returns the number of calls that have failed. */
FAULTS_EXPORT int64_t faults_disarm(void);
/* The number of calls since faults_arm, and the name of the last one that failed, or "". */
FAULTS_EXPORT int64_t faults_seen(void);
FAULTS_EXPORT const char* faults_last(void);

FAULTS_EXPORT void faults_live(FaultsLive* out);

/*
 * Names of functions of other modules that a module imports and that no hook replaces, each
 * followed by a space, in `size` bytes. Returns the length that was needed.
 */
FAULTS_EXPORT size_t faults_unhooked(const char* part, char* out, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_TESTS_FAULTS_HOOKS_H_ */
