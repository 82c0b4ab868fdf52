// SPDX-License-Identifier: Apache-2.0
// A checked DLBridgeConvertOptions, in the form that conversions read.
#ifndef DLBRIDGE_SRC_TENSOR_OPTIONS_H_
#define DLBRIDGE_SRC_TENSOR_OPTIONS_H_

#include <cstdint>

#include "describe/boundary.h"
#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "validate/policy.h"

namespace dlbridge {

// The kind of tensor that a conversion makes.
enum class Target : uint8_t { kVersioned, kLegacy };

// No default values, so that a call with the default options writes no field.
struct Options {
  uint32_t options;
  Version version;  // of the result, or of a legacy consumer
  Version reads;    // newest that a versioned consumer reads; may be newer than this build knows
  uint64_t tensor_flags;
  const Policy* policy;
  const DLBridgeAllocator* allocator;
  Policy policy_storage;

  bool Has(uint32_t option) const { return (options & option) != 0; }
  // Does the result differ from the source in more than its version?
  bool Reshapes() const {
    return Has(DLBRIDGE_CONVERT_CANONICAL | DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET |
               DLBRIDGE_CONVERT_COPY);
  }
  bool Validates() const {
    return !Has(DLBRIDGE_CONVERT_SKIP_VALIDATION) && policy->level >= DLBRIDGE_LEVEL_METADATA;
  }
};

// The default options with other option bits.
template <uint32_t kOptions>
struct PlainOptions {
  static constexpr Options kValue = {kOptions,        kDefaultVersion, kDefaultVersion, 0,
                                     &kDefaultPolicy, nullptr,         kDefaultPolicy};
};

// Options with only these bits are so common that code is compiled for each combination.
constexpr uint32_t kPlainBits = DLBRIDGE_CONVERT_SKIP_VALIDATION | DLBRIDGE_CONVERT_VOUCH_WRITABLE;

// True for the default options, kPlainBits aside. struct_size is read before any other field.
DLBRIDGE_INLINE bool IsPlain(const DLBridgeConvertOptions* options) {
  if (DLBRIDGE_UNLIKELY(SizeOf(options) != sizeof *options)) {
    return false;
  }
  const uint64_t rest = (options->options & ~kPlainBits) | options->version.major |
                        options->version.minor | options->tensor_flags |
                        reinterpret_cast<uintptr_t>(options->policy) |
                        reinterpret_cast<uintptr_t>(options->allocator);
  return rest == 0;
}

constexpr Options kDefaultOptions = PlainOptions<0>::kValue;
constexpr Options kDefaultDowngrade = {0,       kLegacyVersion, kLegacyVersion, 0, &kDefaultPolicy,
                                       nullptr, kDefaultPolicy};

// Checks `source` and fills `*out`, which must not be copied: it may point into itself.
DLBridgeStatus ReadOptions(const DLBridgeConvertOptions* source, Target target, Options* out,
                           DLBridgeError* error);

// Rejects options that only concern legacy results.
DLBridgeStatus CheckUpgradeOptions(const Options& options, DLBridgeError* error);

DLBridgeStatus CheckAllocator(const DLBridgeAllocator* allocator, const char* argument,
                              DLBridgeError* error);

// Sets `*out` to the caller's options, read into `*storage`, or to the default options for NULL.
inline DLBridgeStatus ResolveOptions(const DLBridgeConvertOptions* source, Target target,
                                     Options* storage, const Options** out, DLBridgeError* error) {
  *out = target == Target::kVersioned ? &kDefaultOptions : &kDefaultDowngrade;
  if (source == nullptr) {
    return DLBRIDGE_OK;
  }
  *out = storage;
  return ReadOptions(source, target, storage, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_TENSOR_OPTIONS_H_
