// SPDX-License-Identifier: Apache-2.0
#include "device/hip/events.h"

#include "device/handle_pool.h"

namespace dlbridge::hip {
namespace {

// The events of devices beyond these are created for each call.
constexpr int32_t kPooledDevices = 32;
HandlePool g_events[kPooledDevices];

bool IsPooled(int32_t device) { return device < kPooledDevices; }

// An event belongs to the thread's device at its creation.
DLBridgeStatus CreateEvent(int32_t device, DeviceScope* scope, Event* event, DLBridgeError* error) {
  DLBRIDGE_TRY(scope->Enter(device, error));
  DLBRIDGE_HIP_TRY(hipEventCreateWithFlags, event, kEventDisableTiming);
  return DLBRIDGE_OK;
}

void DestroyEvent(Event event) {
  if (g_hip.driver.hipEventDestroy(event) != kSuccess) {
    g_hip.driver.hipGetLastError();
  }
}

}  // namespace

DLBridgeStatus TakeEvent(int32_t device, bool capturing, DeviceScope* scope, Event* event,
                         DLBridgeError* error) {
  *event = IsPooled(device) && !capturing ? g_events[device].Take() : nullptr;
  return DLBRIDGE_LIKELY(*event != nullptr) ? DLBRIDGE_OK
                                            : CreateEvent(device, scope, event, error);
}

void GiveEvent(int32_t device, bool reusable, Event event) {
  if (!reusable || !IsPooled(device) || !g_events[device].Give(event)) {
    DestroyEvent(event);
  }
}

}  // namespace dlbridge::hip
