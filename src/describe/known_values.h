// Generated from facts/enums.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The bits and values that callers can pass. Others are errors, TOO_NEW if a newer library may know
// them.
#ifndef DLBRIDGE_SRC_DESCRIBE_KNOWN_VALUES_H_
#define DLBRIDGE_SRC_DESCRIBE_KNOWN_VALUES_H_

#include "dlbridge/dlbridge.h"

// clang-format off

namespace dlbridge {

// All bits of a set.
constexpr uint32_t kKnownPolicyBits = 0xfff00;
constexpr uint32_t kKnownConvertBits = 0x3ff00;
constexpr uint32_t kKnownAllocateBits = 0x100;
constexpr uint32_t kKnownPointerInfoBits = 0x100;
constexpr uint32_t kKnownWrapBits = 0x1f00;
constexpr uint32_t kKnownHandoffBits = 0x300;
constexpr uint32_t kKnownContextBits = 0xf;
constexpr uint32_t kKnownCopyBits = 0x300;
constexpr uint32_t kKnownCollectBits = 0x100;
constexpr uint32_t kKnownIpcBits = 0x100;

// The greatest value of an enumeration.
constexpr int32_t kLastKind = DLBRIDGE_KIND_AMBIGUOUS;
constexpr int32_t kLastLevel = DLBRIDGE_LEVEL_DEVICE;
constexpr int32_t kLastContiguity = DLBRIDGE_CONTIGUITY_C_OR_F;
constexpr int32_t kLastBackend = DLBRIDGE_BACKEND_OPENCL;
constexpr int32_t kLastBuffer = DLBRIDGE_BUFFER_HANDLE;
constexpr int32_t kLastStream = DLBRIDGE_STREAM_IMMEDIATE_LIST;

}  // namespace dlbridge

// Lists for messages.
#define DLBRIDGE_LIST_KIND "LEGACY (1), VERSIONED (2) or BORROWED (3)"
#define DLBRIDGE_LIST_LEVEL "STRUCT (1), METADATA (2), DEVICE (3) or 0 for METADATA"
#define DLBRIDGE_LIST_CONTIGUITY "ANY (0), C (1), F (2) or C_OR_F (3)"
#define DLBRIDGE_LIST_BACKEND "CPU (1) to OPENCL (5)"
#define DLBRIDGE_LIST_STREAM "HOST (1), NO_SYNC (2), QUEUE (3) or IMMEDIATE_LIST (4)"
#define DLBRIDGE_LIST_CONTEXT "DEFAULT, REPLACE, ENUMERATED, PRIVATE"
#define DLBRIDGE_LIST_DRIVER "CUDA (2), HIP (3), LEVEL_ZERO (4) or OPENCL (5)"

// clang-format on

#endif  // DLBRIDGE_SRC_DESCRIBE_KNOWN_VALUES_H_
