// SPDX-License-Identifier: Apache-2.0
// Which DLPack version a tensor needs, by its codes and flags.
#ifndef DLBRIDGE_SRC_REQUIRED_H_
#define DLBRIDGE_SRC_REQUIRED_H_

#include <cstdint>

#include "device.h"
#include "dlbridge/dlbridge.h"
#include "dtype.h"
#include "version.h"

namespace dlbridge {

// kNoRelease where no release knows one of them.
DLBRIDGE_INLINE Version RequiredVersion(const DLTensor& tensor, uint64_t flags) {
  const Version dtype = DtypeSince(tensor.dtype.code);
  const Version device = DeviceTypeOf(TypeOf(tensor.device)).since;
  const Version codes = dtype > device ? dtype : device;
  const Version said = FlagsSince(flags);
  return codes > said ? codes : said;
}

// The device types of the newest release, as a set: what nearly every tensor is asked for.
constexpr uint64_t KnownDevices() {
  uint64_t set = 0;
  for (uint32_t code = 0; code < kDeviceTypeCount; ++code) {
    set |= kDeviceTypes[code].since <= kNewestVersion ? uint64_t{1} << code : 0;
  }
  return set;
}
constexpr uint8_t KnownDtypes() {
  uint8_t count = 0;
  while (count < kDtypeCodeCount && kDtypeCodes[count].since <= kNewestVersion) {
    ++count;
  }
  return count;
}

// Does the newest release know all codes? Dtype codes up to the first unknown one are enough for
// that.
DLBRIDGE_INLINE bool KnownToNewest(const DLTensor& tensor, uint64_t flags) {
  constexpr uint64_t kDevices = KnownDevices();
  constexpr uint8_t kDtypes = KnownDtypes();
  const auto type = static_cast<uint32_t>(TypeOf(tensor.device));
  return tensor.dtype.code < kDtypes && type < 64 && ((kDevices >> type) & 1) != 0 &&
         (flags & ~kAllFlags) == 0;
}

// Explains why `version` is too old for the tensor.
DLBRIDGE_COLD DLBridgeStatus RefuseCodes(const DLTensor& tensor, uint64_t flags, Version version,
                                         DLBridgeError* error);

// Refuses what `version` cannot describe.
DLBRIDGE_INLINE DLBridgeStatus CheckCodes(const DLTensor& tensor, uint64_t flags, Version version,
                                          DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(version == kNewestVersion && KnownToNewest(tensor, flags)) ||
      RequiredVersion(tensor, flags) <= version) {
    return DLBRIDGE_OK;
  }
  return RefuseCodes(tensor, flags, version, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_REQUIRED_H_
