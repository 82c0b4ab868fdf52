// SPDX-License-Identifier: Apache-2.0
#include "descriptor.h"

#include <array>
#include <cstring>

#include "native/descriptor_fields.h"
#include "wide.h"

namespace dlbridge::tool {

namespace {

// An importer maps the memory at the start of a page.
constexpr uint64_t kAssumedAddress = 1 << 16;

template <typename T>
T Get(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::vector<int64_t> Numbers(const std::string& bytes, size_t at, int32_t count) {
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    numbers.push_back(Get<int64_t>(bytes, at + sizeof(int64_t) * static_cast<size_t>(i)));
  }
  return numbers;
}

Tensor ReadTensor(const std::string& bytes, const Descriptor& descriptor) {
  Tensor tensor;
  tensor.name = "descriptor";
  tensor.version = {Get<uint32_t>(bytes, kAtVersion), Get<uint32_t>(bytes, kAtVersion + 4)};
  tensor.flags = Get<uint64_t>(bytes, kAtFlags);
  tensor.has_deleter = true;
  tensor.data = descriptor.memory == 0 ? 0 : kAssumedAddress + descriptor.data_offset;
  tensor.data_assumed = descriptor.memory != 0;
  tensor.device_type = Get<int32_t>(bytes, kAtDevice);
  tensor.device_id = Get<int32_t>(bytes, kAtDevice + 4);
  tensor.dtype = Get<DLDataType>(bytes, kAtDtype);
  tensor.ndim = Get<int32_t>(bytes, kAtNdim);
  tensor.byte_offset = Get<uint64_t>(bytes, kAtByteOffset);
  tensor.shape = Numbers(bytes, kAtArrays, tensor.ndim);
  tensor.strides = Numbers(bytes, kAtArrays + sizeof(int64_t) * tensor.shape->size(), tensor.ndim);
  return tensor;
}

void ReadHead(const std::string& bytes, Descriptor* out) {
  out->format = Get<uint32_t>(bytes, kAtFormat);
  out->memory = Get<uint32_t>(bytes, kAtMemory);
  out->backend = Get<int32_t>(bytes, kAtBackend);
  out->size = Get<uint64_t>(bytes, kAtSize);
  out->data_offset = Get<uint64_t>(bytes, kAtDataOffset);
  out->handle_length = Get<uint32_t>(bytes, kAtHandleLength);
  out->fd_count = Get<uint32_t>(bytes, kAtFdCount);
}

// The error of an import with `more` file descriptors than the descriptor states. The library
// rejects that number before it uses a file descriptor or a driver.
std::string ErrorOfImport(const std::string& bytes, size_t fd_count) {
  const std::vector<int32_t> closed(fd_count, -1);
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.buffer = bytes.data();
  spec.buffer_size = bytes.size();
  spec.fds = closed.data();
  spec.fd_count = closed.size();
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  if (dlbridge_ipc_import(&spec, &tensor, &error) == DLBRIDGE_OK) {
    dlbridge_release_versioned(tensor);
    return "";
  }
  return error.message;
}

Finding Fault(const std::string& what, const std::string& expected, const std::string& found,
              const std::string& remedy) {
  Finding fault;
  fault.name = "DESCRIPTOR";
  fault.status = "ERROR_DESCRIPTOR";
  fault.what = what;
  fault.expected = expected;
  fault.found = found;
  fault.remedy = remedy;
  return fault;
}

// Faults of the bytes give the same error for two wrong numbers of file descriptors.
void CheckBytes(const std::string& bytes, Descriptor* out) {
  const size_t wrong = size_t{out->fd_count % 1024} + 1;
  const std::string error = ErrorOfImport(bytes, wrong);
  if (error == ErrorOfImport(bytes, wrong + 1)) {
    out->faults.push_back(Fault(
        error, "", "", "send the bytes that dlbridge_ipc_export wrote, all of them and unchanged"));
  }
}

// Backend, file descriptors and device must be those of the kind of memory.
void CheckMemory(const Tensor& tensor, Descriptor* out) {
  static constexpr std::array<const char*, 3> kExpected = {
      "no backend, file descriptor or size", "backend CPU, device cpu:0 and one file descriptor",
      "the backend of a device, and a handle"};
  const bool none = out->backend == 0 && out->fd_count == 0 && out->size == 0;
  const bool host = out->backend == DLBRIDGE_BACKEND_CPU && out->fd_count == 1 &&
                    out->handle_length == 0 && out->format == 1 &&
                    tensor.device_type == static_cast<int32_t>(kDLCPU);
  const bool device = out->backend > DLBRIDGE_BACKEND_CPU && out->handle_length != 0 &&
                      tensor.device_type != static_cast<int32_t>(kDLCPU);
  const std::array<bool, 3> right = {none, host, device};
  if (out->memory < right.size() && !right.at(out->memory)) {
    out->faults.push_back(Fault("the kind of memory contradicts other fields",
                                kExpected.at(out->memory),
                                "backend " + std::to_string(out->backend) + ", device " +
                                    DeviceName(tensor.device_type, tensor.device_id) + ", " +
                                    Count(out->fd_count, "file descriptor") + ", a handle of " +
                                    Count(out->handle_length, "byte"),
                                "correct it in the exporter"));
  }
}

}  // namespace

bool IsDescriptor(const std::string& bytes) {
  constexpr size_t kLetters = sizeof kDescriptorMagic - 1;
  return bytes.size() >= kLetters && std::memcmp(bytes.data(), kDescriptorMagic, kLetters) == 0;
}

Descriptor ReadDescriptor(const std::string& bytes) {
  Descriptor descriptor;
  if (bytes.size() >= kAtArrays) {
    ReadHead(bytes, &descriptor);
  }
  CheckBytes(bytes, &descriptor);
  if (bytes.size() < kAtArrays || bytes.size() > kDescriptorMaxSize) {
    return descriptor;
  }
  const auto ndim = Get<int32_t>(bytes, kAtNdim);
  if (ndim >= 0 && ndim <= DLBRIDGE_MAX_NDIM &&
      bytes.size() >= kAtArrays + size_t{16} * static_cast<size_t>(ndim)) {
    descriptor.tensor = ReadTensor(bytes, descriptor);
    CheckMemory(*descriptor.tensor, &descriptor);
  }
  return descriptor;
}

void CheckBounds(const DLBridgeLayout& layout, Descriptor* descriptor) {
  const Wide origin = Wide{descriptor->data_offset} + descriptor->tensor->byte_offset;
  const Wide begin = origin + layout.begin;
  const Wide end = origin + layout.end;
  if (layout.begin != layout.end && (begin < 0 || end > Wide{descriptor->size})) {
    descriptor->faults.push_back(Fault("the tensor touches bytes outside the memory",
                                       "bytes 0 to " + std::to_string(descriptor->size),
                                       "bytes " + ToString(begin) + " to " + ToString(end),
                                       "correct it in the exporter"));
  }
}

}  // namespace dlbridge::tool
