// SPDX-License-Identifier: Apache-2.0
// The C boundary: the checks that every entry point makes on its arguments.
#ifndef DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_
#define DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "describe/status.h"
#include "support/checked.h"

// Rejects a NULL pointer; the message names the argument.
#define DLBRIDGE_REQUIRE(argument)                     \
  do {                                                 \
    if (DLBRIDGE_UNLIKELY((argument) == nullptr)) {    \
      return ::dlbridge::RejectNull(error, #argument); \
    }                                                  \
  } while (false)

// Returns an error to the caller.
#define DLBRIDGE_TRY(expression)                        \
  do {                                                  \
    const DLBridgeStatus try_status = (expression);     \
    if (DLBRIDGE_UNLIKELY(try_status != DLBRIDGE_OK)) { \
      return try_status;                                \
    }                                                   \
  } while (false)

namespace dlbridge {

// A larger struct_size cannot be valid: the struct is rejected without scanning its bytes.
constexpr uint32_t kMaxStructSize = 4096;

// Size of the first version of a struct, in 0.3.0. A struct that has grown since specialises it.
template <class T>
constexpr uint32_t FirstSize() {
  return sizeof(T);
}
template <>
constexpr uint32_t FirstSize<DLBridgePointerInfo>() {
  return offsetof(DLBridgePointerInfo, peers);
}
template <>
constexpr uint32_t FirstSize<DLBridgeIpcExportSpec>() {
  return offsetof(DLBridgeIpcExportSpec, stream);
}
template <>
constexpr uint32_t FirstSize<DLBridgeIpcImportSpec>() {
  return offsetof(DLBridgeIpcImportSpec, stream);
}

// Reads `struct_size`, the first field, before any other field.
DLBRIDGE_INLINE uint32_t SizeOf(const void* object) {
  uint32_t size = 0;
  std::memcpy(&size, object, sizeof size);
  return size;
}

// Checks the size of a struct that the caller filled: at least `first_size` and at most
// kMaxStructSize. All bytes after `known_size`, the size in this build, must be zero.
DLBridgeStatus CheckStructSize(const void* object, uint32_t first_size, uint32_t known_size,
                               const char* argument, DLBridgeError* error);

// For a struct that has not grown since its first version: all of its fields may be read
// afterwards. A struct that has grown is read with ReadStruct.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckStruct(const T* object, const char* argument,
                                           DLBridgeError* error) {
  static_assert(FirstSize<T>() == sizeof(T), "a struct that has grown is read with ReadStruct");
  if (DLBRIDGE_LIKELY(SizeOf(object) == sizeof(T))) {
    return DLBRIDGE_OK;
  }
  return CheckStructSize(object, FirstSize<T>(), sizeof(T), argument, error);
}

// Checks a struct and copies it to one of the current size; fields that the caller does not have
// are zero. Never form a reference to `*object`: compilers assume that all bytes of a referenced
// object can be read.
template <class T>
DLBridgeStatus ReadStruct(const T* object, const char* argument, T* out, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStructSize(object, FirstSize<T>(), sizeof(T), argument, error));
  const uint32_t size = SizeOf(object);
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, object, size < sizeof *out ? size : sizeof *out);
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckOutSize(const void* out, uint32_t first_size, uint32_t known_options,
                            const char* argument, DLBridgeError* error);

// Checks a struct that the library will fill.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckOut(const T* out, const char* argument, DLBridgeError* error) {
  return CheckOutSize(out, FirstSize<T>(), 0, argument, error);
}

// Reads the options of such a struct, which has these known option bits.
template <class T>
DLBRIDGE_INLINE DLBridgeStatus CheckOut(const T* out, uint32_t known_options, const char* argument,
                                        uint32_t* options, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOutSize(out, FirstSize<T>(), known_options, argument, error));
  std::memcpy(options, reinterpret_cast<const unsigned char*>(out) + sizeof(uint32_t),
              sizeof *options);
  return DLBRIDGE_OK;
}

// Fills such a struct up to the smaller of both sizes and sets struct_size to that number.
template <class T>
DLBRIDGE_INLINE void WriteOut(const T& value, T* out) {
  const uint32_t size = SizeOf(out);
  const uint32_t filled = size < sizeof value ? size : sizeof value;
  std::memcpy(out, &value, filled);
  std::memcpy(out, &filled, sizeof filled);
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_BOUNDARY_H_
