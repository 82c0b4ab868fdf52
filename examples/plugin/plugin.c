/*
 * SPDX-License-Identifier: Apache-2.0
 * A plugin with three tensors. The host may close the plugin while it still holds them.
 */
#include "plugin.h"

#include <stddef.h>

#include "dlbridge/dlbridge.h"

/* The first is the library's: memory and deleter stay when the plugin is unloaded. */
void* plugin_squares(void) {
  const int64_t shape[1] = {5};
  const DLDataType int32 = {kDLInt, 32, 1};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = shape;
  spec.dtype = int32;
  DLManagedTensorVersioned* tensor = NULL;
  if (dlbridge_allocate(&spec, &tensor, NULL) != DLBRIDGE_OK) return NULL;
  for (int32_t i = 0; i < 5; ++i) ((int32_t*)tensor->dl_tensor.data)[i] = i * i;
  return tensor;
}

/* The second is made by hand, without dlbridge: all of it is unloaded with the plugin, so a host
 * that keeps the tensor must keep the plugin loaded. */
static int32_t primes[5] = {2, 3, 5, 7, 11};
static int64_t shape_of_primes[1] = {5};
static DLManagedTensor tensor_of_primes;

static void forget(DLManagedTensor* self) { self->manager_ctx = NULL; }

void* plugin_primes(void) {
  const DLTensor tensor = {primes, {kDLCPU, 0}, 1, {kDLInt, 32, 1}, shape_of_primes, NULL, 0};
  tensor_of_primes.dl_tensor = tensor;
  tensor_of_primes.deleter = forget;
  return &tensor_of_primes;
}

/* The third has no lanes. */
static DLManagedTensor tensor_without_lanes;

void* plugin_broken(void) {
  const DLTensor tensor = {primes, {kDLCPU, 0}, 1, {kDLInt, 32, 0}, shape_of_primes, NULL, 0};
  tensor_without_lanes.dl_tensor = tensor;
  tensor_without_lanes.deleter = forget;
  return &tensor_without_lanes;
}
