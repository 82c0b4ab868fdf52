// SPDX-License-Identifier: Apache-2.0
// The C boundary: what every entry point asks of its arguments.
#ifndef DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_
#define DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "describe/status.h"
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

// A struct of more bytes than this is not one of this library: nothing of it is scanned.
constexpr uint32_t kMaxStructSize = 4096;

// Size of the first version of a struct, in 0.3.0. One that has grown since says so here.
template <class T>
constexpr uint32_t FirstSize() {
  return sizeof(T);
}

// `struct_size`, the first field, before anything else of a struct is read.
DLBRIDGE_INLINE uint32_t SizeOf(const void* object) {
  uint32_t size = 0;
  std::memcpy(&size, object, sizeof size);
  return size;
}

// Checks the size of a struct that the caller filled: at least `first_size`, at most
// kMaxStructSize, and zero after `known_size`, all that this build knows.
DLBridgeStatus CheckStructSize(const void* object, uint32_t first_size, uint32_t known_size,
                               const char* argument, DLBridgeError* error);

// The whole struct may be read afterwards: every version since the first has all of its fields. One
// that has grown is read with ReadStruct.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckStruct(const T* object, const char* argument,
                                           DLBridgeError* error) {
  static_assert(FirstSize<T>() == sizeof(T), "a struct that has grown is read with ReadStruct");
  if (DLBRIDGE_LIKELY(SizeOf(object) == sizeof(T))) {
    return DLBRIDGE_OK;
  }
  return CheckStructSize(object, FirstSize<T>(), sizeof(T), argument, error);
}

// Checks a struct and copies it to one of today's size; fields that the caller does not have are
// zero. The caller's must not be referred to as the whole struct: a compiler takes a reference for
// a promise that all of it can be read.
template <class T>
DLBridgeStatus ReadStruct(const T* object, const char* argument, T* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStructSize(object, FirstSize<T>(), sizeof(T), argument, error));
  const uint32_t size = SizeOf(object);
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, object, size < sizeof *out ? size : sizeof *out);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckOutSize(const void* out, uint32_t first_size, const char* argument,
                            DLBridgeError* error);

// Checks a struct that the library is to fill. Its options are 0 so far.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckOut(const T* out, const char* argument, DLBridgeError* error) {
  return CheckOutSize(out, FirstSize<T>(), argument, error);
}

// Writes such a struct up to the smaller of both sizes, and that number to its struct_size.
template <class T>
DLBRIDGE_INLINE void WriteOut(const T& value, T* out) {
  const uint32_t size = SizeOf(out);
  const uint32_t filled = size < sizeof value ? size : sizeof value;
  std::memcpy(out, &value, filled);
  std::memcpy(out, &filled, sizeof filled);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_
