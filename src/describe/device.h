// SPDX-License-Identifier: Apache-2.0
// Device types: name, first release, and whether `data` is an address or a handle.
#ifndef DLBRIDGE_SRC_DESCRIBE_DEVICE_H_
#define DLBRIDGE_SRC_DESCRIBE_DEVICE_H_

#include <cstdint>
#include <cstring>

#include "describe/version.h"
#include "dlbridge/dlbridge.h"
#include "support/checked.h"
#include "support/text.h"

namespace dlbridge {

// The meaning of DLTensor::data.
enum class DataIs : uint8_t {
  kAddress,  // offsets may be added to it
  kHandle,   // opaque: offsets count from its start, and nothing lies before it
  kUnknown   // not specified: no offset is added to it and nothing is assumed
};

struct DeviceType {
  const char* name;
  Version since;
  DataIs data;
  bool host_like;           // host memory: device_id should be 0
  DLBridgeAnswer readable;  // can the CPU read it?
};

// Indexed by code; 0, 5 and 6 were never assigned and have no name.
inline constexpr DeviceType kDeviceTypes[] = {
    // [facts/devices.toml]
    {nullptr, kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"cpu", 2, DataIs::kAddress, true, DLBRIDGE_YES},
    {"cuda", 2, DataIs::kAddress, false, DLBRIDGE_NO},
    {"cuda_host", 2, DataIs::kAddress, true, DLBRIDGE_YES},
    {"opencl", 2, DataIs::kHandle, false, DLBRIDGE_NO},
    {nullptr, kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {nullptr, kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"vulkan", 3, DataIs::kHandle, false, DLBRIDGE_NO},
    {"metal", 2, DataIs::kHandle, false, DLBRIDGE_NO},
    {"vpi", 2, DataIs::kHandle, false, DLBRIDGE_NO},
    {"rocm", 2, DataIs::kAddress, false, DLBRIDGE_NO},
    {"rocm_host", 6, DataIs::kAddress, true, DLBRIDGE_YES},
    {"ext_dev", 3, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"cuda_managed", 6, DataIs::kAddress, true, DLBRIDGE_YES},
    {"oneapi", 7, DataIs::kAddress, false, DLBRIDGE_UNDECIDED},
    {"webgpu", 7, DataIs::kHandle, false, DLBRIDGE_NO},
    {"hexagon", 7, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"maia", 100, DataIs::kUnknown, false, DLBRIDGE_NO},
    {"trn", 102, DataIs::kUnknown, false, DLBRIDGE_NO},
    {"tpu", kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"tpu_host", kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    {"ascend", kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},
    // [/facts]
};
constexpr uint32_t kDeviceTypeCount = sizeof(kDeviceTypes) / sizeof(kDeviceTypes[0]);

// The row of a code; for an unknown code, a row without a name.
DLBRIDGE_INLINE const DeviceType& DeviceTypeOf(int32_t code) {
  return kDeviceTypes[static_cast<uint32_t>(code) < kDeviceTypeCount ? static_cast<uint32_t>(code)
                                                                     : 0];
}

// Reads the type as an integer: foreign code may store any value in the enumeration.
DLBRIDGE_INLINE int32_t TypeOf(const DLDevice& device) {
  int32_t code = 0;
  std::memcpy(&code, &device, sizeof code);
  return code;
}

DLBRIDGE_INLINE DLDevice MakeDevice(int32_t type, int32_t id) {
  const int32_t fields[2] = {type, id};
  DLDevice device;
  std::memcpy(&device, fields, sizeof device);
  return device;
}

// The kind of buffer that a device type implies.
DLBRIDGE_INLINE int32_t ImpliedBufferKind(int32_t type) {
  if (type == kDLOpenCL) {
    return DLBRIDGE_BUFFER_CL_MEM;
  }
  return DeviceTypeOf(type).data == DataIs::kHandle ? DLBRIDGE_BUFFER_HANDLE
                                                    : DLBRIDGE_BUFFER_ADDRESS;
}

// {0, 0} in a spec means the CPU.
DLBRIDGE_INLINE DLDevice DeviceOrCpu(const DLDevice& device) {
  const int32_t type = TypeOf(device);
  return MakeDevice(type == 0 && device.device_id == 0 ? static_cast<int32_t>(kDLCPU) : type,
                    device.device_id);
}

// A device as one integer, for %g in a message.
DLBRIDGE_INLINE uint64_t Packed(const DLDevice& device) {
  return static_cast<uint64_t>(static_cast<uint32_t>(TypeOf(device))) << 32 |
         static_cast<uint32_t>(device.device_id);
}

// The device types for which `holds` is true, as a bit set.
template <class Holds>
constexpr uint64_t DeviceSet(Holds holds) {
  uint64_t set = 0;
  for (uint32_t code = 0; code < kDeviceTypeCount; ++code) {
    set |= holds(kDeviceTypes[code]) ? uint64_t{1} << code : 0;
  }
  return set;
}

// The device in canonical form: host-like memory has the id 0. A negative id breaks a rule and is
// left unchanged.
DLBRIDGE_INLINE DLDevice CanonicalDevice(const DLDevice& device) {
  const int32_t type = TypeOf(device);
  return MakeDevice(type,
                    DeviceTypeOf(type).host_like && device.device_id > 0 ? 0 : device.device_id);
}

void WriteDeviceType(int32_t code, TextWriter* text);
void WriteDevice(const DLDevice& device, TextWriter* text);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_DESCRIBE_DEVICE_H_
