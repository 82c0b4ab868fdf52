// SPDX-License-Identifier: Apache-2.0
// Releases the tensors that the library holds for streams.
#include "describe/boundary.h"
#include "describe/known_values.h"
#include "native/pending.h"

extern "C" {

DLBridgeStatus dlbridge_collect(uint32_t options, size_t* left, DLBridgeError* error) {
  DLBRIDGE_TRY(dlbridge::CheckOptionBits(options, dlbridge::kKnownCollectBits, "options", error));
  size_t count = 0;
  const bool wait = (options & DLBRIDGE_COLLECT_WAIT) != 0;
  const DLBridgeStatus status = dlbridge::CollectPending(wait, &count, error);
  if (left != nullptr) {
    *left = count;
  }
  return status;
}

}  // extern "C"
