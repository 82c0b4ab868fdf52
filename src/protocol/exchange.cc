// SPDX-License-Identifier: Apache-2.0
// The C exchange API's chain of tables.
#include "describe/boundary.h"
#include "describe/version.h"
#include "support/load.h"

namespace dlbridge {
namespace {

// Limit on the length of a chain, which may be a ring.
constexpr int kMaxTables = 64;

bool IsWhole(const DLPackExchangeAPI& table) {
  return Load(&table.managed_tensor_allocator) != nullptr &&
         Load(&table.managed_tensor_from_py_object_no_sync) != nullptr &&
         Load(&table.managed_tensor_to_py_object_no_sync) != nullptr &&
         Load(&table.current_work_stream) != nullptr;
}

// The newest whole table of the chain, or NULL. Each field is loaded once.
const DLPackExchangeAPI* FindNewest(const DLPackExchangeAPIHeader* chain) {
  const DLPackExchangeAPI* newest = nullptr;
  uint32_t newest_minor = 0;
  for (int i = 0; i < kMaxTables && chain != nullptr; ++i, chain = Load(&chain->prev_api)) {
    const DLPackVersion version = LoadVersion(chain->version);
    const auto* table = reinterpret_cast<const DLPackExchangeAPI*>(chain);
    if (version.major == kMajor && IsWhole(*table) &&
        (newest == nullptr || newest_minor < version.minor)) {
      newest = table;
      newest_minor = version.minor;
    }
  }
  return newest;
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
  const DLPackExchangeAPI* newest = dlbridge::FindNewest(chain);
  if (newest == nullptr) {
    return dlbridge::RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "the chain",
                                  "has no complete table of major 1 among its first 64");
  }
  *out = newest;
  return DLBRIDGE_OK;
}

}  // extern "C"
