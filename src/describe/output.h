// SPDX-License-Identifier: Apache-2.0
// The buffer-and-length convention of all functions that write a text.
#ifndef DLBRIDGE_SRC_DESCRIBE_OUTPUT_H_
#define DLBRIDGE_SRC_DESCRIBE_OUTPUT_H_

#include "describe/boundary.h"
#include "support/text.h"

namespace dlbridge {

template <class Write>
DLBridgeStatus FormatText(char* buffer, size_t size, size_t* length, DLBridgeError* error,
                          Write write) {
  if (buffer == nullptr && size != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "buffer",
                       "must not be NULL with a non-zero size", size);
  }
  if (buffer == nullptr && length == nullptr) {
    return RejectArgument(error, "length", "must not be NULL if buffer is NULL");
  }
  TextWriter text(buffer, size);
  write(&text);
  if (length != nullptr) {
    *length = text.length();
  }
  if (size != 0 && !text.fits()) {
    return RejectSize(error, "size", text.length() + 1, size);
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_OUTPUT_H_
