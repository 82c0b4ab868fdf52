// SPDX-License-Identifier: Apache-2.0
// Loads of foreign memory. Another thread may write to a producer's struct during a call, so each
// field is loaded exactly once, and the checked copy is used. The atomic load keeps the compiler
// from loading the field again.
#ifndef DLBRIDGE_SRC_SUPPORT_LOAD_H_
#define DLBRIDGE_SRC_SUPPORT_LOAD_H_

#include <cstdint>
#include <cstring>

#include "dlbridge/dlbridge.h"
#include "support/checked.h"

namespace dlbridge {

// These types may alias objects of any other type.
typedef uint32_t __attribute__((may_alias)) LoadedWord;  // NOLINT(modernize-use-using)
typedef uint64_t __attribute__((may_alias)) LoadedQuad;  // NOLINT(modernize-use-using)

template <class T>
DLBRIDGE_INLINE T Load(const T* field) {
  return __atomic_load_n(field, __ATOMIC_RELAXED);
}

// Loads a four-byte struct or enumeration as an integer.
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
  // Two loads: compilers would split a single 64-bit load into its halves again.
  std::memcpy(&loaded.device_type, &type, sizeof type);
  loaded.device_id = Load(&device.device_id);
  return loaded;
}

// The fields of a tensor that are not pointers or offsets, as integers. Compilers keep these in
// registers, but write the structs DLDevice and DLDataType to memory.
struct Head {
  uint32_t device_type;
  int32_t device_id;
  uint64_t ndim;   // its 32 bits, not sign-extended; so a negative ndim is huge
  uint32_t dtype;  // from the lowest bit: code, bits, lanes

  DLBRIDGE_INLINE uint8_t code() const { return static_cast<uint8_t>(dtype); }
  DLBRIDGE_INLINE uint32_t bits() const { return static_cast<uint8_t>(dtype >> 8); }
  DLBRIDGE_INLINE uint32_t lanes() const { return dtype >> 16; }
};

DLBRIDGE_INLINE uint64_t LoadNdim(const DLTensor& tensor) {
  return static_cast<uint32_t>(Load(&tensor.ndim));
}
// Loads all but ndim.
DLBRIDGE_INLINE void LoadCodes(const DLTensor& tensor, Head* out) {
  out->device_type = LoadWord(&tensor.device.device_type);
  out->device_id = Load(&tensor.device.device_id);
  out->dtype = LoadWord(&tensor.dtype);
}
DLBRIDGE_INLINE Head LoadHead(const DLTensor& tensor) {
  Head head = {0, 0, LoadNdim(tensor), 0};
  LoadCodes(tensor, &head);
  return head;
}
DLBRIDGE_INLINE void StoreHead(const Head& head, DLTensor* out) {
  std::memcpy(&out->device.device_type, &head.device_type, sizeof head.device_type);
  out->device.device_id = head.device_id;
  out->ndim = static_cast<int32_t>(head.ndim);
  std::memcpy(&out->dtype, &head.dtype, sizeof head.dtype);
}

// A copy of the struct; shape and strides still point to the producer's arrays.
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
