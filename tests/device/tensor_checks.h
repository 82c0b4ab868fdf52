// SPDX-License-Identifier: Apache-2.0
// dlbridge_copy on any device, compared with an element-wise copy. A test supplies the allocation,
// writing and reading of its device. The common checks also cover errors: leaked memory, bytes
// written outside the target, and a second release.
#ifndef DLBRIDGE_TESTS_DEVICE_TENSOR_CHECKS_H_
#define DLBRIDGE_TESTS_DEVICE_TENSOR_CHECKS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace dlbridge_test {

using TensorBytes = std::vector<unsigned char>;

class TensorDevice {
 public:
  virtual ~TensorDevice() = default;
  virtual DLDevice label() = 0;
  virtual DLBridgeStream stream() = 0;  // of the application; kind 0: none
  virtual DLBridgeBuffer Allocate(size_t bytes) = 0;
  virtual void Free(const DLBridgeBuffer& buffer) = 0;
  virtual void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) = 0;
  virtual TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) = 0;
  // The nth call of a driver function from now on fails; 0: none fails.
  virtual void Fail(const char* function, int nth) = 0;
};

class HostMemory final : public TensorDevice {
 public:
  DLDevice label() override { return {kDLCPU, 0}; }
  DLBridgeStream stream() override { return {}; }
  DLBridgeBuffer Allocate(size_t bytes) override {
    return dlbridge_buffer_address(std::aligned_alloc(256, (bytes + 255) & ~size_t{255}));
  }
  void Free(const DLBridgeBuffer& buffer) override { std::free(At(buffer)); }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    std::memcpy(At(buffer), bytes.data(), bytes.size());
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    return {At(buffer), At(buffer) + bytes};
  }
  void Fail(const char* /*function*/, int /*nth*/) override {}

 private:
  static unsigned char* At(const DLBridgeBuffer& buffer) {
    return reinterpret_cast<unsigned char*>(static_cast<uintptr_t>(buffer.handle));
  }
};

// In elements; element (0,...,0) is `first` elements after the tensor's start.
struct TensorLayout {
  const char* name;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t first;
};

struct ElementType {
  DLDataType dtype;
  uint64_t flags;
  uint32_t step;  // bits from one element to the next
};
constexpr ElementType kFloats = {{kDLFloat, 32, 1}, 0, 32};
constexpr ElementType kPackedFours = {{kDLUInt, 4, 1}, 0, 4};
constexpr ElementType kPaddedFours = {
    {kDLUInt, 4, 1}, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 8};

inline DLBridgeBuffer BufferOf(const DLTensor& tensor) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(tensor.data);
  if (static_cast<int32_t>(tensor.device.device_type) == kDLOpenCL) {
    buffer.kind = DLBRIDGE_BUFFER_CL_MEM;
  }
  return buffer;
}

// A tensor of pseudo-random bytes inside its memory. The destructor checks that they are unchanged.
class TensorSource {
 public:
  static constexpr size_t kBytes = 24576;
  static constexpr uint64_t kLead = 12;

  TensorSource(TensorDevice* device, const TensorLayout& layout, const ElementType& type)
      : device_(*device),
        layout_(layout),
        type_(type),
        bytes_(kBytes),
        buffer_(device->Allocate(kBytes)) {
    uint32_t state = 12345;
    for (unsigned char& byte : bytes_) {
      state = state * 1664525 + 1013904223;
      // Padding is zero, as in the output of an unpacking copy.
      byte = static_cast<unsigned char>(state >> 24) & (type.step == 8 ? 0x0F : 0xFF);
    }
    device_.Fill(buffer_, bytes_);
    tensor_.data = reinterpret_cast<void*>(static_cast<uintptr_t>(buffer_.handle));
    tensor_.device = device_.label();
    tensor_.ndim = static_cast<int32_t>(layout_.shape.size());
    tensor_.dtype = type_.dtype;
    tensor_.shape = layout_.shape.data();
    tensor_.strides = layout_.strides.data();
    tensor_.byte_offset = kLead + static_cast<uint64_t>(layout_.first) * type_.step / 8;
  }
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;
  ~TensorSource() {
    EXPECT_TRUE(device_.Read(buffer_, kBytes) == bytes_) << "the source was changed";
    device_.Free(buffer_);
  }

  const DLTensor& tensor() const { return tensor_; }
  uint64_t flags() const { return type_.flags; }
  DLDataType dtype() const { return type_.dtype; }
  const char* name() const { return layout_.name; }

  // The bytes of a compact copy, with elements `step` bits apart.
  TensorBytes Compact(uint32_t step) const {
    const std::vector<int64_t> places = Places();
    TensorBytes packed((places.size() * step + 7) / 8);
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t from = kLead * 8 + static_cast<uint64_t>(places[i]) * type_.step;
      for (uint32_t bit = 0; bit < type_.dtype.bits; ++bit) {
        const unsigned value = bytes_[(from + bit) / 8] >> ((from + bit) % 8) & 1U;
        const uint64_t to = i * step + bit;
        packed[to / 8] = static_cast<unsigned char>(packed[to / 8] | value << (to % 8));
      }
    }
    return packed;
  }

 private:
  // The position of each element, last axis fastest.
  std::vector<int64_t> Places() const {
    std::vector<int64_t> places = {layout_.first};
    for (size_t axis = 0; axis < layout_.shape.size(); ++axis) {
      std::vector<int64_t> next;
      for (const int64_t place : places) {
        for (int64_t i = 0; i < layout_.shape[axis]; ++i) {
          next.push_back(place + i * layout_.strides[axis]);
        }
      }
      places = next;
    }
    return places;
  }

  TensorDevice& device_;
  TensorLayout layout_;
  ElementType type_;
  TensorBytes bytes_;
  DLBridgeBuffer buffer_;
  DLTensor tensor_ = {};
};

// The parameters of a copy.
struct CopyWay {
  bool by_allocator = false;
  uint32_t options = 0;
  DLBridgeStream stream = {};
  ElementType result = kFloats;
};

// One call of dlbridge_copy; the destructor releases and checks the result.
class CopyRun {
 public:
  CopyRun(const TensorSource& source, TensorDevice* to, const CopyWay& way)
      : to_(*to),
        by_allocator_(way.by_allocator),
        expected_(source.Compact(way.result.step)),
        target_size_(kBefore + expected_.size() + kBehind) {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.options = way.options;
    spec.device = to->label();
    spec.stream = way.stream;
    spec.tensor_flags = way.result.flags;
    DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
    if (by_allocator_) {
      allocator.context = this;
      allocator.allocate = AllocateFor;
      allocator.deallocate = Deallocate;
      spec.allocator = &allocator;
    } else {
      target_ = to->Allocate(target_size_);
      to->Fill(target_, TensorBytes(target_size_, kUntouched));
      spec.target = target_;
      spec.target_offset = kBefore;
      spec.target_size = target_size_ - kBehind;
      spec.release = CountRelease;
      spec.release_context = this;
    }
    status_ = dlbridge_copy(&source.tensor(), source.flags(), &spec, &copy_, &error_);
  }
  CopyRun(const CopyRun&) = delete;
  CopyRun& operator=(const CopyRun&) = delete;

  ~CopyRun() {
    EXPECT_EQ(copy_ != nullptr, status_ == DLBRIDGE_OK);
    EXPECT_EQ(released_, 0);
    if (copy_ != nullptr) {
      copy_->deleter(copy_);
      EXPECT_EQ(released_, by_allocator_ ? 0 : 1);
    }
    EXPECT_EQ(allocated_, 0) << "the allocator's memory was not freed";
    if (!by_allocator_) {
      to_.Free(target_);
    }
  }

  DLBridgeStatus status() const { return status_; }
  std::string message() const { return error_.message; }

  // Checks that the copy is complete and that no other byte changed.
  void ExpectWhole() const {
    ASSERT_EQ(status_, DLBRIDGE_OK) << error_.message;
    EXPECT_NE(copy_->flags & DLPACK_FLAG_BITMASK_IS_COPIED, 0U);
    const DLTensor& result = copy_->dl_tensor;
    EXPECT_EQ(static_cast<int32_t>(result.device.device_type),
              static_cast<int32_t>(to_.label().device_type));
    EXPECT_EQ(result.device.device_id, to_.label().device_id);
    EXPECT_EQ(result.byte_offset, by_allocator_ ? 0 : kBefore);
    TensorBytes all = expected_;
    if (!by_allocator_) {
      all.insert(all.begin(), kBefore, kUntouched);
      all.insert(all.end(), kBehind, kUntouched);
    }
    EXPECT_TRUE(to_.Read(by_allocator_ ? BufferOf(result) : target_, all.size()) == all)
        << "the bytes differ from those of the source";
  }

 private:
  static constexpr uint64_t kBefore = 8;
  static constexpr uint64_t kBehind = 8;
  static constexpr unsigned char kUntouched = 0xEE;

  static void* AllocateFor(void* context, DLDevice /*device*/, uint64_t bytes,
                           uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    auto& self = *static_cast<CopyRun*>(context);
    ++self.allocated_;
    return reinterpret_cast<void*>(static_cast<uintptr_t>(self.to_.Allocate(bytes).handle));
  }
  static void Deallocate(void* context, DLDevice device, void* memory, uint64_t /*bytes*/,
                         uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    auto& self = *static_cast<CopyRun*>(context);
    --self.allocated_;
    DLTensor tensor = {};
    tensor.data = memory;
    tensor.device = device;
    self.to_.Free(BufferOf(tensor));
  }
  static void CountRelease(void* context, const DLBridgeBuffer* /*buffer*/,
                           const DLBridgeStream* /*stream*/) {
    ++static_cast<CopyRun*>(context)->released_;
  }

  TensorDevice& to_;
  bool by_allocator_;
  TensorBytes expected_;
  size_t target_size_;
  DLBridgeBuffer target_ = {};
  DLBridgeError error_ = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* copy_ = nullptr;
  DLBridgeStatus status_ = DLBRIDGE_OK;
  int released_ = 0;
  int allocated_ = 0;
};

inline std::string Describe(const TensorSource& source, const CopyWay& way) {
  return std::string(source.name()) + (way.by_allocator ? ", allocated" : "") +
         (way.stream.kind != 0 ? ", with a stream" : "");
}

inline void ExpectCopy(const TensorSource& source, TensorDevice* to, const CopyWay& way) {
  SCOPED_TRACE(Describe(source, way));
  CopyRun(source, to, way).ExpectWhole();
}

inline void ExpectRefusal(const TensorSource& source, TensorDevice* to, const CopyWay& way,
                          DLBridgeStatus status, const char* part) {
  SCOPED_TRACE(Describe(source, way));
  const CopyRun run(source, to, way);
  EXPECT_EQ(run.status(), status) << run.message();
  EXPECT_NE(run.message().find(part), std::string::npos) << run.message();
}

// Rejected without staging, complete with it.
inline void ExpectStaged(const TensorSource& source, TensorDevice* to, CopyWay way) {
  ExpectRefusal(source, to, way, DLBRIDGE_ERROR_UNSUPPORTED, "");
  way.options = DLBRIDGE_COPY_ALLOW_STAGING;
  ExpectCopy(source, to, way);
}

// Layouts that runs and rectangles can express.
inline std::vector<TensorLayout> DirectLayouts() {
  return {{"compact", {6, 8}, {8, 1}, 0},
          {"a rectangle", {6, 8}, {20, 1}, 3},
          {"every second column", {6, 8}, {20, 2}, 0},
          {"a transposed rectangle", {8, 6}, {1, 20}, 0},
          {"a box", {3, 4, 5}, {100, 10, 1}, 7},
          {"planes in another order", {4, 3, 5}, {10, 100, 1}, 0},
          {"rows from the last on", {6, 8}, {-20, 1}, 100},
          {"all backwards", {3, 4}, {-4, -1}, 11},
          {"rows that are one", {6, 8}, {0, 1}, 5},
          {"one element everywhere", {3, 4}, {0, 0}, 9},
          {"four axes, each strided", {2, 3, 4, 5}, {1000, 200, 30, 2}, 1},
          {"a scalar", {}, {}, 2}};
}

// Into the caller's memory and with its allocator, with and without a stream of the caller.
template <class Check>
void ForEachWay(TensorDevice* from, TensorDevice* to, Check check) {
  for (const bool by_allocator : {false, true}) {
    for (TensorDevice* queue : {static_cast<TensorDevice*>(nullptr), from, to}) {
      CopyWay way;
      way.by_allocator = by_allocator;
      way.stream = queue != nullptr ? queue->stream() : DLBridgeStream{};
      check(way);
    }
  }
}

inline void CheckDirect(TensorDevice* from, TensorDevice* to) {
  for (const TensorLayout& layout : DirectLayouts()) {
    const TensorSource source(from, layout, kFloats);
    ForEachWay(from, to, [&](const CopyWay& way) { ExpectCopy(source, to, way); });
  }
}

// The limit is 4096 runs.
inline void CheckStaging(TensorDevice* from, TensorDevice* to) {
  const TensorSource most(from, {"4096 backwards", {4096}, {-1}, 4095}, kFloats);
  ExpectCopy(most, to, {});
  const TensorSource many(from, {"4097 backwards", {4097}, {-1}, 4096}, kFloats);
  ExpectStaged(many, to, {});
  const TensorSource source(from, {"5000 backwards", {5000}, {-1}, 4999}, kFloats);
  ForEachWay(from, to, [&](const CopyWay& way) { ExpectStaged(source, to, way); });
}

// 4-bit elements: a driver copies only compact layouts of them without staging.
inline void CheckFours(TensorDevice* from, TensorDevice* to) {
  CopyWay packed;
  packed.result = kPackedFours;
  CopyWay padded;
  padded.result = kPaddedFours;
  const TensorSource compact(from, {"packed", {4, 6}, {6, 1}, 2}, kPackedFours);
  ExpectCopy(compact, to, packed);
  ExpectStaged(compact, to, padded);
  const TensorSource strided(from, {"packed, strided", {4, 6}, {14, 2}, 2}, kPackedFours);
  ExpectStaged(strided, to, packed);
  const TensorSource wide(from, {"padded", {4, 6}, {7, 1}, 3}, kPaddedFours);
  ExpectStaged(wide, to, packed);
  ExpectCopy(wide, to, padded);
}

inline void CheckCopies(TensorDevice* from, TensorDevice* to) {
  CheckDirect(from, to);
  CheckStaging(from, to);
  CheckFours(from, to);
}

// Makes the nth call of a function fail, for n from 1 on, until the copy succeeds.
inline void FailInTurn(const TensorSource& source, TensorDevice* to, const CopyWay& way,
                       TensorDevice* driver, const char* function) {
  const std::string name = std::string(function).substr(0, std::string(function).find("_v2"));
  for (int nth = 1;; ++nth) {
    ASSERT_LT(nth, 100);
    driver->Fail(function, nth);
    const CopyRun run(source, to, way);
    driver->Fail(function, 0);
    if (run.status() == DLBRIDGE_OK) {
      EXPECT_GT(nth, 1) << function << " was not called";
      run.ExpectWhole();
      return;
    }
    EXPECT_EQ(run.status(), DLBRIDGE_ERROR_DRIVER) << function << nth;
    EXPECT_NE(run.message().find(name), std::string::npos) << run.message();
  }
}

// Three rectangles; the calls of `driver`, which is one of the sides, fail.
inline void CheckFailures(TensorDevice* from, TensorDevice* to, TensorDevice* driver,
                          const std::vector<const char*>& functions) {
  const TensorSource source(from, {"three rectangles", {3, 2, 4}, {-100, 20, 1}, 300}, kFloats);
  for (const char* function : functions) {
    for (const bool by_allocator : {false, true}) {
      CopyWay way;
      way.by_allocator = by_allocator;
      SCOPED_TRACE(function + Describe(source, way));
      FailInTurn(source, to, way, driver, function);
    }
  }
}

// As CheckFailures, for copies that are staged through the host.
inline void CheckFailuresOfStaging(TensorDevice* from, TensorDevice* to, TensorDevice* driver,
                                   const std::vector<const char*>& functions) {
  const TensorSource source(from, {"5000 backwards", {5000}, {-1}, 4999}, kFloats);
  CopyWay way;
  way.options = DLBRIDGE_COPY_ALLOW_STAGING;
  for (const char* function : functions) {
    SCOPED_TRACE(function);
    FailInTurn(source, to, way, driver, function);
  }
}

// Copies on the stream of `device` while it captures a graph are rejected, also with staging;
// copies without a stream are not affected.
inline void CheckCapture(TensorDevice* device) {
  HostMemory host;
  const TensorLayout rectangle = {"a rectangle", {6, 8}, {20, 1}, 0};
  const TensorSource down(device, rectangle, kFloats);
  const TensorSource up(&host, rectangle, kFloats);
  const TensorSource backwards(device, {"5000 backwards", {5000}, {-1}, 4999}, kFloats);
  CopyWay way;
  way.options = DLBRIDGE_COPY_ALLOW_STAGING;
  way.stream = device->stream();
  for (const TensorSource* source : {&down, &backwards}) {
    ExpectRefusal(*source, &host, way, DLBRIDGE_ERROR_CAPTURE, "stream");
    ExpectRefusal(*source, device, way, DLBRIDGE_ERROR_CAPTURE, "stream");
  }
  ExpectRefusal(up, device, way, DLBRIDGE_ERROR_CAPTURE, "stream");
  ExpectCopy(down, &host, {});
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_TENSOR_CHECKS_H_
