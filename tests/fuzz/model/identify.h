// SPDX-License-Identifier: Apache-2.0
// Model of docs/identify.md: which kind the first 64 bytes of a foreign managed tensor can be.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_IDENTIFY_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_IDENTIFY_H_

#include <cstdint>
#include <cstring>

#include "dlbridge/dlbridge.h"

namespace dlbridge_fuzz {

// The bytes by their offsets, as in the document's table.
class FirstBytes {
 public:
  explicit FirstBytes(const void* tensor) { std::memcpy(bytes_, tensor, sizeof bytes_); }

  bool CanBeVersion() const { return U32(0) >= 1 && U32(0) <= 255 && U32(4) <= 255; }
  bool CanBeLegacy() const {
    return I32(8) > 0 && I32(12) >= 0 && I32(16) >= 0 && bytes_[21] != 0 && U16(22) != 0 &&
           (I32(16) == 0 || (IsArray(24) && (U64(32) == 0 || IsArray(32)))) && IsCode(56);
  }
  bool CanBeVersioned() const {
    if (!IsCode(16)) {
      return false;
    }
    if (U32(0) != 1) {
      const bool device = I32(8) >= 1 && I32(8) <= 255 && I32(12) >= -65535 && I32(12) <= 65535;
      return U64(16) >> 48 == 0 && !device;
    }
    return I32(40) > 0 && I32(44) >= 0 && I32(48) >= 0 && bytes_[53] != 0 && U16(54) != 0 &&
           (I32(48) == 0 || IsArray(56));
  }
  DLBridgeKind Kind() const {
    if (!CanBeVersion()) {
      return DLBRIDGE_KIND_LEGACY;
    }
    if (CanBeLegacy()) {
      return CanBeVersioned() ? DLBRIDGE_KIND_AMBIGUOUS : DLBRIDGE_KIND_LEGACY;
    }
    return CanBeVersioned() ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_UNKNOWN;
  }

 private:
  template <class T>
  T At(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  uint16_t U16(size_t offset) const { return At<uint16_t>(offset); }
  uint32_t U32(size_t offset) const { return At<uint32_t>(offset); }
  uint64_t U64(size_t offset) const { return At<uint64_t>(offset); }
  int32_t I32(size_t offset) const { return At<int32_t>(offset); }
  bool IsArray(size_t offset) const { return U64(offset) >= 4096 && U64(offset) % 8 == 0; }
  bool IsCode(size_t offset) const { return U64(offset) == 0 || U64(offset) >= 4096; }

  uint8_t bytes_[64];
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_IDENTIFY_H_
