// SPDX-License-Identifier: Apache-2.0
// Loads a plugin in Go and hands it shares of one tensor from several threads: host.c PLUGIN
#include <dlbridge/dlbridge.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4 };

static int deletes;
static double (*plugin_sum)(void*);
static void* (*plugin_lend)(void);

static void delete_legacy(DLManagedTensor* self) {
  (void)self;
  __atomic_add_fetch(&deletes, 1, __ATOMIC_ACQ_REL);
}

static void* work(void* share) {
  static char failed;
  void* lent = plugin_lend();
  if (plugin_sum(share) != 15.0 || lent == NULL) return &failed;
  dlbridge_release_versioned((DLManagedTensorVersioned*)lent);
  return NULL;
}

static int fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  void* plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return fail(dlerror());
  *(void**)&plugin_sum = dlsym(plugin, "PluginSum");
  *(void**)&plugin_lend = dlsym(plugin, "PluginLend");
  if (plugin_sum == NULL || plugin_lend == NULL) return fail("the plugin lacks its functions");

  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {
      {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, NULL, delete_legacy};
  DLManagedTensorVersioned* tensor = NULL;
  if (dlbridge_upgrade(&legacy, NULL, &tensor, NULL) != DLBRIDGE_OK) return fail("upgrade");

  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    DLManagedTensorVersioned* share = NULL;
    if (dlbridge_share(tensor, &share, NULL) != DLBRIDGE_OK) return fail("share");
    if (pthread_create(&threads[i], NULL, work, share) != 0) return fail("thread");
  }
  dlbridge_release_versioned(tensor);
  for (int i = 0; i < THREADS; ++i) {
    void* failed = NULL;
    if (pthread_join(threads[i], &failed) != 0 || failed != NULL) return fail("a thread failed");
  }
  return deletes == 1 ? 0 : fail("the deleter did not run once");
}
