// SPDX-License-Identifier: Apache-2.0
// The context table: this copy's own, and the one that all of the process share.
#ifndef DLBRIDGE_SRC_DEVICE_TABLE_H_
#define DLBRIDGE_SRC_DEVICE_TABLE_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// This copy's own; see docs/context-table.md for what each function promises.
extern const DLBridgeContextTable kOwnTable;

// What every entry must be, whoever's table it goes to.
DLBridgeStatus CheckEntry(const DLBridgeContextEntry& entry, DLBridgeError* error);

// The table of the process: that of the first loaded module which has one. Found once, then one
// load.
const DLBridgeContextTable& SharedTable();

// The key of a device: kDLCUDA for pinned and managed memory too, kDLROCM likewise.
DLDevice TableKey(DLDevice device);

// Finds an entry, and where the table has none of the device, has its backend enter its devices
// first.
DLBridgeStatus FindContext(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                           DLBridgeError* error);

// For a backend that found a device itself: DLBRIDGE_OK also where another copy was faster, and
// then with `*mine` false.
DLBridgeStatus EnterDevice(const DLBridgeContextEntry& entry, bool* mine, DLBridgeError* error);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DEVICE_TABLE_H_
