// SPDX-License-Identifier: Apache-2.0
// The veneer in C++11; compiling it is the test.
#include "dlbridge/level_zero_api.h"

bool dlbridge_level_zero_veneer_cc(ze_command_queue_handle_t queue, ze_context_handle_t context,
                                   const DLBridgePointerInfo& info);

bool dlbridge_level_zero_veneer_cc(ze_command_queue_handle_t queue, ze_context_handle_t context,
                                   const DLBridgePointerInfo& info) {
  const DLDevice device = {kDLOneAPI, 0};
  const DLBridgeStream stream = dlbridge_stream_level_zero_queue(queue, context, device);
  return stream.handle == dlbridge_stream_level_zero(nullptr, context, device).handle &&
         dlbridge_level_zero_pointer_context(&info) == context;
}
