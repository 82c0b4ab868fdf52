// SPDX-License-Identifier: Apache-2.0
// The context table: the one of this copy of the library, and the one that the process shares.
#ifndef DLBRIDGE_SRC_NATIVE_TABLE_H_
#define DLBRIDGE_SRC_NATIVE_TABLE_H_

#include <atomic>
#include <cstdint>

#include "describe/device.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"

namespace dlbridge {

// The table of this copy; docs/context-table.md specifies each function.
extern const DLBridgeContextTable kOwnTable;

// Checks an entry, regardless of the table that it is added to.
DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error);

// The table of the process: that of the first loaded module that exports one. The first call finds
// it; later calls are one load.
extern std::atomic<const DLBridgeContextTable*> g_shared_table;
const DLBridgeContextTable& FindSharedTable();
inline const DLBridgeContextTable& SharedTable() {
  const DLBridgeContextTable* table = g_shared_table.load(std::memory_order_acquire);
  return DLBRIDGE_LIKELY(table != nullptr) ? *table : FindSharedTable();
}

// The key of a device: kDLCUDA also for pinned and managed memory, kDLROCM also for pinned memory.
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

// Finds an entry. If the table has none of the device, its backend enters its devices first.
DLBridgeStatus FindContext(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                           DLBridgeError* error);

// Does the context of `buffer`, which is not 0, belong to this backend? Only its own driver may
// receive it: another driver would dereference it. If the buffer does not name the backend, the
// table decides. If two drivers remain possible, the call is rejected.
DLBridgeStatus IsContextOf(DLBridgeBackend backend, const DLBridgeBuffer& buffer, DLDevice label,
                           bool* out, DLBridgeError* error);

// Enters a device that a backend found itself. If another copy of the library was faster, returns
// DLBRIDGE_OK with `*mine` false.
DLBridgeStatus EnterDevice(const DLBridgeContextEntry& entry, bool* mine, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_TABLE_H_
