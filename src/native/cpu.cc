// SPDX-License-Identifier: Apache-2.0
// The host as a backend: it has no driver and no queues, and knows no allocations.
#include "native/backend.h"

namespace dlbridge {
namespace {

int32_t Start(void* /*library*/, DLBridgeBackendInfo* info) {
  info->device_count = 1;
  return DLBRIDGE_STATE_READY;
}

constexpr Backend MakeCpu() {
  Backend backend = {};
  backend.id = DLBRIDGE_BACKEND_CPU;
  backend.name = "the CPU";
  backend.start = Start;
  return backend;
}

}  // namespace

constexpr Backend kCpuBackend = MakeCpu();

}  // namespace dlbridge
