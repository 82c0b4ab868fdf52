// SPDX-License-Identifier: Apache-2.0
// Loads of foreign memory. Another thread may write to a producer's struct during a call, so each
// field is loaded once, and what was checked is what is used: a compiler may not load it again.
#ifndef DLBRIDGE_SRC_SUPPORT_LOAD_H_
#define DLBRIDGE_SRC_SUPPORT_LOAD_H_

#include <cstdint>
#include <cstring>

#include "dlbridge/dlbridge.h"
#include "support/checked.h"

namespace dlbridge {

// May be read where another type was written.
typedef uint32_t __attribute__((may_alias)) LoadedWord;  // NOLINT(modernize-use-using)
typedef uint64_t __attribute__((may_alias)) LoadedQuad;  // NOLINT(modernize-use-using)

template <class T>
DLBRIDGE_INLINE T Load(const T* field) {
  return __atomic_load_n(field, __ATOMIC_RELAXED);
}

// A field of four bytes that is a struct or an enumeration, as an integer.
DLBRIDGE_INLINE uint32_t LoadWord(const void* field) {
  return __atomic_load_n(static_cast<const LoadedWord*>(field), __ATOMIC_RELAXED);
}

DLBRIDGE_INLINE DLDataType DtypeOfWord(uint32_t word) {
  return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
          static_cast<uint16_t>(word >> 16)};
}

DLBRIDGE_INLINE DLDevice LoadDevice(const DLDevice& device) {
  const uint32_t type = LoadWord(&device.device_type);
  DLDevice loaded;
  // Field by field: joined in one register, compilers take it apart again.
  std::memcpy(&loaded.device_type, &type, sizeof type);
  loaded.device_id = Load(&device.device_id);
  return loaded;
}

// A copy of the struct. Its arrays are still the producer's.
DLBRIDGE_INLINE DLTensor LoadTensor(const DLTensor& tensor) {
  DLTensor loaded;
  loaded.data = Load(&tensor.data);
  loaded.device = LoadDevice(tensor.device);
  loaded.ndim = Load(&tensor.ndim);
  loaded.dtype = DtypeOfWord(LoadWord(&tensor.dtype));
  loaded.shape = Load(&tensor.shape);
  loaded.strides = Load(&tensor.strides);
  loaded.byte_offset = Load(&tensor.byte_offset);
  return loaded;
}

DLBRIDGE_INLINE DLPackVersion LoadVersion(const DLPackVersion& version) {
  return {Load(&version.major), Load(&version.minor)};
}

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_LOAD_H_
