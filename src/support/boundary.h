// SPDX-License-Identifier: Apache-2.0
// The C boundary: what every entry point asks of its arguments.
#ifndef DLBRIDGE_SRC_SUPPORT_BOUNDARY_H_
#define DLBRIDGE_SRC_SUPPORT_BOUNDARY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "status.h"
#include "support/checked.h"

// Refuses a NULL where a pointer is required, by the argument's name.
#define DLBRIDGE_REQUIRE(argument)                                             \
  do {                                                                         \
    if (DLBRIDGE_UNLIKELY((argument) == nullptr)) {                            \
      return ::dlbridge::RefuseArgument(error, #argument, "must not be NULL"); \
    }                                                                          \
  } while (false)

// Passes an error on to the caller.
#define DLBRIDGE_TRY(expression)                        \
  do {                                                  \
    const DLBridgeStatus try_status = (expression);     \
    if (DLBRIDGE_UNLIKELY(try_status != DLBRIDGE_OK)) { \
      return try_status;                                \
    }                                                   \
  } while (false)

namespace dlbridge {

// Checks the size of a struct that the caller filled: at least `first_size`, the size of its first
// version, and zero behind `known_size`, all that this build knows.
DLBridgeStatus CheckStructSize(const void* object, uint32_t struct_size, size_t first_size,
                               size_t known_size, const char* argument, DLBridgeError* error);

// Size of the first version of a struct; one that has grown says so.
template <class T>
constexpr size_t FirstSize() {
  return sizeof(T);
}
template <>
constexpr size_t FirstSize<DLBridgeAllocateSpec>() {
  return offsetof(DLBridgeAllocateSpec, options);
}

template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckStruct(const T* object, const char* argument,
                                           DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(object->struct_size == sizeof(T))) {
    return DLBRIDGE_OK;
  }
  return CheckStructSize(object, object->struct_size, FirstSize<T>(), sizeof(T), argument, error);
}

// Checks a struct that has grown, and copies it to one of today's size, what it does not have being
// zero. Nothing may refer to the caller's as the whole struct: a compiler takes a reference for a
// promise that all of it can be read.
template <class T>
DLBridgeStatus ReadGrown(const T* object, const char* argument, T* out, DLBridgeError* error) {
  uint32_t size = 0;
  std::memcpy(&size, object, sizeof size);
  const DLBridgeStatus status =
      CheckStructSize(object, size, FirstSize<T>(), sizeof(T), argument, error);
  if (status == DLBRIDGE_OK) {
    std::memset(out, 0, sizeof *out);
    std::memcpy(out, object, size < sizeof *out ? size : sizeof *out);
  }
  return status;
}

// Checks the size of a struct that the library is to fill: at least that of its first version.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckOut(const T* out, const char* argument, DLBridgeError* error) {
  if (DLBRIDGE_LIKELY(out->struct_size >= FirstSize<T>())) {
    return DLBRIDGE_OK;
  }
  return RefuseArgument(error, argument, "has a struct_size smaller than its first version");
}

// Writes such a struct up to the smaller of both sizes; the caller's own size stays.
template <class T>
DLBRIDGE_INLINE void WriteOut(const T& value, T* out) {
  const uint32_t size = out->struct_size;
  if (DLBRIDGE_LIKELY(size >= sizeof value)) {
    *out = value;
  } else {
    std::memcpy(out, &value, size);
  }
  out->struct_size = size;
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_BOUNDARY_H_
