// SPDX-License-Identifier: Apache-2.0
// Compiled, never run: the veneer as C++11.
#include "dlbridge/cuda_api.h"

extern uint64_t cuda_veneer_cc(CUdeviceptr address, CUstream stream, CUcontext context);

uint64_t cuda_veneer_cc(CUdeviceptr address, CUstream stream, CUcontext context) {
  const DLBridgeBuffer buffer = dlbridge_buffer_cuda(address);
  const DLBridgeStream queue = dlbridge_stream_cuda(stream, 0);
  const DLBridgeContextEntry entry = dlbridge_context_entry_cuda(0, context, stream);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  return (uint64_t)dlbridge_cuda_address(buffer) +
         (uint64_t)(uintptr_t)dlbridge_cuda_stream(&queue) +
         (uint64_t)(uintptr_t)dlbridge_cuda_context(&entry) +
         (uint64_t)(uintptr_t)dlbridge_cuda_queue(&entry) +
         (uint64_t)(uintptr_t)dlbridge_cuda_memory_context(&info) +
         (uint64_t)dlbridge_cuda_ordinal(&entry);
}
