/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin that loads dlbridge from DLBRIDGE_LIBRARY, and closes it as soon as it has its tensor.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "dlbridge/dlbridge.h"
#include "plugin.h"

static DLManagedTensorVersioned* make(const DLBridgeApi* api) {
  const int64_t shape[2] = {2, 3};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  const DLDataType float32 = {kDLFloat, 32, 1};
  spec.dtype = float32;
  spec.ndim = 2;
  spec.shape = shape;
  DLManagedTensorVersioned* tensor = NULL;
  if (api->allocate(&spec, &tensor, NULL) != DLBRIDGE_OK) return NULL;
  for (int i = 0; i < 6; ++i) ((float*)tensor->dl_tensor.data)[i] = (float)i;
  return tensor;
}

DLManagedTensorVersioned* plugin_make(int* deletions) {
  (void)deletions;
  void* library = dlopen(DLBRIDGE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return NULL;
  const DLBridgeApi* (*get_api)(uint32_t, size_t) = NULL;
  *(void**)&get_api = dlsym(library, "dlbridge_get_api");
  const DLBridgeApi* api = get_api == NULL ? NULL : get_api(DLBRIDGE_ABI, sizeof *api);
  DLManagedTensorVersioned* tensor =
      api != NULL && DLBRIDGE_API_HAS(api, allocate) ? make(api) : NULL;
  dlclose(library);
  return tensor;
}
