// SPDX-License-Identifier: Apache-2.0
// Builds tensors of arbitrary bytes and makes a series of calls on them. For every input there must
// be no undefined behaviour, the ownership rule must hold, each deleter must run once, and validate
// and diagnose must agree.
#ifndef DLBRIDGE_TESTS_FUZZ_EXERCISE_H_
#define DLBRIDGE_TESTS_FUZZ_EXERCISE_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "dlbridge/dlbridge.h"
#include "support/ipc.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace dlbridge_test {

// Reads values from the input; after its end, zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  template <class T>
  T Take() {
    T value = {};
    const size_t count = sizeof value < size_ ? sizeof value : size_;
    if (count != 0) {
      std::memcpy(&value, data_, count);
      data_ += count;
      size_ -= count;
    }
    return value;
  }
  // Mostly small numbers, and sometimes one near the limits.
  int64_t TakeNumber() {
    const auto shape = Take<uint8_t>();
    if (shape < 200) {
      return static_cast<int64_t>(shape % 9) - 1;
    }
    if (shape == 255) {
      return INT64_MIN;
    }
    const int64_t edge = int64_t{1} << (shape % 63);
    return shape % 2 == 0 ? edge : Take<int8_t>() - edge;
  }
  bool empty() const { return size_ == 0; }

 private:
  const uint8_t* data_;
  size_t size_;
};

[[noreturn]] inline void Fail(const char* /*what*/) { std::abort(); }
inline void Demand(bool holds, const char* what) {
  if (!holds) {
    Fail(what);
  }
}

// A tensor of arbitrary content. Its arrays have exactly ndim elements, so that ASan detects a read
// past the end.
class AnyTensor {
 public:
  explicit AnyTensor(Input* input) {
    std::memset(&legacy_, 0, sizeof legacy_);
    std::memset(&versioned_, 0, sizeof versioned_);
    DLTensor& tensor = legacy_.dl_tensor;
    Fill(input, &tensor);
    legacy_.manager_ctx = this;
    legacy_.deleter = DeleteLegacy;
    const auto label = input->Take<uint8_t>();
    versioned_.version = {label < 250 ? 1U : label % 4U, label % 6U};
    versioned_.manager_ctx = this;
    versioned_.deleter = DeleteVersioned;
    const auto flags = input->Take<uint8_t>();
    versioned_.flags = flags < 240 ? flags % 8U : uint64_t{1} << (flags % 64);
    versioned_.dl_tensor = tensor;
  }
  AnyTensor(const AnyTensor&) = delete;
  AnyTensor& operator=(const AnyTensor&) = delete;

  DLManagedTensor* legacy() { return &legacy_; }
  DLManagedTensorVersioned* versioned() { return &versioned_; }
  int deletes() const { return deletes_; }

 private:
  void Fill(Input* input, DLTensor* tensor) {
    const auto ndim = input->Take<uint8_t>();
    tensor->ndim = ndim < 250 ? ndim % 7 : static_cast<int32_t>(ndim) - 253;
    const int32_t entries = tensor->ndim > 0 ? tensor->ndim : 0;
    shape_ = std::make_unique<int64_t[]>(static_cast<size_t>(entries));
    strides_ = std::make_unique<int64_t[]>(static_cast<size_t>(entries));
    for (int32_t i = 0; i < entries; ++i) {
      shape_[static_cast<size_t>(i)] = input->TakeNumber();
      strides_[static_cast<size_t>(i)] = input->TakeNumber();
    }
    const auto pointers = input->Take<uint8_t>();
    tensor->shape = pointers % 16 != 1 ? shape_.get() : nullptr;
    tensor->strides = pointers % 4 != 2 ? strides_.get() : nullptr;
    tensor->data =
        pointers % 16 != 3 ? reinterpret_cast<void*>(uintptr_t{1} << (pointers % 64)) : nullptr;
    const auto dtype = input->Take<uint8_t>();
    tensor->dtype = {static_cast<uint8_t>(dtype % 21), input->Take<uint8_t>(),
                     static_cast<uint16_t>(dtype % 3 + 65535 * (dtype == 255))};
    const int32_t device[2] = {static_cast<int32_t>(input->Take<int8_t>()) % 24,
                               static_cast<int32_t>(input->Take<int8_t>()) / 40};
    std::memcpy(&tensor->device, device, sizeof device);
    const auto offset = input->Take<uint8_t>();
    tensor->byte_offset = offset < 230 ? offset : 0 - static_cast<uint64_t>(offset);
  }

  static void DeleteLegacy(DLManagedTensor* self) {
    ++static_cast<AnyTensor*>(self->manager_ctx)->deletes_;
  }
  static void DeleteVersioned(DLManagedTensorVersioned* self) {
    ++static_cast<AnyTensor*>(self->manager_ctx)->deletes_;
  }

  DLManagedTensor legacy_;
  DLManagedTensorVersioned versioned_;
  std::unique_ptr<int64_t[]> shape_;
  std::unique_ptr<int64_t[]> strides_;
  int deletes_ = 0;
};

inline DLBridgePolicy TakePolicy(Input* input) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = (input->Take<uint16_t>() & 0x3ffU) << 8;
  policy.version = {1, input->Take<uint8_t>() % 5U};
  policy.contiguity = input->Take<uint8_t>() % 4;
  policy.alignment = uint64_t{1} << (input->Take<uint8_t>() % 12);
  const auto size = input->Take<uint8_t>();
  if (size < 128) {
    policy.options |= DLBRIDGE_POLICY_LIMIT_BUFFER;
    policy.buffer_size = size;
  }
  return policy;
}

inline void Describe(const DLTensor& tensor, uint64_t flags) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  if (dlbridge_layout(&tensor, flags, &layout, nullptr) == DLBRIDGE_OK) {
    Demand(layout.begin <= 0 && layout.begin <= layout.end,
           "the extent begins at or before 0 and not after its end");
  }
  char text[64];
  dlbridge_tensor_format(&tensor, flags, text, sizeof text, nullptr, nullptr);
  DLPackVersion version;
  dlbridge_required_version(&tensor, flags, &version, nullptr);
}

// validate rejects a tensor exactly if diagnose finds a broken rule, and reports the first one
// found.
inline void CompareWithDiagnosis(const DLManagedTensorVersioned& tensor,
                                 const DLBridgePolicy& policy) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  const DLBridgeStatus status = dlbridge_validate_versioned(&tensor, &policy, &error);
  DLBridgeFinding findings[32];
  size_t count = 0;
  Demand(dlbridge_diagnose(&tensor, DLBRIDGE_KIND_VERSIONED, 0, &policy, findings, 32, &count,
                           nullptr) == DLBRIDGE_OK,
         "diagnose succeeds for every tensor");
  const DLBridgeFinding* first = nullptr;
  for (size_t i = 0; i < count && i < 32; ++i) {
    if (findings[i].severity == DLBRIDGE_SEVERITY_BROKEN) {
      first = &findings[i];
      break;
    }
  }
  Demand((status == DLBRIDGE_OK) == (first == nullptr), "validate and diagnose agree");
  Demand(first == nullptr ||
             (first->rule == error.rule && first->axis == error.axis && first->status == status),
         "validate reports the first finding");
}

inline DLBridgeConvertOptions TakeOptions(Input* input) {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  // COPY would read the data, which does not exist; SKIP_VALIDATION would accept invalid tensors.
  options.options = input->Take<uint16_t>() & 0x1deU;
  options.version = {1, input->Take<uint8_t>() % 5U};
  return options;
}

// Converts one tensor repeatedly, shares and views it, and releases everything.
inline void Convert(AnyTensor* tensor, Input* input) {
  DLManagedTensorVersioned* owned = nullptr;
  DLManagedTensor* legacy = tensor->legacy();
  DLManagedTensorVersioned* shares[4] = {};
  for (int round = 0; round < 8; ++round) {
    const DLBridgeConvertOptions options = TakeOptions(input);
    if (legacy != nullptr) {
      if (dlbridge_upgrade(legacy, &options, &owned, nullptr) == DLBRIDGE_OK) {
        legacy = nullptr;
      }
    } else if (dlbridge_downgrade(owned, &options, &legacy, nullptr) == DLBRIDGE_OK) {
      owned = nullptr;
    }
    if (owned != nullptr && round < 4) {
      DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
      const int64_t shape = input->TakeNumber();
      const int64_t stride = input->TakeNumber();
      spec.ndim = 1;
      spec.shape = &shape;
      spec.strides = &stride;
      spec.offset = input->TakeNumber();
      if (dlbridge_view(owned, &spec, &shares[round], nullptr) != DLBRIDGE_OK) {
        dlbridge_share(owned, &shares[round], nullptr);
      }
    }
  }
  dlbridge_release_legacy(legacy);
  for (DLManagedTensorVersioned* share : shares) {
    dlbridge_release_versioned(share);
  }
  dlbridge_release_versioned(owned);
  Demand(tensor->deletes() == 1, "the deleter ran once");
}

inline void Adopt(AnyTensor* tensor, Input* input) {
  const DLBridgeConvertOptions options = TakeOptions(input);
  const DLManagedTensorVersioned before = *tensor->versioned();
  DLManagedTensorVersioned* out = nullptr;
  if (dlbridge_import(tensor->versioned(), DLBRIDGE_KIND_VERSIONED, &options, &out, nullptr) !=
      DLBRIDGE_OK) {
    Demand(std::memcmp(&before, tensor->versioned(), sizeof before) == 0,
           "a rejected tensor is unchanged");
    out = tensor->versioned();
  }
  dlbridge_release_versioned(out);
  Demand(tensor->deletes() == 1, "the deleter ran once");
}

// A live tensor that passes validation is never identified as the other kind.
inline void CompareKinds(AnyTensor* tensor) {
  const DLBridgeKind legacy = dlbridge_identify(tensor->legacy());
  const DLBridgeKind versioned = dlbridge_identify(tensor->versioned());
  int32_t type = 0;
  std::memcpy(&type, &tensor->legacy()->dl_tensor.device, sizeof type);
  if (type > 0 && dlbridge_validate_legacy(tensor->legacy(), nullptr, nullptr) == DLBRIDGE_OK) {
    Demand(legacy != DLBRIDGE_KIND_VERSIONED, "a legacy tensor is not identified as versioned");
    const DLPackVersion version = tensor->versioned()->version;
    const bool plausible = version.major != 0 && version.major <= 255 && version.minor <= 255;
    Demand(!plausible || versioned != DLBRIDGE_KIND_LEGACY,
           "a versioned tensor is not identified as legacy");
  }
}

// A file like those that a peer sends: one page, sealed against shrinking. -1 if the system has
// none.
inline int PeerFile() {
#ifdef __linux__
  static const int file = [] {
    const int fd = static_cast<int>(syscall(SYS_memfd_create, "peer", 3U));
    Demand(posix_fallocate(fd, 0, 4096) == 0 && fcntl(fd, 1033, 2) == 0, "the file can be sealed");
    return fd;
  }();
  return file;
#else
  return -1;
#endif
}

// Gives arbitrary bytes a valid header and checksum, as a malicious peer can (docs/ipc.md). For
// some inputs the other lengths in the descriptor are valid, too.
inline void Sign(uint8_t* bytes, size_t size) {
  const auto length = static_cast<uint32_t>(size);
  std::memcpy(bytes, "DLBRIPC", 8);
  std::memset(bytes + 8, 0, 16);
  bytes[8] = 1;
  std::memcpy(bytes + 12, &length, sizeof length);
  if (size >= 104 && bytes[47] % 4 != 0) {
    const uint32_t host[] = {1, DLBRIDGE_BACKEND_CPU, kDLCPU, 0};
    std::memcpy(bytes + 24, host, sizeof host);
    bytes[41] = static_cast<uint8_t>(bytes[41] % 65);
    bytes[43] = 0;
    const uint32_t ndim = (length - 104) / 16;
    const uint32_t tail[] = {length - 104 - 16 * ndim, 1, 0, 0};
    std::memcpy(bytes + 44, &ndim, sizeof ndim);
    std::memset(bytes + 48, 0, 8);
    std::memset(bytes + 66, 0, 6);
    std::memcpy(bytes + 88, tail, sizeof tail);
  }
  uint64_t sum = 0xcbf29ce484222325U;
  for (size_t i = 0; i < size; ++i) {
    sum = (sum ^ bytes[i]) * 0x100000001b3U;
  }
  std::memcpy(bytes + 16, &sum, sizeof sum);
}

// The imported extent must be readable from end to end.
inline void ReadEnds(const DLManagedTensorVersioned& tensor) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Demand(dlbridge_layout(&tensor.dl_tensor, tensor.flags, &layout, nullptr) == DLBRIDGE_OK,
         "an imported tensor is valid");
  if (layout.begin != layout.end) {
    const char* start =
        static_cast<const char*>(tensor.dl_tensor.data) + tensor.dl_tensor.byte_offset;
    const volatile char* bytes = start;
    static_cast<void>(bytes[layout.begin]);
    static_cast<void>(bytes[layout.end - 1]);
  }
}

// Imports what a peer may send: the bytes alone, and the bytes after a valid header.
inline void ImportAny(const uint8_t* data, size_t size, const DLBridgePolicy& policy) {
  constexpr size_t kHead = 24;
  const int32_t fd = PeerFile();
  uint8_t bytes[512] = {};
  const size_t used = size < sizeof bytes - kHead ? size : sizeof bytes - kHead;
  DLManagedTensorVersioned* out = nullptr;
  if (used != 0) {
    std::memcpy(bytes + kHead, data, used);
    Demand(IpcImport(data, size, nullptr, 0, 0, &policy, &out, nullptr) != DLBRIDGE_OK,
           "bytes without a header are rejected");
  }
  Sign(bytes, kHead + used);
  for (const size_t fds : {size_t{0}, size_t{1}}) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    const DLBridgeStatus status =
        IpcImport(bytes, kHead + used, &fd, fds, 0, &policy, &out, &error);
    Demand(status == error.status, "the status is also in the error");
    Demand((status == DLBRIDGE_OK) == (out != nullptr), "either a tensor or an error");
    if (out != nullptr) {
      ReadEnds(*out);
      dlbridge_release_versioned(out);
      out = nullptr;
    }
  }
}

inline int Exercise(const uint8_t* data, size_t size) {
  Input input(data, size);
  AnyTensor first(&input);
  AnyTensor second(&input);
  const DLBridgePolicy policy = TakePolicy(&input);
  ImportAny(data, size, policy);
  Describe(first.legacy()->dl_tensor, first.versioned()->flags);
  CompareWithDiagnosis(*first.versioned(), policy);
  CompareKinds(&first);
  Convert(&first, &input);
  Adopt(&second, &input);
  return 0;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_FUZZ_EXERCISE_H_
