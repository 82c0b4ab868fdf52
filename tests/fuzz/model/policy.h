// SPDX-License-Identifier: Apache-2.0
// Policies of any content, and a model of which of them are legal.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_POLICY_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_POLICY_H_

#include <cstdint>
#include <set>
#include <string>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/codes.h"
#include "fuzz/support/input.h"
#include "fuzz/support/memory.h"

namespace dlbridge_fuzz {

using Statuses = std::set<DLBridgeStatus>;

// What a struct of `known` bytes is rejected for. The size may differ from the first version's.
inline void AddSizeFaults(const void* object, uint32_t known, Statuses* out) {
  uint32_t size = 0;
  std::memcpy(&size, object, sizeof size);
  if (size < known || size > 4096) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
    return;
  }
  const auto* bytes = static_cast<const uint8_t*>(object);
  for (uint32_t i = known; i < size; ++i) {
    if (bytes[i] != 0) {
      out->insert(DLBRIDGE_ERROR_TOO_NEW);
    }
  }
}
inline void AddOptionFaults(uint32_t options, uint32_t known, Statuses* out) {
  if ((options & 0xff) != 0) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if ((options & ~known & ~0xffU) != 0) {
    out->insert(DLBRIDGE_ERROR_TOO_NEW);
  }
}
inline void AddEnumFaults(int32_t value, int32_t most, Statuses* out) {
  if (value < 0) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if (value > most) {
    out->insert(DLBRIDGE_ERROR_TOO_NEW);
  }
}

inline bool IsLegalShape(const DLBridgePolicy& policy) {
  if (policy.shape == nullptr) {
    return true;
  }
  if ((policy.options & DLBRIDGE_POLICY_LIMIT_NDIM) == 0 || policy.min_ndim != policy.max_ndim) {
    return false;
  }
  for (int32_t i = 0; i < policy.max_ndim; ++i) {
    if (policy.shape[i] < -1) {
      return false;
    }
  }
  return true;
}

inline bool AsksForArrays(const DLBridgePolicy& policy) {
  const bool overlap = (policy.options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0 &&
                       (policy.options & DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP) == 0;
  const uint32_t arrays = DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES |
                          DLBRIDGE_POLICY_REJECT_ZERO_STRIDES | DLBRIDGE_POLICY_LIMIT_BUFFER;
  return overlap || (policy.options & arrays) != 0 || policy.alignment != 0 ||
         policy.contiguity != 0 || policy.shape != nullptr;
}

// For a policy whose struct_size is legal.
inline void AddPolicyFaults(const DLBridgePolicy& policy, Statuses* out) {
  AddOptionFaults(policy.options, 0xfff00, out);
  AddEnumFaults(policy.level, DLBRIDGE_LEVEL_DEVICE, out);
  AddEnumFaults(policy.contiguity, DLBRIDGE_CONTIGUITY_C_OR_F, out);
  if (policy.version.major > 1) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
    out->insert(DLBRIDGE_ERROR_VERSION);
    out->insert(DLBRIDGE_ERROR_TOO_NEW);
  }
  const bool limits = (policy.options & DLBRIDGE_POLICY_LIMIT_NDIM) != 0;
  const bool legal_limits =
      limits ? policy.min_ndim >= 0 && policy.min_ndim <= policy.max_ndim && policy.max_ndim <= 64
             : policy.min_ndim == 0 && policy.max_ndim == 0;
  const bool limits_buffer = (policy.options & DLBRIDGE_POLICY_LIMIT_BUFFER) != 0;
  const bool one_bit = (policy.alignment & (policy.alignment - 1)) == 0;
  const bool legal = legal_limits && (limits_buffer || policy.buffer_size == 0) && one_bit &&
                     (policy.devices == nullptr) == (policy.device_count == 0) &&
                     (policy.dtypes == nullptr) == (policy.dtype_count == 0) &&
                     (policy.level != DLBRIDGE_LEVEL_STRUCT || !AsksForArrays(policy));
  if (!legal || (legal_limits && !IsLegalShape(policy))) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if (!legal_limits && policy.shape != nullptr) {
    out->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
}

// The moduli do not grow with the tables of codes.h: the seeds would change their meaning.
inline DLDataType TakeDtype(Input* input) {
  const uint8_t way = input->Byte();
  if (way < 96) {
    return DLDataType{2, 32, 1};
  }
  if (way < 224) {
    const auto code = static_cast<uint8_t>(way % 19);
    const auto demanded = static_cast<uint8_t>(DemandedBits(code));
    const uint8_t bits =
        demanded != 0 ? demanded : input->Pick<uint8_t>({8, 16, 32, 64, 128, 1, 2, 4, 3, 24, 12});
    return {code, bits, input->Pick<uint16_t>({1, 1, 1, 2, 3, 4})};
  }
  return {input->Byte(), input->Byte(),
          input->Pick<uint16_t>({0, 1, 0x7fff, 0x8000, 0xffff, input->Any<uint16_t>()})};
}

inline void TakeDevice(Input* input, int32_t* type, int32_t* id) {
  const uint8_t way = input->Byte();
  *type = way < 128 ? 1 : (way < 240 ? way % 23 : input->Any<int32_t>());
  *id = way % 4 != 3 ? 0 : input->Pick({1, 7, -1, INT32_MAX, INT32_MIN});
}

inline uint64_t TakeFlags(Input* input) {
  const uint8_t way = input->Byte();
  return way < 240 ? way % 8 : uint64_t{1} << (way % 2 == 0 ? 3 : input->Byte() % 64);
}

// A policy in guarded memory; it is the default one after the end of the input.
inline DLBridgePolicy* TakePolicy(Input* input, GuardedMemory* memory) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = uint32_t{input->Any<uint16_t>()} << 8 & 0xfff00U;
  if (input->OneIn(2)) {
    policy.options &= uint32_t{input->Any<uint16_t>()} << 8;
  }
  if (input->OneIn(16)) {
    policy.options |= uint32_t{1} << (input->Byte() % 32);
  }
  policy.version = {input->Pick<uint32_t>({0, 1, 1, 1, 0, 2}),
                    input->Pick<uint32_t>({0, 1, 2, 3, 4, 8, UINT32_MAX})};
  policy.level = input->Pick({0, 0, 0, 2, 1, 1, 3, 4, -1});
  if (input->OneIn(3)) {
    policy.contiguity = input->Pick({1, 2, 3, 4, -1});
  }
  if (input->OneIn(3)) {
    policy.alignment = input->OneIn(8) ? input->Any<uint64_t>() : 1ULL << (input->Byte() % 64);
  }
  if ((policy.options & DLBRIDGE_POLICY_LIMIT_NDIM) != 0 || input->OneIn(32)) {
    policy.min_ndim = input->Pick({0, 1, 2, 3, -1, 65});
    policy.max_ndim = input->Pick({policy.min_ndim, 64, 2, 0, 65, -1});
  }
  if ((policy.options & DLBRIDGE_POLICY_LIMIT_BUFFER) != 0 || input->OneIn(32)) {
    policy.buffer_size = input->OneIn(4) ? input->Any<uint64_t>() : input->Byte();
  }
  if (input->OneIn(4)) {
    policy.device_count = 1 + input->Below(3);
    auto* devices = memory->Take<DLDevice>(policy.device_count);
    for (size_t i = 0; i < policy.device_count; ++i) {
      const int32_t fields[2] = {input->Byte() % 20, input->Pick({-1, 0, 1})};
      std::memcpy(devices + i, fields, sizeof fields);
    }
    policy.devices = devices;
  }
  if (input->OneIn(4)) {
    policy.dtype_count = 1 + input->Below(3);
    auto* dtypes = memory->Take<DLDataType>(policy.dtype_count);
    for (size_t i = 0; i < policy.dtype_count; ++i) {
      dtypes[i] = TakeDtype(input);
    }
    policy.dtypes = dtypes;
  }
  if (input->OneIn(32)) {
    // A pointer without a count, or the reverse.
    size_t* count = input->Flag() ? &policy.device_count : &policy.dtype_count;
    *count = *count == 0 ? 1 : 0;
  }
  if ((policy.options & DLBRIDGE_POLICY_LIMIT_NDIM) != 0 && input->OneIn(3)) {
    const auto extents =
        static_cast<size_t>(policy.max_ndim > 0 && policy.max_ndim <= 64 ? policy.max_ndim : 0);
    auto* shape = memory->Take<int64_t>(extents + 1) + 1;
    for (size_t i = 0; i < extents; ++i) {
      shape[i] = input->Between(-1, 5) - (input->OneIn(64) ? 2 : 0);
    }
    policy.shape = shape;
  }
  if (!input->OneIn(12)) {
    return memory->Copy(policy);
  }
  // Another struct_size; no byte after that size is readable, and the tail may have a byte.
  const uint32_t size = input->Pick<uint32_t>({4, 0, 8, 96, 104, 112, 120, 4096, 4097, 60});
  uint8_t* bytes = memory->Take(size < 4 || size > 4096 ? 4 : size, 8);
  std::memset(bytes, 0, size < 4 || size > 4096 ? 4 : size);
  policy.struct_size = size;
  std::memcpy(bytes, &policy, std::min<size_t>(sizeof policy, size < 4 || size > 4096 ? 4 : size));
  if (size > sizeof policy && size <= 4096 && input->Flag()) {
    bytes[sizeof policy + input->Below(size - sizeof policy)] = 1;
  }
  return reinterpret_cast<DLBridgePolicy*>(bytes);
}

// The status is that of one of the faults.
inline void CheckStatus(const char* what, const Statuses& faults, DLBridgeStatus status) {
  if (faults.count(status) == 0) {
    std::string expected;
    for (const DLBridgeStatus fault : faults) {
      expected += (expected.empty() ? "" : " or ") + std::string(dlbridge_status_name(fault));
    }
    Fail(what, expected, dlbridge_status_name(status));
  }
}

inline Statuses PolicyFaults(const DLBridgePolicy* policy) {
  Statuses faults;
  AddSizeFaults(policy, sizeof(DLBridgePolicy), &faults);
  if (faults.count(DLBRIDGE_ERROR_INVALID_ARGUMENT) == 0) {
    AddPolicyFaults(*policy, &faults);
  }
  return faults;
}

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_POLICY_H_
