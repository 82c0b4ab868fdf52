// SPDX-License-Identifier: Apache-2.0
#include "describe/boundary.h"

namespace dlbridge {
namespace {

DLBridgeStatus CheckSize(uint32_t size, uint32_t first_size, const char* argument,
                         DLBridgeError* error) {
  if (size < first_size) {
    return RejectStructSize(error, argument, "at least", first_size, size);
  }
  if (size > kMaxStructSize) {
    return RejectStructSize(error, argument, "at most", kMaxStructSize, size);
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckStructSize(const void* object, uint32_t first_size, uint32_t known_size,
                               const char* argument, DLBridgeError* error) {
  const uint32_t size = SizeOf(object);
  DLBRIDGE_TRY(CheckSize(size, first_size, argument, error));
  const auto* bytes = static_cast<const unsigned char*>(object);
  for (uint32_t i = known_size; i < size; ++i) {
    if (bytes[i] != 0) {
      return RejectTail(error, argument, i, known_size);
    }
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckOutSize(const void* out, uint32_t first_size, uint32_t known_options,
                            const char* argument, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckSize(SizeOf(out), first_size, argument, error));
  // Every growable struct has `options` after struct_size.
  uint32_t options = 0;
  std::memcpy(&options, static_cast<const unsigned char*>(out) + sizeof(uint32_t), sizeof options);
  return CheckOptionBits(options, known_options, argument, error);
}

}  // namespace dlbridge
