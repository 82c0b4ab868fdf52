// SPDX-License-Identifier: Apache-2.0
// The context table: this copy's own, and the one that all of the process share.
#ifndef DLBRIDGE_SRC_NATIVE_TABLE_H_
#define DLBRIDGE_SRC_NATIVE_TABLE_H_

#include <atomic>
#include <cstdint>

#include "describe/device.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"

namespace dlbridge {

// This copy's own; see docs/context-table.md for what each function promises.
extern const DLBridgeContextTable kOwnTable;

// What every entry must be, whoever's table it goes to.
DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error);

// The table of the process: that of the first loaded module which has one. Found once, then one
// load.
extern std::atomic<const DLBridgeContextTable*> g_shared_table;
const DLBridgeContextTable& FindSharedTable();
inline const DLBridgeContextTable& SharedTable() {
  const DLBridgeContextTable* table = g_shared_table.load(std::memory_order_acquire);
  return DLBRIDGE_LIKELY(table != nullptr) ? *table : FindSharedTable();
}

// The key of a device: kDLCUDA for pinned and managed memory too, kDLROCM likewise.
inline DLDevice TableKey(DLDevice device) {
  switch (TypeOf(device)) {
    case kDLCUDAHost:
    case kDLCUDAManaged:
      return MakeDevice(kDLCUDA, device.device_id);
    case kDLROCMHost:
      return MakeDevice(kDLROCM, device.device_id);
    default:
      return device;
  }
}

// Finds an entry, and where the table has none of the device, has its backend enter its devices
// first.
DLBridgeStatus FindContext(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                           DLBridgeError* error);

// Is the context of `buffer`, which is not 0, one of this backend? Only its driver may be handed
// it: another would follow it. What nobody says is asked of the table, and refused where two
// drivers could be meant.
DLBridgeStatus IsContextOf(DLBridgeBackend backend, const DLBridgeBuffer& buffer, DLDevice label,
                           bool* out, DLBridgeError* error);

// For a backend that found a device itself: DLBRIDGE_OK also where another copy was faster, and
// then with `*mine` false.
DLBridgeStatus EnterDevice(const DLBridgeContextEntry& entry, bool* mine, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_TABLE_H_
