/* SPDX-License-Identifier: Apache-2.0 */
#include "libraries.h"

int consumer_fill(const DLManagedTensorVersioned* tensor, DLBridgeError* error) {
  DLBridgePolicy demands = DLBRIDGE_POLICY_INIT;
  demands.options = DLBRIDGE_POLICY_REQUIRE_WRITABLE, demands.contiguity = DLBRIDGE_CONTIGUITY_C;
  demands.dtypes = &(DLDataType){kDLFloat, 32, 1}, demands.dtype_count = 1;
  DLBridgeContextEntry entry;
  if (dlbridge_validate_versioned(tensor, &demands, error) != DLBRIDGE_OK ||
      dlbridge_context_find(tensor->dl_tensor.device, 0, &entry, error) != DLBRIDGE_OK)
    return -1;
  const float seven = 7;
  const size_t half = sizeof seven * (size_t)tensor->dl_tensor.shape[0] / 2;
  /* OpenCL rejects a queue and a buffer of two contexts; the table makes both use one. */
  return clEnqueueFillBuffer(dlbridge_opencl_queue(&entry), dlbridge_opencl_mem(&tensor->dl_tensor),
                             &seven, sizeof seven, half, half, 0, NULL, NULL);
}
