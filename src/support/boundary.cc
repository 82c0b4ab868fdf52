// SPDX-License-Identifier: Apache-2.0
#include "support/boundary.h"

namespace dlbridge {

DLBridgeStatus CheckStructSize(const void* object, uint32_t struct_size, size_t first_size,
                               size_t known_size, const char* argument, DLBridgeError* error) {
  if (struct_size < first_size) {
    return RefuseArgument(error, argument, "has a struct_size smaller than its first version");
  }
  const auto* bytes = static_cast<const unsigned char*>(object);
  for (size_t i = known_size; i < struct_size; ++i) {
    if (bytes[i] != 0) {
      return RefuseStatus(error, DLBRIDGE_ERROR_STRUCT_TOO_NEW, argument,
                          "has settings that this library is too old to know; update it, or leave "
                          "them zero");
    }
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
