// SPDX-License-Identifier: Apache-2.0
#include "describe/required.h"

#include "describe/boundary.h"
#include "describe/status.h"
#include "support/load.h"

namespace dlbridge {

DLBridgeStatus RejectCodes(const DLTensor& tensor, uint64_t flags, Version version,
                           DLBridgeError* error) {
  const int32_t type = TypeOf(tensor.device);
  if (DtypeSince(tensor.dtype.code) == kNoRelease) {
    return Reject(error,
                  {DLBRIDGE_RULE_DTYPE_UNKNOWN, kNoAxis, Packed(version), tensor.dtype.code});
  }
  if (DeviceTypeOf(type).since == kNoRelease) {
    return Reject(error, {DLBRIDGE_RULE_DEVICE_UNKNOWN, kNoAxis, Packed(version),
                          static_cast<uint64_t>(static_cast<int64_t>(type))});
  }
  if ((flags & ~kAllFlags) != 0) {
    return Reject(error, {DLBRIDGE_RULE_FLAGS_UNKNOWN, kNoAxis, kAllFlags, flags});
  }
  return Reject(error, {DLBRIDGE_RULE_REQUIRED_VERSION, kNoAxis, Packed(version),
                        Packed(RequiredVersion(tensor, flags))});
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_required_version(const DLTensor* tensor, uint64_t tensor_flags,
                                         DLPackVersion* out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(out);
  const DLTensor loaded = dlbridge::LoadTensor(*tensor);
  const dlbridge::Version required = dlbridge::RequiredVersion(loaded, tensor_flags);
  if (required == dlbridge::kNoRelease) {
    return dlbridge::RejectCodes(loaded, tensor_flags, dlbridge::kNewestVersion, error);
  }
  *out = dlbridge::ToDLPack(required);
  return DLBRIDGE_OK;
}

}  // extern "C"
