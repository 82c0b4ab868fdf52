/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "libraries.h"

int main(void) {
  cl_platform_id platform;
  cl_device_id native;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &native, NULL) != CL_SUCCESS)
    return fprintf(stderr, "there is no OpenCL device\n"), 2;
  const cl_context context = clCreateContext(NULL, 1, &native, NULL, NULL, NULL);
  const cl_command_queue queue = clCreateCommandQueueWithProperties(context, native, NULL, NULL);
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl((DLDevice){kDLOpenCL, 0}, platform, native, context, queue);
  DLBridgeCopySpec to_host = DLBRIDGE_COPY_SPEC_INIT;
  uint64_t id;
  DLManagedTensorVersioned *tensor = NULL, *host = NULL;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  if (dlbridge_context_register(&entry, &id, &error) != DLBRIDGE_OK ||
      (tensor = producer_make(&error)) == NULL || consumer_fill(tensor, &error) != CL_SUCCESS ||
      clFinish(queue) != CL_SUCCESS ||
      dlbridge_copy(&tensor->dl_tensor, tensor->flags, &to_host, &host, &error) != DLBRIDGE_OK)
    return fprintf(stderr, "failed: %s\n", error.message), 1;
  const float* x = host->dl_tensor.data;
  printf("%g %g %g %g\n", (double)x[0], (double)x[1], (double)x[2], (double)x[3]);
  dlbridge_release_versioned(host), dlbridge_release_versioned(tensor);
  return dlbridge_context_unregister(id, &error);
}
