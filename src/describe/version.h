// SPDX-License-Identifier: Apache-2.0
// DLPack versions as one number that can be compared.
#ifndef DLBRIDGE_SRC_DESCRIBE_VERSION_H_
#define DLBRIDGE_SRC_DESCRIBE_VERSION_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"

namespace dlbridge {

// major * 100 + minor. No release has a minor of 100 or more.
using Version = uint32_t;

constexpr Version kFirstVersioned = 100;
// Added upstream after the newest release, or unknown.
constexpr Version kNoRelease = 0xffffffff;

// [facts/dlpack.toml]
#define DLBRIDGE_DEFAULT_DLPACK "1.3"
constexpr Version kOldestVersion = 2;      // 0.2: the first with DLManagedTensor
constexpr Version kLegacyVersion = 8;      // 0.8: the last legacy one
constexpr Version kStridesSince = 102;     // 1.2: strides must not be NULL
constexpr Version kNewestVersion = 103;    // 1.3: the newest that this library knows
constexpr Version kDefaultVersion = 103;   // 1.3: the meaning of {0, 0} in all of ABI 1
constexpr Version kPaddedFlagSince = 101;  // 1.1: the padded flag
// [/facts]

constexpr uint32_t kMajor = 1;

// All flag bits of all releases.
constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;
constexpr uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
constexpr uint64_t kAllFlags = kReadOnly | kCopied | kPadded;

constexpr DLPackVersion ToDLPack(Version version) { return {version / 100, version % 100}; }

// A version as one integer, for %v in a message.
constexpr uint64_t Packed(DLPackVersion version) {
  return static_cast<uint64_t>(version.major) << 32 | version.minor;
}
constexpr uint64_t Packed(Version version) { return Packed(ToDLPack(version)); }

// A caller must ask explicitly for a release newer than the default: a newer library must not
// change what a compiled caller receives.
static_assert(kDefaultVersion <= kNewestVersion, "ABI 1 knows its default");

// The newest version that this build and a consumer of `version` share. `version` has major 1, or
// is {0, 0} for the default.
constexpr Version SharedVersion(DLPackVersion version) {
  if (version.major == 0) {
    return kDefaultVersion;
  }
  return version.minor < kNewestVersion - kFirstVersioned ? kFirstVersioned + version.minor
                                                          : kNewestVersion;
}

// A minor above all releases is clamped: minors only add values.
constexpr Version VersionOfMinor(uint32_t minor) {
  return kFirstVersioned + (minor < 99 ? minor : 99);
}

// The newest version that a consumer of `version` reads. `version` as in SharedVersion.
constexpr Version ReadVersion(DLPackVersion version) {
  return version.major == 0 ? kDefaultVersion : VersionOfMinor(version.minor);
}

// The version of a legacy consumer, with major 0. {0, 0} and versions above the last legacy version
// mean the last one.
constexpr Version LegacyVersion(DLPackVersion version) {
  return version.minor != 0 && version.minor < kLegacyVersion ? version.minor : kLegacyVersion;
}

constexpr uint64_t FlagsKnownTo(Version version) {
  return version >= kPaddedFlagSince ? kAllFlags : kReadOnly | kCopied;
}

// Oldest version that can record `flags`; kNoRelease for a bit that no release has.
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
