/* SPDX-License-Identifier: Apache-2.0 */
/* The veneer in C99; compiling it is the test. */
#include "dlbridge/level_zero_api.h"

int dlbridge_level_zero_veneer_c(void* address, ze_command_list_handle_t list,
                                 ze_context_handle_t context);

int dlbridge_level_zero_veneer_c(void* address, ze_command_list_handle_t list,
                                 ze_context_handle_t context) {
  const DLBridgeBuffer buffer = dlbridge_buffer_level_zero(address, context);
  DLBridgeContextEntry entry = dlbridge_context_entry_level_zero(0, NULL, NULL, context);
  dlbridge_context_entry_set_list(&entry, list);
  return dlbridge_level_zero_address(buffer) == address &&
         dlbridge_level_zero_context(&entry) == context && dlbridge_level_zero_list(&entry) == list;
}
