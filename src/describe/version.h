// SPDX-License-Identifier: Apache-2.0
// DLPack versions as one number that compares, and which release first knew a code.
#ifndef DLBRIDGE_SRC_DESCRIBE_VERSION_H_
#define DLBRIDGE_SRC_DESCRIBE_VERSION_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// major * 100 + minor. Releases so far stay below 100 minors.
using Version = uint32_t;

constexpr Version kFirstVersioned = 100;
// Upstream after the newest release, or unknown.
constexpr Version kNoRelease = 0xffffffff;

// [facts/dlpack.toml]
#define DLBRIDGE_DEFAULT_DLPACK "1.3"
constexpr Version kOldestVersion = 2;      // 0.2: the first with DLManagedTensor
constexpr Version kLegacyVersion = 8;      // 0.8: the last legacy one
constexpr Version kStridesSince = 102;     // 1.2: strides must be given
constexpr Version kNewestVersion = 103;    // 1.3: the newest that is known
constexpr Version kDefaultVersion = 103;   // 1.3: of {0, 0}, for all of ABI 1
constexpr Version kPaddedFlagSince = 101;  // 1.1: the padded flag
// [/facts]

constexpr uint32_t kMajor = 1;

// All flag bits that any release knows.
constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;
constexpr uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
constexpr uint64_t kAllFlags = kReadOnly | kCopied | kPadded;

constexpr DLPackVersion ToDLPack(Version version) { return {version / 100, version % 100}; }

// A version for the %v of a refusal.
constexpr uint64_t Packed(DLPackVersion version) {
  return static_cast<uint64_t>(version.major) << 32 | version.minor;
}
constexpr uint64_t Packed(Version version) { return Packed(ToDLPack(version)); }

// A newer release than the default is asked for, since a newer library must not change what a
// compiled caller receives.
static_assert(kDefaultVersion <= kNewestVersion, "ABI 1 knows its default");

// What a consumer of `version`, of major 1 or {0, 0} for the default, and this build share.
constexpr Version SharedVersion(DLPackVersion version) {
  if (version.major == 0) {
    return kDefaultVersion;
  }
  return version.minor < kNewestVersion - kFirstVersioned ? kFirstVersioned + version.minor
                                                          : kNewestVersion;
}

// A version above all releases is as good as the newest: minors only add values.
constexpr Version VersionOfMinor(uint32_t minor) {
  return kFirstVersioned + (minor < 99 ? minor : 99);
}

// What a consumer of `version`, of major 1 or {0, 0} for the default, reads.
constexpr Version ReadVersion(DLPackVersion version) {
  return version.major == 0 ? kDefaultVersion : VersionOfMinor(version.minor);
}

// The version of a legacy consumer, of major 0; {0, 0} and what is above the last one are the last.
constexpr Version LegacyVersion(DLPackVersion version) {
  return version.minor != 0 && version.minor < kLegacyVersion ? version.minor : kLegacyVersion;
}

constexpr uint64_t FlagsKnownTo(Version version) {
  return version >= kPaddedFlagSince ? kAllFlags : kReadOnly | kCopied;
}

// Oldest version that can record `flags`; kNoRelease with a bit that no release knows.
constexpr Version FlagsSince(uint64_t flags) {
  if ((flags & ~kAllFlags) != 0) {
    return kNoRelease;
  }
  if ((flags & kPadded) != 0) {
    return kPaddedFlagSince;
  }
  return flags != 0 ? kFirstVersioned : kOldestVersion;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_VERSION_H_
