// SPDX-License-Identifier: Apache-2.0
// The C exchange API's chain of tables.
#include "describe/boundary.h"
#include "describe/version.h"

namespace dlbridge {
namespace {

// Limit on the length of a chain, which may be a ring.
constexpr int kMaxTables = 64;

bool IsWhole(const DLPackExchangeAPI& table) {
  return table.managed_tensor_allocator != nullptr &&
         table.managed_tensor_from_py_object_no_sync != nullptr &&
         table.managed_tensor_to_py_object_no_sync != nullptr &&
         table.current_work_stream != nullptr;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_exchange_api_find(const DLPackExchangeAPIHeader* chain,
                                          DLPackVersion consumer, const DLPackExchangeAPI** out,
                                          DLBridgeError* error) {
  DLBRIDGE_REQUIRE(chain);
  DLBRIDGE_REQUIRE(out);
  if (consumer.major != dlbridge::kMajor) {
    return dlbridge::RejectValue(error, DLBRIDGE_ERROR_VERSION, "consumer.major",
                                 "must be 1, the only major whose table is known", consumer.major);
  }
  const DLPackExchangeAPI* newest = nullptr;
  for (int i = 0; i < dlbridge::kMaxTables && chain != nullptr; ++i, chain = chain->prev_api) {
    if (chain->version.major != dlbridge::kMajor) {
      continue;
    }
    const auto* table = reinterpret_cast<const DLPackExchangeAPI*>(chain);
    if (dlbridge::IsWhole(*table) &&
        (newest == nullptr || newest->header.version.minor < table->header.version.minor)) {
      newest = table;
    }
  }
  if (newest == nullptr) {
    return dlbridge::RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "the chain",
                                  "has no complete table of major 1 among its first 64");
  }
  *out = newest;
  return DLBRIDGE_OK;
}

}  // extern "C"
