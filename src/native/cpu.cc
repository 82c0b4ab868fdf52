// SPDX-License-Identifier: Apache-2.0
// The host as a backend: it has no driver and no queues, and knows no allocations.
#include "native/backend.h"

namespace dlbridge {
namespace {

int32_t Start(void* /*library*/, DLBridgeBackendInfo* info) {
  info->device_count = 1;
  return DLBRIDGE_STATE_READY;
}

}  // namespace

constexpr Backend kCpuBackend = {DLBRIDGE_BACKEND_CPU,
                                 "the CPU",
                                 {},
                                 Start,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace dlbridge
