// SPDX-License-Identifier: Apache-2.0
// Legacy or versioned, by the 64 bytes that both structs have.
//
// For each kind there are conditions that every live tensor of that kind meets. A kind is named
// only where its conditions hold and the other's do not; so a live tensor is never taken for the
// other kind. docs/identify.md says what bytes meet both.
#include <cstring>

#include "node.h"
#include "version.h"

namespace dlbridge {
namespace {

constexpr size_t kReadable = sizeof(DLManagedTensor);
static_assert(kReadable <= sizeof(DLManagedTensorVersioned), "legacy is the smaller struct");

// Versions beyond this are not expected to come; a pointer's lower half hardly ever looks so small.
constexpr uint32_t kMaxPlausibleVersion = 255;
// Code and arrays are never mapped in the first page.
constexpr uint64_t kFirstPage = 4096;
// Programs lie below this on x86-64 and 64-bit Arm, unless they ask for five levels of page tables.
constexpr uint64_t kUserSpace = uint64_t{1} << 48;

// The bytes, read at any offset as any type.
class Bytes {
 public:
  explicit Bytes(const void* tensor) { std::memcpy(bytes_, tensor, sizeof bytes_); }
  template <class T>
  T At(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }

 private:
  unsigned char bytes_[kReadable];
};

// NULL, or somewhere that code can be.
bool CanBeDeleter(uint64_t pointer) { return pointer == 0 || pointer >= kFirstPage; }

// The fields of a DLTensor that cannot be anything: `at` is where the DLTensor begins.
bool CanBeTensor(const Bytes& bytes, size_t at, size_t readable_arrays) {
  const auto type = bytes.At<int32_t>(at + offsetof(DLTensor, device));
  const auto id = bytes.At<int32_t>(at + offsetof(DLTensor, device) + sizeof(int32_t));
  const auto ndim = bytes.At<int32_t>(at + offsetof(DLTensor, ndim));
  const auto dtype = bytes.At<DLDataType>(at + offsetof(DLTensor, dtype));
  if (type <= 0 || id < 0 || ndim < 0 || dtype.bits == 0 || dtype.lanes == 0) {
    return false;
  }
  // Without axes nobody reads the arrays, so their pointers may hold anything.
  for (size_t i = 0; ndim != 0 && i < readable_arrays; ++i) {
    // shape, then strides: arrays of 64-bit integers, in memory that exists.
    const auto array = bytes.At<uint64_t>(at + offsetof(DLTensor, shape) + i * sizeof(int64_t*));
    const bool may_be_null = i != 0;
    if (array == 0 ? !may_be_null : array < kFirstPage || array % alignof(int64_t) != 0) {
      return false;
    }
  }
  return true;
}

bool CanBeLegacy(const Bytes& bytes) {
  return CanBeTensor(bytes, offsetof(DLManagedTensor, dl_tensor), 2) &&
         CanBeDeleter(bytes.At<uint64_t>(offsetof(DLManagedTensor, deleter)));
}

// A small number where legacy has its device type and versioned its context: no pointer is so
// small.
bool LooksLikeDevice(const Bytes& bytes) {
  constexpr int32_t kSmallType = 255;
  constexpr int32_t kSmallId = 65535;
  const auto type = bytes.At<int32_t>(offsetof(DLTensor, device));
  const auto id = bytes.At<int32_t>(offsetof(DLTensor, device) + sizeof(int32_t));
  return type > 0 && type <= kSmallType && id >= -kSmallId && id <= kSmallId;
}

// Of a major that nobody knows there is only the deleter to go by. What could as well be a legacy
// tensor with one broken field is not taken for it.
bool LooksLikeBrokenLegacy(const Bytes& bytes) {
  const auto deleter = bytes.At<uint64_t>(offsetof(DLManagedTensorVersioned, deleter));
  return deleter >= kUserSpace || LooksLikeDevice(bytes);
}

bool CanBeVersioned(const Bytes& bytes) {
  const auto version = bytes.At<DLPackVersion>(offsetof(DLManagedTensorVersioned, version));
  if (version.major == 0 || version.major > kMaxPlausibleVersion ||
      version.minor > kMaxPlausibleVersion ||
      !CanBeDeleter(bytes.At<uint64_t>(offsetof(DLManagedTensorVersioned, deleter)))) {
    return false;
  }
  // Behind `flags` only major 1 is known; of its DLTensor, the first 32 bytes are inside.
  return version.major != kMajor ||
         CanBeTensor(bytes, offsetof(DLManagedTensorVersioned, dl_tensor), 1);
}

// A tensor of ours says so by its deleter and by the pointer to itself.
bool IsOurs(const Bytes& bytes, const void* tensor, size_t context, size_t deleter,
            const void* our_deleter) {
  return bytes.At<const void*>(context) == tensor && bytes.At<const void*>(deleter) == our_deleter;
}

DLBridgeKind Identify(const void* tensor) {
  const Bytes bytes(tensor);
  if (IsOurs(bytes, tensor, offsetof(DLManagedTensorVersioned, manager_ctx),
             offsetof(DLManagedTensorVersioned, deleter),
             reinterpret_cast<const void*>(&DeleteVersioned))) {
    return DLBRIDGE_KIND_VERSIONED;
  }
  if (IsOurs(bytes, tensor, offsetof(DLManagedTensor, manager_ctx),
             offsetof(DLManagedTensor, deleter), reinterpret_cast<const void*>(&DeleteLegacy))) {
    return DLBRIDGE_KIND_LEGACY;
  }
  const bool legacy = CanBeLegacy(bytes);
  if (legacy == CanBeVersioned(bytes)) {
    return DLBRIDGE_KIND_AMBIGUOUS;
  }
  const auto major = bytes.At<DLPackVersion>(offsetof(DLManagedTensorVersioned, version)).major;
  if (!legacy && major != kMajor && LooksLikeBrokenLegacy(bytes)) {
    return DLBRIDGE_KIND_AMBIGUOUS;
  }
  return legacy ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED;
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeKind dlbridge_identify(const void* tensor) {
  return tensor != nullptr ? dlbridge::Identify(tensor) : DLBRIDGE_KIND_AMBIGUOUS;
}

}  // extern "C"
