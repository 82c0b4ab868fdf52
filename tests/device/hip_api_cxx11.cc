// SPDX-License-Identifier: Apache-2.0
// The veneer in C++11; compiling it is the test.
#include "dlbridge/hip_api.h"

bool HipApiInCxx11(hipDeviceptr_t pointer, hipStream_t stream);

bool HipApiInCxx11(hipDeviceptr_t pointer, hipStream_t stream) {
  const DLBridgeBuffer buffer = dlbridge_buffer_hip(pointer);
  const DLBridgeStream queue = dlbridge_stream_hip(stream, 0);
  const DLBridgeContextEntry entry = dlbridge_context_entry_hip(0, stream);
  return dlbridge_hip_pointer(&buffer) == pointer && dlbridge_hip_stream(&queue) == stream &&
         dlbridge_hip_device(&entry) == 0;
}
