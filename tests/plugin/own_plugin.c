/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin without dlbridge: data, shape and deleter lie in the plugin itself and are unloaded with
 * it. Compiled with PLUGIN_PINS_ITSELF, it uses dlbridge to stay loaded.
 */
#include <stddef.h>
#include <stdlib.h>

#ifdef PLUGIN_PINS_ITSELF
#include "dlbridge/dlbridge.h"
#endif
#include "plugin.h"

static float data[6] = {0, 1, 2, 3, 4, 5};
static int64_t shape[2] = {2, 3};
static int64_t strides[2] = {3, 1};

static int stay(void) {
#ifdef PLUGIN_PINS_ITSELF
  return dlbridge_module_pin(data, NULL) == DLBRIDGE_OK;
#else
  return 1;
#endif
}

static DLTensor describe(void) {
  DLTensor tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  return tensor;
}

static void delete_versioned(DLManagedTensorVersioned* self) {
  ++*(int*)self->manager_ctx;
  free(self);
}

static void delete_legacy(DLManagedTensor* self) {
  ++*(int*)self->manager_ctx;
  free(self);
}

DLManagedTensorVersioned* plugin_make(int* deletions) {
  DLManagedTensorVersioned* managed = stay() ? malloc(sizeof *managed) : NULL;
  if (managed == NULL) return NULL;
  managed->version.major = 1;
  managed->version.minor = 3;
  managed->manager_ctx = deletions;
  managed->deleter = delete_versioned;
  managed->flags = 0;
  managed->dl_tensor = describe();
  return managed;
}

DLManagedTensor* plugin_make_legacy(int* deletions) {
  DLManagedTensor* managed = stay() ? malloc(sizeof *managed) : NULL;
  if (managed == NULL) return NULL;
  managed->manager_ctx = deletions;
  managed->deleter = delete_legacy;
  managed->dl_tensor = describe();
  return managed;
}
