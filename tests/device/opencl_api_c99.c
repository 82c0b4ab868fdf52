/* SPDX-License-Identifier: Apache-2.0
 * The typed veneer in C99, with the vendor's headers. */
#define CL_TARGET_OPENCL_VERSION 120
#include "dlbridge/opencl_api.h"

DLBridgeBuffer opencl_api_buffers(cl_mem mem, cl_context context, const void* pointer);
DLBridgeBuffer opencl_api_buffers(cl_mem mem, cl_context context, const void* pointer) {
  return mem ? dlbridge_buffer_cl_mem(mem, context) : dlbridge_buffer_cl_usm(pointer, context);
}

int opencl_api_entries(cl_platform_id platform, cl_device_id device, cl_context context,
                       cl_command_queue queue);
int opencl_api_entries(cl_platform_id platform, cl_device_id device, cl_context context,
                       cl_command_queue queue) {
  const DLDevice label = {kDLOpenCL, 0};
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl(label, platform, device, context, queue);
  const DLBridgeStream stream = dlbridge_stream_opencl(dlbridge_opencl_queue(&entry), label);
  DLTensor tensor;
  tensor.data = dlbridge_opencl_context(&entry);
  return dlbridge_opencl_platform(&entry) == platform && dlbridge_opencl_device(&entry) == device &&
         dlbridge_opencl_context(&entry) == context && stream.kind == DLBRIDGE_STREAM_QUEUE &&
         dlbridge_opencl_mem(&tensor) == (cl_mem)tensor.data;
}
