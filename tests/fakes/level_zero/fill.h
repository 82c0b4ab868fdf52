// SPDX-License-Identifier: Apache-2.0
// Fills the tables that a loader asks for: the driver's functions, all other entries zero.
#ifndef DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FILL_H_
#define DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FILL_H_

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <cstring>

#include "functions.h"
#include "world.h"

namespace fake_ze {

// For tables in which the driver has no function.
template <class Table>
void Fill(Table* /*table*/) {}

#define FAKE_ZE_FILL_ONE(member, function) table->pfn##member = Has(#function) ? function : nullptr;
#define FAKE_ZE_FILL(Table, FUNCTIONS) \
  inline void Fill(Table* table) { FUNCTIONS(FAKE_ZE_FILL_ONE) }
FAKE_ZE_FILL(ze_global_dditable_t, FAKE_ZE_GLOBAL)
FAKE_ZE_FILL(ze_driver_dditable_t, FAKE_ZE_DRIVER)
FAKE_ZE_FILL(ze_device_dditable_t, FAKE_ZE_DEVICE)
FAKE_ZE_FILL(ze_context_dditable_t, FAKE_ZE_CONTEXT)
FAKE_ZE_FILL(ze_mem_dditable_t, FAKE_ZE_MEM)
FAKE_ZE_FILL(ze_command_queue_dditable_t, FAKE_ZE_COMMAND_QUEUE)
FAKE_ZE_FILL(ze_command_list_dditable_t, FAKE_ZE_COMMAND_LIST)
FAKE_ZE_FILL(ze_event_pool_dditable_t, FAKE_ZE_EVENT_POOL)
FAKE_ZE_FILL(ze_event_dditable_t, FAKE_ZE_EVENT)

template <class Table>
ze_result_t GiveTable(ze_api_version_t version, Table* table) {
  if (table == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (ZE_MAJOR_VERSION(version) != 1) {
    return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  }
  std::memset(table, 0, sizeof *table);
  Fill(table);
  return ZE_RESULT_SUCCESS;
}

#define FAKE_TABLE(function, Table)                              \
  ze_result_t function(ze_api_version_t version, Table* table) { \
    return fake_ze::GiveTable(version, table);                   \
  }

}  // namespace fake_ze

#endif  // DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FILL_H_
