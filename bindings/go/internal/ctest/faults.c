// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <stddef.h>

#ifdef __linux__
#include <dlfcn.h>

static void (*g_arm)(int64_t, int);
static int64_t (*g_disarm)(void);
static void (*g_live)(int64_t*);

int ctest_faults_load(const char* path) {
  int (*install)(const char*) = NULL;
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    return 0;
  }
  *(void**)&install = dlsym(library, "faults_install");
  *(void**)&g_arm = dlsym(library, "faults_arm");
  *(void**)&g_disarm = dlsym(library, "faults_disarm");
  *(void**)&g_live = dlsym(library, "faults_live");
  return install != NULL ? install("libdlbridge.so") : 0;
}

void ctest_faults_arm(int64_t nth, int forever) { g_arm(nth, forever); }
int64_t ctest_faults_disarm(void) { return g_disarm(); }
void ctest_faults_live(int64_t out[2]) { g_live(out); }
#else
// The hooks are for Linux only.
int ctest_faults_load(const char* path) {
  (void)path;
  return 0;
}
void ctest_faults_arm(int64_t nth, int forever) {
  (void)nth;
  (void)forever;
}
int64_t ctest_faults_disarm(void) { return 0; }
void ctest_faults_live(int64_t out[2]) { out[0] = out[1] = 0; }
#endif
