// SPDX-License-Identifier: Apache-2.0
// Decides between legacy and versioned by the first 64 bytes, which both structs have.
//
// If the first bytes cannot be a version, the tensor is legacy. Otherwise the bytes are checked
// against conditions that every live tensor of a kind meets. A kind is the answer only if its
// conditions hold and those of the other kind do not. docs/identify.md lists the bytes that meet
// the conditions of both kinds or of neither.
#include <cstring>

#include "describe/boundary.h"
#include "describe/version.h"
#include "protocol/convert.h"
#include "protocol/identify.h"
#include "tensor/node.h"

namespace dlbridge {
namespace {

constexpr size_t kReadable = sizeof(DLManagedTensor);
static_assert(kReadable <= sizeof(DLManagedTensorVersioned), "legacy is the smaller struct");

// Code and arrays are never mapped in the first page.
constexpr uint64_t kFirstPage = 4096;
// The end of the user address space on x86-64 and 64-bit Arm, unless a program asks for five levels
// of page tables.
constexpr uint64_t kUserSpace = uint64_t{1} << 48;

// The bytes of a struct, which can be read as any type at any offset. The struct is aligned like a
// pointer.
class Bytes {
 public:
  // Loads each word once: the producer may write to the struct meanwhile.
  explicit Bytes(const void* tensor) {
    const auto* words = static_cast<const LoadedQuad*>(tensor);
    for (size_t i = 0; i < kReadable / sizeof(uint64_t); ++i) {
      const uint64_t word = Load(words + i);
      std::memcpy(bytes_ + i * sizeof word, &word, sizeof word);
    }
  }
  template <class T>
  T At(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }

 private:
  unsigned char bytes_[kReadable];
};

// NULL, or an address that can be code.
bool CanBeDeleter(uint64_t pointer) { return pointer == 0 || pointer >= kFirstPage; }

// Checks the fields of a DLTensor at offset `at` that cannot have just any value.
bool CanBeTensor(const Bytes& bytes, size_t at, size_t readable_arrays) {
  const auto type = bytes.At<int32_t>(at + offsetof(DLTensor, device));
  const auto id = bytes.At<int32_t>(at + offsetof(DLTensor, device) + sizeof(int32_t));
  const auto ndim = bytes.At<int32_t>(at + offsetof(DLTensor, ndim));
  const auto dtype = bytes.At<DLDataType>(at + offsetof(DLTensor, dtype));
  if (type <= 0 || id < 0 || ndim < 0 || dtype.bits == 0 || dtype.lanes == 0) {
    return false;
  }
  // Without axes the arrays are not read, so their pointers may hold anything.
  for (size_t i = 0; ndim != 0 && i < readable_arrays; ++i) {
    // shape, then strides: aligned arrays outside the first page.
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

// True if the bytes that are the device of a legacy tensor, or the context of a versioned one, are
// a plausible device. No pointer is that small.
bool LooksLikeDevice(const Bytes& bytes) {
  constexpr int32_t kSmallType = 255;
  constexpr int32_t kSmallId = 65535;
  const auto type = bytes.At<int32_t>(offsetof(DLTensor, device));
  const auto id = bytes.At<int32_t>(offsetof(DLTensor, device) + sizeof(int32_t));
  return type > 0 && type <= kSmallType && id >= -kSmallId && id <= kSmallId;
}

// With another major only the deleter can be checked. Bytes that can also be a legacy tensor with
// one broken field are not accepted.
bool CanBeOtherMajor(const Bytes& bytes) {
  const auto deleter = bytes.At<uint64_t>(offsetof(DLManagedTensorVersioned, deleter));
  return deleter < kUserSpace && !LooksLikeDevice(bytes);
}

// For bytes that can be a version.
bool CanBeVersioned(const Bytes& bytes) {
  if (!CanBeDeleter(bytes.At<uint64_t>(offsetof(DLManagedTensorVersioned, deleter)))) {
    return false;
  }
  const auto version = bytes.At<DLPackVersion>(offsetof(DLManagedTensorVersioned, version));
  // The fields after `flags` are only known for major 1. The 64 bytes contain the first 32 bytes of
  // its DLTensor.
  return version.major == kMajor
             ? CanBeTensor(bytes, offsetof(DLManagedTensorVersioned, dl_tensor), 1)
             : CanBeOtherMajor(bytes);
}

// A dlbridge-owned tensor has the library's deleter and a pointer to itself.
bool IsOwned(const Bytes& bytes, const void* tensor, size_t context, size_t deleter,
             const void* own_deleter) {
  return bytes.At<const void*>(context) == tensor && bytes.At<const void*>(deleter) == own_deleter;
}

DLBridgeKind IdentifyForeign(const Bytes& bytes) {
  if (!CanBeVersion(bytes.At<DLPackVersion>(offsetof(DLManagedTensorVersioned, version)))) {
    return DLBRIDGE_KIND_LEGACY;
  }
  const bool legacy = CanBeLegacy(bytes);
  if (legacy == CanBeVersioned(bytes)) {
    return legacy ? DLBRIDGE_KIND_AMBIGUOUS : DLBRIDGE_KIND_UNKNOWN;
  }
  return legacy ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED;
}

DLBridgeKind Identify(const void* tensor) {
  const Bytes bytes(tensor);
  if (IsOwned(bytes, tensor, offsetof(DLManagedTensorVersioned, manager_ctx),
              offsetof(DLManagedTensorVersioned, deleter),
              reinterpret_cast<const void*>(&DeleteVersioned))) {
    return DLBRIDGE_KIND_VERSIONED;
  }
  if (IsOwned(bytes, tensor, offsetof(DLManagedTensor, manager_ctx),
              offsetof(DLManagedTensor, deleter), reinterpret_cast<const void*>(&DeleteLegacy))) {
    return DLBRIDGE_KIND_LEGACY;
  }
  return IdentifyForeign(bytes);
}

}  // namespace

DLBridgeStatus DecideKind(const void* tensor, DLBridgeKind kind, DLBridgeKind* out,
                          DLBridgeError* error) {
  if (kind == DLBRIDGE_KIND_LEGACY || kind == DLBRIDGE_KIND_VERSIONED) {
    *out = kind;
    return DLBRIDGE_OK;
  }
  if (kind != DLBRIDGE_KIND_UNKNOWN) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "kind",
                       "must be LEGACY (1), VERSIONED (2) or UNKNOWN (0)", kind);
  }
  *out = Identify(tensor);
  if (*out == DLBRIDGE_KIND_AMBIGUOUS) {
    return RejectStatus(error, DLBRIDGE_ERROR_AMBIGUOUS, "tensor",
                        "can be both a legacy and a versioned tensor: pass its kind");
  }
  if (*out == DLBRIDGE_KIND_UNKNOWN) {
    return RejectStatus(error, DLBRIDGE_ERROR_AMBIGUOUS, "tensor",
                        "has a version, but can be neither a legacy nor a valid versioned tensor: "
                        "pass its kind to learn which rule it breaks");
  }
  return DLBRIDGE_OK;
}

}  // namespace dlbridge

extern "C" {

DLBridgeKind dlbridge_identify(const void* tensor) {
  return tensor != nullptr ? dlbridge::Identify(tensor) : DLBRIDGE_KIND_UNKNOWN;
}

}  // extern "C"
