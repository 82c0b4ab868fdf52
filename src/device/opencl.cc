// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"
#include "support/library.h"

namespace dlbridge {
namespace {

constexpr const char* kNames[] = {"libOpenCL.so.1"};

int32_t Start(DLBridgeBackendInfo* info) {
  TextWriter file(info->file, sizeof info->file);
  TextWriter reason(info->reason, sizeof info->reason);
  OpenLibrary({"DLBRIDGE_LIBOPENCL", nullptr, kNames, 1}, &file, &reason);
  return DLBRIDGE_STATE_ABSENT;
}

}  // namespace

constexpr Backend kOpenClBackend = {DLBRIDGE_BACKEND_OPENCL,
                                    "OpenCL",
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
