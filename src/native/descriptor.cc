// SPDX-License-Identifier: Apache-2.0
#include "native/descriptor.h"

#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "support/text.h"

namespace dlbridge {
namespace {

static_assert(kAtArrays + 16 * kDescriptorAxes + kMaxIpcHandle <= kDescriptorMaxSize,
              "the largest one fits");
static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLPackVersion) == 8,
              "fields of the format");

template <class T>
void Put(uint8_t* bytes, uint32_t at, const T& value) {
  std::memcpy(bytes + at, &value, sizeof value);
}

template <class T>
T Get(const uint8_t* bytes, uint32_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof value);
  return value;
}

size_t LengthOf(int32_t ndim, uint32_t handle_length) {
  return kAtArrays + size_t{16} * static_cast<uint32_t>(ndim) + handle_length;
}

// FNV-1a over all bytes, with the checksum field as zeros. It detects every single altered byte.
uint64_t ChecksumOf(const uint8_t* bytes, size_t length) {
  uint64_t sum = 0xcbf29ce484222325U;
  for (size_t i = 0; i < length; ++i) {
    const bool own = i >= kAtChecksum && i < kAtChecksum + sizeof sum;
    sum = (sum ^ (own ? 0 : bytes[i])) * 0x100000001b3U;
  }
  return sum;
}

DLBRIDGE_COLD DLBridgeStatus RejectBytes(DLBridgeError* error, const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor", problem);
}

DLBRIDGE_COLD DLBridgeStatus RejectFormat(uint32_t format, DLBridgeError* error) {
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("has format ")
      .Unsigned(format)
      .String(", expected 1 or 2: a newer version of the library wrote it; update this one");
  return RejectBytes(error, problem);
}

// Rejects a descriptor with an invalid number.
template <class T>
DLBRIDGE_COLD DLBridgeStatus RejectNumber(DLBridgeError* error, const char* problem, T found) {
  return RejectValue(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor", problem, found);
}

DLBRIDGE_COLD DLBridgeStatus RejectLength(DLBridgeError* error, const char* problem,
                                          uint64_t expected, uint64_t found) {
  char text[120];
  TextWriter(text, sizeof text).String(problem).Unsigned(expected).String(" bytes");
  return RejectNumber(error, text, found);
}

// Rejects a number above a limit of the format.
DLBRIDGE_COLD DLBridgeStatus RejectLimit(DLBridgeError* error, const char* problem, uint32_t limit,
                                         const char* rest, uint32_t found) {
  char text[120];
  TextWriter(text, sizeof text).String(problem).Unsigned(limit).String(rest);
  return RejectNumber(error, text, found);
}

// Checks the magic, the format, the length and the checksum.
DLBridgeStatus CheckWhole(const uint8_t* bytes, size_t length, DLBridgeError* error) {
  if (length < kAtArrays) {
    return RejectLength(error, "is truncated: expected at least ", kAtArrays, length);
  }
  if (std::memcmp(bytes, kDescriptorMagic, sizeof kDescriptorMagic) != 0) {
    return RejectBytes(error, "does not begin like a descriptor of dlbridge_ipc_export");
  }
  const auto format = Get<uint32_t>(bytes, kAtFormat);
  if (format > kNewestFormat) {
    return RejectFormat(format, error);
  }
  const auto stated = Get<uint32_t>(bytes, kAtLength);
  if (stated != length) {
    return RejectLength(error, "has a length that differs from its own length field: expected ",
                        stated, length);
  }
  if (format == 0 || Get<uint64_t>(bytes, kAtChecksum) != ChecksumOf(bytes, length)) {
    return RejectBytes(error, "is corrupt: its checksum does not match");
  }
  return DLBRIDGE_OK;
}

// Checks the numbers that locate other fields, and the reserved fields.
DLBridgeStatus CheckShape(const Descriptor& descriptor, const uint8_t* bytes, size_t length,
                          DLBridgeError* error) {
  static_assert(kDescriptorAxes == 64, "as the message says");
  const FormatLimits& limits = kFormatLimits[descriptor.format];
  if (descriptor.ndim < 0 || descriptor.ndim > kDescriptorAxes) {
    return RejectNumber(error, "must have 0 to 64 axes", descriptor.ndim);
  }
  if (descriptor.handle_length > limits.handle) {
    return RejectLimit(error, "must have a handle of at most ", limits.handle,
                       " bytes after its arrays", descriptor.handle_length);
  }
  const size_t expected = LengthOf(descriptor.ndim, descriptor.handle_length);
  if (expected != length) {
    return RejectLength(error, "has a length that does not match its arrays: expected ", expected,
                        length);
  }
  if (descriptor.fd_count > limits.fds) {
    return RejectLimit(error, "needs too many file descriptors: expected at most ", limits.fds, "",
                       descriptor.fd_count);
  }
  if (descriptor.memory > SharedAs::kDeviceHandle) {
    return RejectNumber(error, "has a kind of memory that this library does not know",
                        static_cast<uint32_t>(descriptor.memory));
  }
  const uint32_t unknown = Get<uint32_t>(bytes, kAtOptions) | Get<uint32_t>(bytes, kAtReserved);
  if (unknown != 0) {
    return RejectNumber(error, "has a bit that this library does not know: expected 0", unknown);
  }
  return DLBRIDGE_OK;
}

void ReadHead(const uint8_t* bytes, Descriptor* out) {
  out->format = Get<uint32_t>(bytes, kAtFormat);
  out->memory = static_cast<SharedAs>(Get<uint32_t>(bytes, kAtMemory));
  out->backend = Get<int32_t>(bytes, kAtBackend);
  std::memcpy(&out->device, bytes + kAtDevice, sizeof out->device);
  out->dtype = Get<DLDataType>(bytes, kAtDtype);
  out->ndim = Get<int32_t>(bytes, kAtNdim);
  out->flags = Get<uint64_t>(bytes, kAtFlags);
  out->version = Get<DLPackVersion>(bytes, kAtVersion);
  out->size = Get<uint64_t>(bytes, kAtSize);
  out->data_offset = Get<uint64_t>(bytes, kAtDataOffset);
  out->byte_offset = Get<uint64_t>(bytes, kAtByteOffset);
  out->handle_length = Get<uint32_t>(bytes, kAtHandleLength);
  out->fd_count = Get<uint32_t>(bytes, kAtFdCount);
}

}  // namespace

size_t WriteDescriptor(const Descriptor& descriptor, uint8_t* out) {
  const size_t length = LengthOf(descriptor.ndim, descriptor.handle_length);
  const size_t array = sizeof(int64_t) * static_cast<size_t>(descriptor.ndim);
  std::memset(out, 0, kAtArrays);
  std::memcpy(out, kDescriptorMagic, sizeof kDescriptorMagic);
  Put(out, kAtFormat, descriptor.format);
  Put(out, kAtLength, static_cast<uint32_t>(length));
  Put(out, kAtMemory, static_cast<uint32_t>(descriptor.memory));
  Put(out, kAtBackend, descriptor.backend);
  Put(out, kAtDevice, descriptor.device);
  Put(out, kAtDtype, descriptor.dtype);
  Put(out, kAtNdim, descriptor.ndim);
  Put(out, kAtFlags, descriptor.flags);
  Put(out, kAtVersion, descriptor.version);
  Put(out, kAtSize, descriptor.size);
  Put(out, kAtDataOffset, descriptor.data_offset);
  Put(out, kAtByteOffset, descriptor.byte_offset);
  Put(out, kAtHandleLength, descriptor.handle_length);
  Put(out, kAtFdCount, descriptor.fd_count);
  std::memcpy(out + kAtArrays, descriptor.shape, array);
  std::memcpy(out + kAtArrays + array, descriptor.strides, array);
  std::memcpy(out + kAtArrays + 2 * array, descriptor.handle, descriptor.handle_length);
  Put(out, kAtChecksum, ChecksumOf(out, length));
  return length;
}

DLBridgeStatus ReadDescriptor(const uint8_t* bytes, size_t length, Descriptor* out,
                              DLBridgeError* error) {
  DLBRIDGE_TRY(CheckWhole(bytes, length, error));
  ReadHead(bytes, out);
  DLBRIDGE_TRY(CheckShape(*out, bytes, length, error));
  const size_t array = sizeof(int64_t) * static_cast<size_t>(out->ndim);
  std::memcpy(out->shape, bytes + kAtArrays, array);
  std::memcpy(out->strides, bytes + kAtArrays + array, array);
  std::memcpy(out->handle, bytes + kAtArrays + 2 * array, out->handle_length);
  return DLBRIDGE_OK;
}

}  // namespace dlbridge
