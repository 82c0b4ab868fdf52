// SPDX-License-Identifier: Apache-2.0
// A DLBridgeConvertOptions, checked and brought into the form that converters read.
#ifndef DLBRIDGE_SRC_OPTIONS_H_
#define DLBRIDGE_SRC_OPTIONS_H_

#include <cstdint>

#include "dlbridge/dlbridge.h"
#include "policy.h"
#include "support/checked.h"
#include "version.h"

namespace dlbridge {

// No default values: where the default options stand in, nothing of this is to be written.
struct Options {
  uint32_t flags;
  Version version;  // that the result will say
  uint64_t source_flags;
  const Policy* policy;
  const DLBridgeAllocator* allocator;
  Policy policy_storage;

  bool Has(uint32_t flag) const { return (flags & flag) != 0; }
  // Does the result differ from the source in more than its version?
  bool Reshapes() const {
    return Has(DLBRIDGE_CONVERT_CANONICAL | DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET |
               DLBRIDGE_CONVERT_COPY);
  }
  bool Validates() const {
    return !Has(DLBRIDGE_CONVERT_SKIP_VALIDATION) && policy->level >= DLBRIDGE_LEVEL_METADATA;
  }
};

// The default options but for the flags.
template <uint32_t kFlags>
struct PlainOptions {
  static constexpr Options kValue = {kFlags,          kNewestVersion, 0,
                                     &kDefaultPolicy, nullptr,        kDefaultPolicy};
};

// Options that say no more than this are so common that their values are folded into code of their
// own.
constexpr uint32_t kPlainFlags = DLBRIDGE_CONVERT_SKIP_VALIDATION | DLBRIDGE_CONVERT_WRITABLE;

// Are these the default options but for kPlainFlags?
DLBRIDGE_INLINE bool IsPlain(const DLBridgeConvertOptions& options) {
  const uint64_t version = Packed(options.version);
  const uint64_t rest = (options.struct_size ^ sizeof options) | (options.flags & ~kPlainFlags) |
                        options.source_flags | reinterpret_cast<uintptr_t>(options.policy) |
                        reinterpret_cast<uintptr_t>(options.allocator) | options.reserved[0] |
                        options.reserved[1];
  return rest == 0 && (version == 0 || version == Packed(kNewestVersion));
}

constexpr Options kDefaultOptions = PlainOptions<0>::kValue;

// Checks `source` and fills `*out`, which must not move afterwards.
DLBridgeStatus ReadOptions(const DLBridgeConvertOptions* source, Options* out,
                           DLBridgeError* error);

DLBridgeStatus CheckAllocator(const DLBridgeAllocator* allocator, DLBridgeError* error);

// The options behind a pointer of the caller's: the default ones where it is NULL, else `*storage`.
inline DLBridgeStatus ResolveOptions(const DLBridgeConvertOptions* source, Options* storage,
                                     const Options** out, DLBridgeError* error) {
  *out = &kDefaultOptions;
  if (source == nullptr) {
    return DLBRIDGE_OK;
  }
  *out = storage;
  return ReadOptions(source, storage, error);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_OPTIONS_H_
