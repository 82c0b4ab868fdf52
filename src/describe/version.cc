// SPDX-License-Identifier: Apache-2.0
#include "describe/version.h"

extern "C" {

uint32_t dlbridge_version(void) {
  return DLBRIDGE_VERSION_MAJOR * 10000 + DLBRIDGE_VERSION_MINOR * 100 + DLBRIDGE_VERSION_PATCH;
}

const char* dlbridge_version_string(void) { return DLBRIDGE_VERSION_STRING; }

DLPackVersion dlbridge_dlpack_version(void) { return dlbridge::ToDLPack(dlbridge::kNewestVersion); }

}  // extern "C"
