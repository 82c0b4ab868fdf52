/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin that links dlbridge: memory and deleter are the library's. With the static library they
 * lie in the plugin itself, which then must stay loaded.
 */
#include <stddef.h>

#include "dlbridge/dlbridge.h"
#include "plugin.h"

static DLBridgeStatus stay(void) {
#ifdef DLBRIDGE_STATIC
  static const char here = 0;
  return dlbridge_module_pin(&here, NULL);
#else
  return DLBRIDGE_OK;
#endif
}

DLManagedTensorVersioned* plugin_make(int* deletions) {
  (void)deletions;
  const int64_t shape[2] = {2, 3};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  const DLDataType float32 = {kDLFloat, 32, 1};
  spec.dtype = float32;
  spec.ndim = 2;
  spec.shape = shape;
  DLManagedTensorVersioned* tensor = NULL;
  if (stay() != DLBRIDGE_OK || dlbridge_allocate(&spec, &tensor, NULL) != DLBRIDGE_OK) return NULL;
  for (int i = 0; i < 6; ++i) ((float*)tensor->dl_tensor.data)[i] = (float)i;
  return tensor;
}
