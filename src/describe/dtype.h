// SPDX-License-Identifier: Apache-2.0
// Dtype codes: name, width, first release.
#ifndef DLBRIDGE_SRC_DESCRIBE_DTYPE_H_
#define DLBRIDGE_SRC_DESCRIBE_DTYPE_H_

#include <cstdint>

#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "support/text.h"

namespace dlbridge {

struct DtypeCode {
  const char* name;    // as in "float32", without a width that varies
  Version since;       // first release that has it
  uint8_t fixed_bits;  // the only width allowed; 0: any
};

inline constexpr DtypeCode kDtypeCodes[] = {
    // [facts/dtypes.toml]
    {"int", 2, 0},
    {"uint", 2, 0},
    {"float", 2, 0},
    {"opaque", 4, 0},
    {"bfloat", 3, 16},
    {"complex", 4, 0},
    {"bool", 8, 8},
    {"float8_e3m4", 101, 8},
    {"float8_e4m3", 101, 8},
    {"float8_e4m3b11fnuz", 101, 8},
    {"float8_e4m3fn", 101, 8},
    {"float8_e4m3fnuz", 101, 8},
    {"float8_e5m2", 101, 8},
    {"float8_e5m2fnuz", 101, 8},
    {"float8_e8m0fnu", 101, 8},
    {"float6_e2m3fn", 101, 6},
    {"float6_e3m2fn", 101, 6},
    {"float4_e2m1fn", 101, 4},
    {"bcomplex", kNoRelease, 0},
    // [/facts]
};
constexpr unsigned kDtypeCodeCount = sizeof(kDtypeCodes) / sizeof(kDtypeCodes[0]);

// More lanes than this mean a scalable vector.
constexpr uint16_t kMaxLanes = 0x7fff;

// The only width that a code allows; 0 for any width and for codes that are not listed.
DLBRIDGE_INLINE unsigned FixedBits(uint8_t code) {
  return code < kDtypeCodeCount ? kDtypeCodes[code].fixed_bits : 0U;
}

DLBRIDGE_INLINE Version DtypeSince(uint8_t code) {
  return code < kDtypeCodeCount ? kDtypeCodes[code].since : kNoRelease;
}

// A dtype as one integer, for %t in a message.
constexpr uint64_t Packed(DLDataType dtype) {
  return static_cast<uint64_t>(dtype.code) | static_cast<uint64_t>(dtype.bits) << 8 |
         static_cast<uint64_t>(dtype.lanes) << 16;
}
constexpr DLDataType UnpackDtype(uint64_t packed) {
  return {static_cast<uint8_t>(packed), static_cast<uint8_t>(packed >> 8),
          static_cast<uint16_t>(packed >> 16)};
}

// Bits from one element to the next.
constexpr uint32_t ItemBits(DLDataType dtype, uint64_t flags) {
  const uint32_t bits = static_cast<uint32_t>(dtype.bits) * dtype.lanes;
  return (flags & kPadded) != 0 ? (bits + 7U) & ~7U : bits;
}

// Natural alignment of an element in bytes: the size of a lane, or half of it for complex numbers.
uint64_t NaturalAlignment(DLDataType dtype);

void WriteDtype(DLDataType dtype, TextWriter* text);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_DTYPE_H_
