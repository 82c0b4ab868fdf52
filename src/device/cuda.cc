// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"
#include "support/library.h"

namespace dlbridge {
namespace {

constexpr const char* kNames[] = {"libcuda.so.1"};

int32_t Start(DLBridgeBackendInfo* info) {
  TextWriter file(info->file, sizeof info->file);
  TextWriter reason(info->reason, sizeof info->reason);
  OpenLibrary({"DLBRIDGE_LIBCUDA", nullptr, kNames, 1}, &file, &reason);
  return DLBRIDGE_STATE_ABSENT;
}

}  // namespace

constexpr Backend kCudaBackend = {DLBRIDGE_BACKEND_CUDA,
                                  "CUDA",
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
                                  nullptr};

}  // namespace dlbridge
