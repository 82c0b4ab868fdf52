// SPDX-License-Identifier: Apache-2.0
// Graph captures in HIP.
#ifndef DLBRIDGE_SRC_DEVICE_HIP_CAPTURE_H_
#define DLBRIDGE_SRC_DEVICE_HIP_CAPTURE_H_

#include "device/hip/internal.h"

namespace dlbridge::hip {

// Sets the thread's capture mode to RELAXED; the destructor restores the previous mode.
//
// In another mode, a call that waits fails while any thread captures a graph, and invalidates that
// capture; even a wait for an idle stream of the library does. Each wait, creation and destruction
// needs this scope. Runtimes without the function, before 5.0, have no such check.
class RelaxedScope {
 public:
  RelaxedScope() = default;
  ~RelaxedScope();
  RelaxedScope(const RelaxedScope&) = delete;
  RelaxedScope& operator=(const RelaxedScope&) = delete;

  Result Enter();
  DLBridgeStatus Enter(DLBridgeError* error);

 private:
  int32_t mode_ = kModeRelaxed;
  Result (*exchange_)(int32_t*) = nullptr;  // set if there is a mode to restore
};

// Rejects a hand-off that the captures of its streams do not allow. `*capturing`: does either
// stream capture?
DLBridgeStatus CheckCapture(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                            uint32_t options, DeviceScope* scope, bool* capturing,
                            DLBridgeError* error);

// Rejects a stream that is capturing: the host cannot wait for it.
DLBridgeStatus RequireNoCapture(const DLBridgeStream& stream, const char* argument,
                                DeviceScope* scope, DLBridgeError* error);

}  // namespace dlbridge::hip

#endif  // DLBRIDGE_SRC_DEVICE_HIP_CAPTURE_H_
