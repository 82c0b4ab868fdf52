// SPDX-License-Identifier: Apache-2.0
// The DLPack version that a tensor needs for its codes and flags.
#ifndef DLBRIDGE_SRC_DESCRIBE_REQUIRED_H_
#define DLBRIDGE_SRC_DESCRIBE_REQUIRED_H_

#include <cstdint>

#include "describe/device.h"
#include "describe/dtype.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge {

// kNoRelease if no release has one of them.
DLBRIDGE_INLINE Version RequiredVersion(const DLTensor& tensor, uint64_t flags) {
  const Version dtype = DtypeSince(tensor.dtype.code);
  const Version device = DeviceTypeOf(TypeOf(tensor.device)).since;
  const Version codes = dtype > device ? dtype : device;
  const Version flags_since = FlagsSince(flags);
  return codes > flags_since ? codes : flags_since;
}

// The device types that a release has, as a bit set.
constexpr uint64_t DevicesKnownTo(Version version) {
  return DeviceSet([version](const DeviceType& type) { return type.since <= version; });
}
// The number of dtype codes that a release has. They start at 0 and have no gap.
constexpr uint8_t DtypesKnownTo(Version version) {
  uint8_t count = 0;
  while (count < kDtypeCodeCount && kDtypeCodes[count].since <= version) {
    ++count;
  }
  return count;
}

// Fast path: RequiredVersion <= kVersion for the codes alone. True for nearly every tensor.
template <Version kVersion>
DLBRIDGE_INLINE bool CodesKnownTo(const DLDevice& device, DLDataType dtype) {
  constexpr uint64_t kDevices = DevicesKnownTo(kVersion);
  constexpr uint8_t kDtypes = DtypesKnownTo(kVersion);
  const auto type = static_cast<uint32_t>(TypeOf(device));
  return dtype.code < kDtypes && type < 64 && ((kDevices >> type) & 1) != 0;
}
template <Version kVersion>
DLBRIDGE_INLINE bool CodesKnownTo(const DLTensor& tensor) {
  return CodesKnownTo<kVersion>(tensor.device, tensor.dtype);
}

// The dtype codes of a release that allow more than one width, as a bit set.
constexpr uint64_t FreeDtypesKnownTo(Version version) {
  uint64_t set = 0;
  for (uint32_t code = 0; code < kDtypeCodeCount; ++code) {
    const bool free = kDtypeCodes[code].fixed_bits == 0 && kDtypeCodes[code].since <= version;
    set |= free ? uint64_t{1} << code : 0;
  }
  return set;
}
DLBRIDGE_INLINE bool IsIn(uint64_t set, uint32_t code) {
  return code < 64 && ((set >> code) & 1) != 0;
}

// Reports why `version` is too old for the tensor.
DLBRIDGE_COLD DLBridgeStatus RejectCodes(const DLTensor& tensor, uint64_t flags, Version version,
                                         DLBridgeError* error);

// Rejects codes and flags that `version` does not have.
DLBRIDGE_INLINE DLBridgeStatus CheckCodes(const DLTensor& tensor, uint64_t flags, Version version,
                                          DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(version == kNewestVersion && CodesKnownTo<kNewestVersion>(tensor) &&
                      (flags & ~kAllFlags) == 0) ||
      RequiredVersion(tensor, flags) <= version) {
    return DLBRIDGE_OK;
  }
  return RejectCodes(tensor, flags, version, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_REQUIRED_H_
