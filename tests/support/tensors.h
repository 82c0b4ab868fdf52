// SPDX-License-Identifier: Apache-2.0
// Producers of tensors that record what happens to each tensor: how often its deleter ran, and
// whether a byte of it was written.
#ifndef DLBRIDGE_TESTS_SUPPORT_TENSORS_H_
#define DLBRIDGE_TESTS_SUPPORT_TENSORS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "error.h"

namespace dlbridge_test {

using Axes = std::vector<int64_t>;

inline DLDevice Device(int32_t type, int32_t id = 0) {
  return {static_cast<DLDeviceType>(type), id};
}

inline DLDataType Dtype(int code, int bits, int lanes = 1) {
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}

constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;
constexpr uint64_t kPadded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

inline Axes CompactStrides(const Axes& shape) {
  Axes strides(shape.size());
  uint64_t product = 1;  // unsigned: some shapes are made to overflow
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(product);
    product *= shape[i] > 1 ? static_cast<uint64_t>(shape[i]) : 1;
  }
  return strides;
}

constexpr int32_t kAsManyAsExtents = INT32_MAX;

// The tensor that a producer makes. Nothing in it has to be valid.
struct TensorSpec {
  Axes shape = {2, 3};
  Axes strides = {3, 1};  // one per extent
  bool null_shape = false;
  bool null_strides = false;
  bool null_data = false;
  int64_t start = 0;  // where `data` points, in bytes from the beginning of the memory
  size_t memory = 256;
  DLDataType dtype = Dtype(kDLFloat, 32);
  DLDevice device = Device(kDLCPU);
  uint64_t byte_offset = 0;
  int32_t ndim = kAsManyAsExtents;
  bool null_deleter = false;
  uint64_t flags = 0;              // versioned only
  DLPackVersion version = {1, 3};  // versioned only

  TensorSpec() = default;
  explicit TensorSpec(Axes extents) : shape(std::move(extents)), strides(CompactStrides(shape)) {}
  TensorSpec(Axes extents, Axes steps) : shape(std::move(extents)), strides(std::move(steps)) {}
};

inline DLTensor* TensorOf(DLManagedTensor* managed) { return &managed->dl_tensor; }
inline DLTensor* TensorOf(DLManagedTensorVersioned* managed) { return &managed->dl_tensor; }
inline void Label(DLManagedTensor* /*managed*/, const TensorSpec& /*spec*/) {}
inline void Label(DLManagedTensorVersioned* managed, const TensorSpec& spec) {
  managed->version = spec.version;
  managed->flags = spec.flags;
}

// State that outlives the tensor, so that the test can check it.
struct Fate {
  std::atomic<int> deletions{0};
  std::function<void()> on_delete;
};

// The tensor and everything it owns; its deleter frees all of it.
template <class Managed>
struct Body {
  Managed managed;
  Axes shape;
  Axes strides;
  std::unique_ptr<unsigned char[]> memory;
  size_t memory_size;
  std::shared_ptr<Fate> fate;

  Body(const TensorSpec& spec, std::shared_ptr<Fate> outlives)
      : managed{},
        shape(spec.shape),
        strides(spec.strides),
        memory(new unsigned char[spec.memory + 64]),
        memory_size(spec.memory + 64),
        fate(std::move(outlives)) {
    for (size_t i = 0; i < memory_size; ++i) {
      memory[i] = static_cast<unsigned char>(i * 7 + 1);
    }
    Label(&managed, spec);
    managed.manager_ctx = this;
    managed.deleter = spec.null_deleter ? nullptr : &Body::Delete;
    Fill(spec, TensorOf(&managed));
  }

  void Fill(const TensorSpec& spec, DLTensor* tensor) {
    const auto aligned = (reinterpret_cast<uintptr_t>(memory.get()) + 63) & ~uintptr_t{63};
    tensor->data = spec.null_data
                       ? nullptr
                       : reinterpret_cast<void*>(aligned + static_cast<uintptr_t>(spec.start));
    tensor->device = spec.device;
    tensor->ndim = spec.ndim == kAsManyAsExtents ? static_cast<int32_t>(shape.size()) : spec.ndim;
    tensor->dtype = spec.dtype;
    tensor->shape = spec.null_shape ? nullptr : shape.data();
    tensor->strides = spec.null_strides ? nullptr : strides.data();
    tensor->byte_offset = spec.byte_offset;
  }

  static void Delete(Managed* self) {
    auto* body = static_cast<Body*>(self->manager_ctx);
    const std::shared_ptr<Fate> fate = body->fate;
    delete body;
    fate->deletions.fetch_add(1);
    if (fate->on_delete) {
      fate->on_delete();
    }
  }
};

// One tensor of a producer. The destructor checks that the deleter ran exactly once.
template <class Managed>
class Source {
 public:
  explicit Source(const TensorSpec& spec = TensorSpec())
      : fate_(std::make_shared<Fate>()),
        body_(new Body<Managed>(spec, fate_)),
        has_deleter_(!spec.null_deleter),
        managed_(body_->managed),
        shape_(body_->shape),
        strides_(body_->strides),
        memory_(body_->memory.get(), body_->memory.get() + body_->memory_size) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  ~Source() {
    if (!has_deleter_) {
      delete body_;  // there is no deleter to call
      EXPECT_EQ(fate_->deletions, 0);
      return;
    }
    EXPECT_EQ(fate_->deletions, 1) << "the deleter must run exactly once";
  }

  Managed* get() const { return &body_->managed; }
  DLTensor* tensor() const { return TensorOf(get()); }
  int deletions() const { return fate_->deletions; }
  void OnDelete(std::function<void()> callback) { fate_->on_delete = std::move(callback); }

  // True if no byte of struct, shape, strides and data was written and the deleter has not run.
  bool Untouched() const {
    return deletions() == 0 && std::memcmp(&managed_, &body_->managed, sizeof managed_) == 0 &&
           shape_ == body_->shape && strides_ == body_->strides &&
           std::memcmp(memory_.data(), body_->memory.get(), memory_.size()) == 0;
  }

  // Calls the deleter as the owner, who may do so after every failed call.
  void Release() { body_->managed.deleter(&body_->managed); }

 private:
  std::shared_ptr<Fate> fate_;
  Body<Managed>* body_;
  bool has_deleter_;
  Managed managed_;
  Axes shape_;
  Axes strides_;
  std::vector<unsigned char> memory_;
};

using LegacySource = Source<DLManagedTensor>;
using VersionedSource = Source<DLManagedTensorVersioned>;

inline DLBridgeConvertOptions Options(uint32_t flags = 0, DLPackVersion version = {0, 0}) {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = flags;
  options.version = version;
  return options;
}

inline DLBridgePolicy Policy(uint32_t flags = 0) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = flags;
  return policy;
}

inline void LimitNdim(DLBridgePolicy* policy, int32_t most, int32_t least = 0) {
  policy->options |= DLBRIDGE_POLICY_LIMIT_NDIM;
  policy->min_ndim = least;
  policy->max_ndim = most;
}
inline void LimitBuffer(DLBridgePolicy* policy, uint64_t bytes) {
  policy->options |= DLBRIDGE_POLICY_LIMIT_BUFFER;
  policy->buffer_size = bytes;
}

// An error struct that the caller never initialised.
inline Axes ShapeOf(const DLTensor& tensor) {
  return tensor.shape == nullptr ? Axes() : Axes(tensor.shape, tensor.shape + tensor.ndim);
}
inline Axes StridesOf(const DLTensor& tensor) {
  return tensor.strides == nullptr ? Axes() : Axes(tensor.strides, tensor.strides + tensor.ndim);
}

// Conversions that are expected to succeed.
inline DLManagedTensorVersioned* MustUpgrade(DLManagedTensor* source, uint32_t flags = 0) {
  const DLBridgeConvertOptions options = Options(flags);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_upgrade(source, &options, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}
inline DLManagedTensor* MustDowngrade(DLManagedTensorVersioned* source, uint32_t flags = 0) {
  const DLBridgeConvertOptions options = Options(flags);
  DLManagedTensor* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_downgrade(source, &options, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}
inline DLManagedTensorVersioned* MustAdopt(DLManagedTensorVersioned* source, uint32_t flags = 0) {
  const DLBridgeConvertOptions options = Options(flags);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_import(source, DLBRIDGE_KIND_VERSIONED, &options, &out, &error), DLBRIDGE_OK)
      << error.message;
  return out;
}
inline DLManagedTensorVersioned* MustShare(const DLManagedTensorVersioned* tensor) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_share(tensor, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}
inline DLManagedTensorVersioned* MustView(const DLManagedTensorVersioned* tensor, const Axes& shape,
                                          const Axes* strides = nullptr, int64_t offset = 0) {
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = shape.data();
  spec.strides = strides != nullptr ? strides->data() : nullptr;
  spec.offset = offset;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_view(tensor, &spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_TENSORS_H_
