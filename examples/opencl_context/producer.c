/* SPDX-License-Identifier: Apache-2.0 */
#include "libraries.h"

DLManagedTensorVersioned* producer_make(DLBridgeError* error) {
  float values[] = {1, 2, 3, 4};
  DLBridgeContextEntry entry;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.device.device_type = kDLOpenCL, spec.dtype = (DLDataType){kDLFloat, 32, 1};
  spec.shape = (const int64_t[]){4}, spec.ndim = 1;
  if (dlbridge_context_find(spec.device, 0, &entry, error) != DLBRIDGE_OK) return NULL;
  const cl_context context = dlbridge_opencl_context(&entry);
  const cl_mem memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
  spec.buffer = dlbridge_buffer_cl_mem(memory, context);
  spec.options = DLBRIDGE_WRAP_RETAIN; /* the tensor keeps the buffer, and this function does not */
  DLManagedTensorVersioned* tensor = NULL;
  dlbridge_wrap(&spec, &tensor, error); /* rejects a buffer that could not be made */
  if (memory != NULL) clReleaseMemObject(memory);
  return tensor;
}
